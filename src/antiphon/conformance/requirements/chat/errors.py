"""Bad requests, and how each is refused.

That each is refused is asked one by one; how, of all together: a server whose errors have another form is told so once.
What a lenient server may take without harm to anybody is no `must`.
"""

from antiphon.conformance.requirement import Table, may, must, should

API = "chat-api errors"

BODIES: Table = (
    must("chat:errors:empty-body", API, "A chat request with an empty body is refused with a 4xx."),
    must("chat:errors:cut-json", API, "A chat body whose JSON is cut short is refused with a 4xx."),
    must("chat:errors:array", API, "A chat body that is an array is refused with a 4xx."),
    should("chat:errors:deep-json", API, "A chat body nested 10,000 deep is refused with a 4xx."),
    may("chat:errors:not-utf8", "http", "A chat body that is no UTF-8 is refused with a 4xx."),
)
"""Bytes that are no request at all."""

FAULTS: Table = (
    must("chat:errors:missing-messages", API, "A chat request without `messages` is refused with a 4xx."),
    should("chat:errors:empty-messages", API, "An empty list of `messages` is refused with a 4xx."),
    must("chat:errors:messages-text", API, "A text as `messages` is refused with a 4xx."),
    must("chat:errors:message-text", API, "A text as one of the messages is refused with a 4xx."),
    should("chat:errors:message-without-role", API, "A chat message without `role` is refused with a 4xx."),
    should("chat:errors:unknown-role", API, "A chat message of an unknown role is refused with a 4xx."),
    should("chat:errors:missing-content", API, "A chat message of the user without `content` is refused with a 4xx."),
    must("chat:errors:content-number", API, "A number as a chat message's `content` is refused with a 4xx."),
    must(
        "chat:errors:content-type",
        API,
        "A chat content part of an unknown type is refused with a 4xx.",
    ),
    should("chat:errors:missing-model", API, "A chat request without `model` is refused with a 4xx."),
    should("chat:errors:model-number", API, "A number as a chat request's `model` is refused with a 4xx."),
    should("chat:errors:temperature-word", API, "A word as a chat `temperature` is refused with a 4xx."),
    should("chat:errors:temperature-high", API, "A chat `temperature` of 99 is refused with a 4xx."),
    should("chat:errors:max-tokens-word", API, "A word as `max_tokens` is refused with a 4xx."),
    should("chat:errors:stream-word", API, "A word as a chat request's `stream` is refused with a 4xx."),
    must("chat:errors:tools-object", API, "An object as a chat request's `tools` is refused with a 4xx."),
    should("chat:errors:tool-without-function", API, "A chat tool without its `function` is refused with a 4xx."),
    should("chat:errors:tool-without-name", API, "A chat tool whose function has no name is refused with a 4xx."),
    should(
        "chat:errors:tool-choice-word", API, "An unknown word as a chat request's `tool_choice` is refused with a 4xx."
    ),
    should(
        "chat:errors:tool-choice-absent",
        API,
        "A chat `tool_choice` of a function that is not among the tools is refused with a 4xx.",
    ),
    should("chat:errors:tool-choice-alone", API, "A chat `tool_choice` without `tools` is refused with a 4xx."),
    should("chat:errors:format-word", API, "An unknown type of `response_format` is refused with a 4xx."),
    should("chat:errors:schema-missing", API, "A `json_schema` format without a schema object is refused with a 4xx."),
)
"""Requests with one fault."""

MANNERS: Table = (
    must("chat:errors:never-ours", "issue vllm#55974", "No bad chat request is answered by a 5xx."),
    must("chat:errors:envelope", API, "A refusal's body is an object `error` with a `message` and a `type`."),
    should("chat:errors:bad-request", API, "The status of a bad chat request is 400."),
    should("chat:errors:four-keys", API, "An error has the keys `message`, `type`, `param` and `code`."),
    may("chat:errors:code-text", API, "An error's `code` is a string or null."),
)
"""How all of them are refused."""

TABLE: Table = (
    *BODIES,
    *FAULTS,
    *MANNERS,
    should("chat:errors:unknown-model", API, "A chat model that nobody has is refused with a 404 or a 400."),
    should("chat:errors:unknown-model-named", API, "The error about an unknown model has the code `model_not_found`."),
    must("chat:errors:streamed", API, "With `stream: true` bad messages get an HTTP error, not a stream."),
    must("chat:errors:streamed-tools", API, "With `stream: true` bad tools get an HTTP error, not a stream."),
    must(
        "chat:errors:streamed-tool-choice",
        API,
        "With `stream: true` a `tool_choice` that is refused gets an HTTP error, not a stream.",
    ),
    must("chat:errors:path", "http", "A path below `/chat` that is not served is a 404."),
    must("chat:errors:method", "http", "GET on `/chat/completions` is a 405 or a 404."),
    must("chat:errors:alive", "issue vllm#55974", "After a bad chat request the server answers a good one."),
)
