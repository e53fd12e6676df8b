"""Function calls."""

from antiphon.conformance.requirement import Table, capability, must, should

TABLE: Table = (
    must("responses:calls:required", "spec 6", "`tool_choice: required` makes the model call a tool."),
    must("responses:calls:named", "spec 6", "A `tool_choice` that names a function makes the model call that one."),
    must("responses:calls:none", "spec 6", "`tool_choice: none` keeps the model from calling."),
    must("responses:calls:name", "spec 5", "A call's `name` is that of a tool that was offered."),
    must("responses:calls:call-id", "spec 5", "A call has a `call_id`."),
    must("responses:calls:arguments", "spec 5", "A call's `arguments` are a string of JSON, an object."),
    must("responses:calls:id", "client pydantic-ai", "A call has an `id` besides its `call_id`."),
    should("responses:calls:id-prefix", "spec 3", "A call's id begins with `fc_`."),
    should("responses:calls:status", "spec 5", "A call that is whole is `completed`."),
    must("responses:calls:response-status", "spec 3", "A response that ends in a call is `completed`."),
    must("responses:calls:distinct", "issue litellm#21331", "Calls of one response have call ids of their own."),
    must("responses:calls:one-at-a-time", "spec 2", "With `parallel_tool_calls: false` there is at most one call."),
    should("responses:calls:strict-fits", "spec 6", "The arguments of a strict tool fit its schema."),
    must("responses:calls:output", "spec 5", "A call's output, sent with `previous_response_id`, is taken."),
    must("responses:calls:outputs", "spec 5", "The outputs of several calls are taken in any order."),
    should("responses:calls:allowed", "open-responses 8", "With `allowed_tools` no other tool is called."),
    must("responses:calls:no-parameters", "spec 6", "A tool without parameters can be offered and called."),
    must("responses:calls:streamed", "issue litellm#21090", "A forced call comes in a stream as it comes plain."),
    must(
        "responses:calls:streamed-deltas",
        "client langchain",
        "A streamed call's arguments come in deltas before their end.",
    ),
    should("responses:calls:custom", "spec 6", "A custom tool's call is a `custom_tool_call` with a string `input`."),
    should("responses:calls:custom-deltas", "spec 16", "A streamed custom tool's `input` comes in deltas."),
    should(
        "responses:calls:namespace", "client codex", "A call of a namespace's tool has `name` and `namespace` apart."
    ),
    capability(should("responses:calls:unforced", "spec 6", "The model calls a tool where it is needed, unforced.")),
    capability(should("responses:calls:chosen", "spec 6", "The model chooses the right tool of two.")),
    capability(should("responses:calls:argued", "spec 6", "The model gives the right argument.")),
    capability(should("responses:calls:parallel", "spec 6", "The model calls both tools where it is asked for both.")),
    capability(
        should("responses:calls:twice", "spec 6", "The model calls one tool twice where two cities are asked for.")
    ),
    capability(should("responses:calls:used", "spec 5", "The model's answer uses what a call's output says.")),
)
