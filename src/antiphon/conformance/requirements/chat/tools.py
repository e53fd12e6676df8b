"""Tool calls."""

from antiphon.conformance.requirement import Table, capability, must, should

API = "chat-api tools"

TABLE: Table = (
    must("chat:tools:required", API, "`tool_choice: required` makes the model call a tool."),
    must("chat:tools:named", API, "A `tool_choice` that names a function makes the model call that one."),
    must("chat:tools:none", API, "`tool_choice: none` keeps the model from calling."),
    must("chat:tools:shape", API, "A call has an `id`, the type `function`, and a function with a name."),
    must("chat:tools:name", API, "A call's function is one that was offered."),
    must("chat:tools:arguments", API, "A call's `arguments` are a string of JSON, an object."),
    must("chat:tools:content", API, "Beside calls `content` is a string or null."),
    must("chat:tools:finish-reason", API, "An answer that calls has the finish reason `tool_calls`."),
    should(
        "chat:tools:finish-reason-named", API, "An answer that calls a named function ends with `stop` or `tool_calls`."
    ),
    should("chat:tools:strict-fits", API, "The arguments of a strict tool fit its schema."),
    must(
        "chat:tools:streamed",
        "issue langchain#34654",
        "A streamed call tells id and name once, and its arguments in pieces.",
    ),
    must("chat:tools:streamed-index", "issue litellm#21331", "Every delta of a call has its index."),
    must("chat:tools:streamed-finish-reason", API, "A stream that calls has the finish reason `tool_calls`."),
    must("chat:tools:streamed-none", API, "`tool_choice: none` keeps a stream from calling."),
    must("chat:tools:distinct", API, "Calls of one answer have ids of their own."),
    should("chat:tools:one-at-a-time", API, "With `parallel_tool_calls: false` there is at most one call."),
    must("chat:tools:result", API, "A call and its result in the history are taken."),
    must("chat:tools:null-content", "issue agents#2238", "A message with calls may have null as its content."),
    should("chat:tools:no-content", "issue agents#2238", "A message with calls may have no content."),
    must("chat:tools:results", API, "The results of several calls are taken."),
    should("chat:tools:result-parts", API, "A result may be a list of text parts."),
    must("chat:tools:empty-result", "issue agents#3310", "A result may be an empty string."),
    must("chat:tools:three-turns", API, "Calls and results of several turns are taken."),
    should("chat:tools:result-alone", API, "A result without a call is refused with 400."),
    must("chat:tools:no-parameters", API, "A tool without parameters can be offered and called."),
    must(
        "chat:tools:empty-list",
        "client agents-sdk",
        "An offer of tools that is unused changes nothing in a plain answer.",
    ),
    capability(should("chat:tools:unforced", API, "The model calls a tool where it is needed, unforced.")),
    capability(should("chat:tools:chosen", API, "The model chooses the right tool of two.")),
    capability(should("chat:tools:argued", API, "The model gives the right argument.")),
    capability(should("chat:tools:parallel", API, "The model calls both tools where it is asked for both.")),
    capability(should("chat:tools:used", API, "The model uses a tool's result in its answer.")),
)
