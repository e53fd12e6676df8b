"""Tools that the server runs."""

from antiphon.conformance.requirement import Table, capability, must, should

TABLE: Table = (
    should(
        "responses:hosted:web-search-told",
        "issue ollama#15954",
        "A web search tool is told back among the tools, or refused.",
    ),
    must("responses:hosted:web-search-item", "spec 5", "A web search is an item with an id, a status and an action."),
    must(
        "responses:hosted:web-search-order",
        "spec 16",
        "A web search is in progress, searching, completed, in this order.",
    ),
    should(
        "responses:hosted:file-search-told",
        "issue ollama#15954",
        "A file search tool is told back among the tools, or refused.",
    ),
    must("responses:hosted:file-search-unknown", "spec 13", "A file search in an unknown store is refused with a 4xx."),
    should(
        "responses:hosted:code-told",
        "issue ollama#15954",
        "A code interpreter is told back among the tools, or refused.",
    ),
    must(
        "responses:hosted:code-item",
        "spec 5",
        "A code interpreter's call is an item with an id, a status and a container.",
    ),
    must(
        "responses:hosted:code-order", "spec 16", "A code interpreter's call is in progress, interpreting, completed."
    ),
    should(
        "responses:hosted:image-told",
        "issue ollama#15954",
        "Image generation is told back among the tools, or refused.",
    ),
    must("responses:hosted:image-item", "spec 5", "A generated image is an item with an id, a status and a result."),
    must("responses:hosted:image-order", "spec 16", "An image is in progress, generating, completed, in this order."),
    should("responses:hosted:mcp-told", "issue ogx#4978", "An MCP tool is told back among the tools, or refused."),
    must(
        "responses:hosted:mcp-unreachable",
        "spec 13",
        "An MCP server that nobody reaches is told, by an error or its item's.",
    ),
    must("responses:hosted:mcp-scheme", "spec 13", "An MCP server at a `file:` URL is refused with a 4xx."),
    must("responses:hosted:code-container", "spec 13", "A code interpreter without a container is refused with a 4xx."),
    must(
        "responses:hosted:demanded",
        "spec 6",
        "A hosted tool that `tool_choice` demands is run, or the request is refused with a 4xx.",
    ),
    capability(
        should("responses:hosted:web-search-used", "spec 16", "The model searches the web where it is asked to.")
    ),
    capability(should("responses:hosted:code-used", "spec 16", "The model runs code where it is asked to.")),
)
