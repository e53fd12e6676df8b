"""Bad requests, and how each is refused."""

from antiphon.verify.refusal import Refusal, refusal_table
from antiphon.verify.requirement import Table, must, should

API = "chat-api errors"

REFUSALS: dict[str, Refusal] = {
    "empty-body": Refusal("A chat request with an empty body", source=API),
    "cut-json": Refusal("A chat body whose JSON is cut short", source=API),
    "array": Refusal("A chat body that is an array", source=API),
    "missing-messages": Refusal("A chat request without `messages`", source=API),
    "empty-messages": Refusal("An empty list of `messages`", level="should", source=API),
    "messages-text": Refusal("A text as `messages`", source=API),
    "message-text": Refusal("A text as one of the messages", source=API),
    "message-without-role": Refusal("A chat message without `role`", source=API),
    "unknown-role": Refusal("A chat message of an unknown role", source=API),
    "missing-content": Refusal("A chat message of the user without `content`", level="should", source=API),
    "content-type": Refusal("A chat content part of an unknown type", source=API),
    "missing-model": Refusal("A chat request without `model`", level="should", source=API),
    "unknown-model": Refusal(
        "A chat model that nobody has", "model_not_found", level="should", source=API, statuses=(404, 400)
    ),
    "temperature-word": Refusal("A word as a chat `temperature`", source=API),
    "temperature-high": Refusal("A chat `temperature` of 99", level="should", source=API),
    "max-tokens-word": Refusal("A word as `max_tokens`", source=API),
    "stream-word": Refusal("A word as a chat request's `stream`", source=API),
    "tools-object": Refusal("An object as a chat request's `tools`", source=API),
    "tool-without-function": Refusal("A chat tool without its `function`", source=API),
    "tool-without-name": Refusal("A chat tool whose function has no name", source=API),
    "tool-choice-word": Refusal("An unknown word as a chat request's `tool_choice`", source=API),
    "tool-choice-absent": Refusal(
        "A chat `tool_choice` of a function that is not among the tools", level="should", source=API
    ),
    "tool-choice-alone": Refusal("A chat `tool_choice` without `tools`", level="should", source=API),
    "format-word": Refusal("An unknown type of `response_format`", source=API),
    "schema-missing": Refusal("A `json_schema` format without a schema object", source=API),
}
"""By the requirement's name. Most servers give no code and param here, so they are not asked for them."""

TABLE: Table = (
    *refusal_table("chat:errors", REFUSALS),
    must("chat:errors:never-ours", "issue vllm#55974", "No bad request is answered by a 5xx."),
    must("chat:errors:streamed", API, "With `stream: true` bad messages get an HTTP error, not a stream."),
    must("chat:errors:streamed-tools", API, "With `stream: true` bad tools get an HTTP error, not a stream."),
    must(
        "chat:errors:streamed-tool-choice",
        API,
        "With `stream: true` a bad `tool_choice` gets an HTTP error, not a stream.",
    ),
    should("chat:errors:four-keys", API, "An error has the keys `message`, `type`, `param` and `code`."),
    must("chat:errors:method", "http", "GET on `/chat/completions` is a 405 or a 404."),
    must("chat:errors:alive", "issue vllm#55974", "After a bad request the server answers a good one."),
)
