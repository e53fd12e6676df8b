"""Forms of input."""

from antiphon.conformance.requirement import Table, capability, may, must, should

TABLE: Table = (
    must("responses:inputs:string", "open-responses 1", "`input` may be a string."),
    must(
        "responses:inputs:messages", "client agents-sdk", "Messages of `role` and `content` without a `type` are taken."
    ),
    must("responses:inputs:typed-messages", "spec 5", "Messages with `type: message` are taken."),
    must("responses:inputs:parts", "spec 5", "A message's content may be a list of `input_text` parts."),
    must("responses:inputs:several-turns", "spec 5", "A history of user and assistant messages is taken."),
    must("responses:inputs:assistant-parts", "spec 5", "An assistant's content may be a list of `output_text` parts."),
    must("responses:inputs:system", "open-responses", "A message of the role `system` is taken."),
    must("responses:inputs:developer", "issue llama.cpp#20215", "A message of the role `developer` is taken."),
    should(
        "responses:inputs:system-in-the-middle", "issue sglang#40082", "A system message may stand in mid-conversation."
    ),
    should("responses:inputs:phase", "open-responses", "An assistant's message may have a `phase`."),
    must("responses:inputs:nulls", "client llama-index", "Optional parameters may be null."),
    must("responses:inputs:empty-lists", "client agents-sdk", "`tools` and `include` may be empty lists."),
    must("responses:inputs:call-and-output", "spec 5", "A call and its output in the history are taken."),
    should("responses:inputs:output-parts", "issue llama.cpp#23465", "A tool's output may be a list of parts."),
    must("responses:inputs:empty-output", "issue agents#3310", "A tool's output may be an empty string."),
    should("responses:inputs:null-fields", "issue openai-python#3008", "Fields that are null in an item are taken."),
    should(
        "responses:inputs:empty-reasoning", "issue llama.cpp#29159", "A reasoning item with nothing in it is taken."
    ),
    should("responses:inputs:item-reference", "spec 5", "A stored item may be referred to by its id."),
    capability(should("responses:inputs:image", "spec 5", "A message may hold an image as a data URL.")),
    capability(may("responses:inputs:file", "spec 5", "A message may hold a file as base64.")),
    must("responses:inputs:null-character", "spec 13", "A text may hold the character U+0000."),
    must("responses:inputs:any-script", "spec 13", "A text may be of any script, with emoji and marks of direction."),
    should(
        "responses:inputs:kept", "spec 3", "A text of any script comes back unchanged in `instructions` and `metadata`."
    ),
    may("responses:inputs:duplicate-keys", "spec 13", "Of two keys of one name in the body the last counts."),
    must("responses:inputs:odd-keys", "spec 13", "Metadata keys such as `__proto__` and `$ref` are plain data."),
    should("responses:inputs:schema-key", "client ai-sdk", "A tool's parameters may name their `$schema`."),
    should("responses:inputs:web-search-item", "spec 5", "A web search that ran elsewhere is taken."),
    should("responses:inputs:file-search-item", "spec 5", "A file search that ran elsewhere is taken."),
    should("responses:inputs:code-item", "spec 5", "A code interpreter's call that ran elsewhere is taken."),
    should("responses:inputs:mcp-items", "spec 5", "An MCP server's tools and a call that ran elsewhere are taken."),
    should("responses:inputs:configuration", "spec 5", "An item `configuration_update` is taken."),
    should("responses:inputs:client-ids", "client codex", "Input items may have ids that the client made."),
)
