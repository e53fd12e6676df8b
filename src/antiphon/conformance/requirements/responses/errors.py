"""Bad requests, and how each is refused."""

from antiphon.conformance.refusal import Refusal, refusal_table
from antiphon.conformance.requirement import Table, may, must, should

REFUSALS: dict[str, Refusal] = {
    # What is no JSON, or no object.
    "empty-body": Refusal("A request with an empty body", source="issue vllm#55974"),
    "cut-json": Refusal("A body whose JSON is cut short", source="issue vllm#55974"),
    "trailing-garbage": Refusal("A body with something behind its JSON", source="issue vllm#55974"),
    "array": Refusal("A body that is an array", source="spec 13"),
    "not-a-number": Refusal("A body with `NaN` in it", level="should", source="spec 13"),
    "not-utf-8": Refusal("A body that is no UTF-8", source="spec 13"),
    "lone-surrogate": Refusal("A text with half a character in it", level="should", source="spec 13"),
    "deep-nesting": Refusal("A body nested 10,000 levels deep", source="spec 13"),
    "huge-integer": Refusal("A number of 5,000 digits", level="should", source="spec 13"),
    # What is missing.
    "missing-model": Refusal("A request without `model`", "missing_required_parameter", "model"),
    "missing-input": Refusal(
        "A request without `input`",
        "missing_required_parameter",
        "input",
        others=(("missing_required_parameter", None),),
    ),
    "empty-input": Refusal(
        "A request with an empty list as `input`",
        "missing_required_parameter",
        others=(("empty_array", "input"), ("missing_required_parameter", "input")),
        level="should",
    ),
    # What is unknown.
    "unknown-model": Refusal(
        "A model that nobody has", "model_not_found", "model", level="should", statuses=(400, 404)
    ),
    "unknown-parameter": Refusal("A parameter that the API does not have", "unknown_parameter", "temprature", "should"),
    "chat-messages": Refusal(
        "A request with `messages` as in Chat Completions",
        "unsupported_parameter",
        others=(("missing_required_parameter", "input"), ("unsupported_parameter", "messages")),
    ),
    # What is of the wrong type.
    "input-number": Refusal("A number as `input`", "invalid_type", "input", source="issue litellm#36947"),
    "input-null": Refusal(
        "Null as `input`", "invalid_type", "input", others=(("missing_required_parameter", "input"),)
    ),
    "model-number": Refusal("A number as `model`", "invalid_type", "model"),
    "instructions-number": Refusal("A number as `instructions`", "invalid_type", "instructions"),
    "stream-word": Refusal("A word as `stream`", "invalid_type", "stream"),
    "store-word": Refusal("A word as `store`", "invalid_type", "store"),
    "temperature-word": Refusal("A word as `temperature`", "invalid_type", "temperature"),
    "max-output-tokens-word": Refusal("A word as `max_output_tokens`", "invalid_type", "max_output_tokens"),
    "max-output-tokens-fraction": Refusal("A fraction as `max_output_tokens`", "invalid_type", "max_output_tokens"),
    "metadata-word": Refusal("A word as `metadata`", "invalid_type", "metadata"),
    "metadata-value": Refusal("A number as a value of `metadata`", "invalid_type", "metadata.a", "should"),
    "tools-object": Refusal("An object as `tools`", "invalid_type", "tools"),
    "previous-response-number": Refusal("A number as `previous_response_id`", "invalid_type", "previous_response_id"),
    # What is out of range.
    "temperature-high": Refusal("A `temperature` of 99", "decimal_above_max_value", "temperature"),
    "temperature-low": Refusal("A `temperature` of -1", "decimal_below_min_value", "temperature"),
    "top-p-high": Refusal("A `top_p` of 1.5", "decimal_above_max_value", "top_p"),
    "max-output-tokens-zero": Refusal("A `max_output_tokens` of 0", "integer_below_min_value", "max_output_tokens"),
    "max-output-tokens-few": Refusal(
        "A `max_output_tokens` of 15", "integer_below_min_value", "max_output_tokens", "should"
    ),
    "top-logprobs-high": Refusal("A `top_logprobs` of 21", "integer_above_max_value", "top_logprobs"),
    "metadata-many": Refusal("`metadata` of 17 pairs", "object_above_max_properties", "metadata", "should"),
    "metadata-long": Refusal("A `metadata` value of 513 characters", "string_above_max_length", "metadata.a", "should"),
    # What is none of the allowed values.
    "truncation-word": Refusal("An unknown `truncation`", "invalid_value", "truncation"),
    "tool-choice-word": Refusal("An unknown word as `tool_choice`", "invalid_value", "tool_choice"),
    "include-word": Refusal("An unknown value in `include`", "invalid_value", "include[0]", "should"),
    "service-tier-word": Refusal("An unknown `service_tier`", "invalid_value", "service_tier", "should"),
    "effort-word": Refusal("An unknown `reasoning.effort`", "invalid_value", "reasoning.effort"),
    "format-word": Refusal("An unknown type of `text.format`", "invalid_value", "text.format.type"),
    # Items.
    "item-type": Refusal(
        "An input item of an unknown type",
        "invalid_value",
        "input[0]",
        level="should",
        others=(("invalid_value", "input[0].type"),),
    ),
    "role": Refusal(
        "A message of an unknown role", "invalid_value", "input[0]", others=(("invalid_value", "input[0].role"),)
    ),
    "missing-content": Refusal("A message without `content`", "missing_required_parameter", "input[0].content"),
    "content-type": Refusal(
        "A content part of an unknown type",
        "invalid_value",
        "input[0].content[0].type",
        others=(("invalid_value", "input[0].content[0]"),),
    ),
    "item-number": Refusal("A number as an input item", "invalid_type", "input[0]"),
    "item-key": Refusal("An unknown key in an input item", "unknown_parameter", "input[0].bogus", "may"),
    "item-reference": Refusal(
        "A reference to an item that was never stored", param="input", level="should", statuses=(404, 400)
    ),
    "duplicate-items": Refusal("Two input items of one id", param="input", level="should"),
    "output-without-call": Refusal("A tool's output for which there is no call", param="input", level="should"),
    "call-without-output": Refusal("A call in the history without its output", param="input", level="should"),
    # Tools and formats.
    "tool-without-name": Refusal("A function tool without a name", "missing_required_parameter", "tools[0].name"),
    "tool-of-chat": Refusal(
        "A function tool in the shape of Chat Completions", "missing_required_parameter", "tools[0].name", "should"
    ),
    "tool-type": Refusal(
        "A tool of an unknown type",
        "invalid_value",
        "tools[0].type",
        others=(("invalid_value", "tools[0]"), ("unsupported_value", "tools[0].type")),
    ),
    "tool-choice-absent": Refusal("A `tool_choice` of a function that is not among the tools", param="tool_choice"),
    "schema-without-name": Refusal(
        "A `json_schema` format without a name", "missing_required_parameter", "text.format.name"
    ),
    # State.
    "unknown-previous-response": Refusal(
        "A `previous_response_id` that names no response",
        "previous_response_not_found",
        "previous_response_id",
        statuses=(400, 404),
        source="issue ollama#15954",
    ),
}
"""By the requirement's name."""

TABLE: Table = (
    *refusal_table("responses:errors", REFUSALS),
    must("responses:errors:never-ours", "issue vllm#55974", "No bad request is answered by a 5xx."),
    should(
        "responses:errors:status",
        "spec 13",
        "An unknown model or previous response is a 400, an unknown item a 404: not the other way round.",
    ),
    should("responses:errors:four-keys", "spec 13", "An error has the keys `message`, `type`, `param` and `code`."),
    should("responses:errors:type", "spec 13", "The type of a bad request's error is `invalid_request_error`."),
    must("responses:errors:json", "spec 13", "An error comes as `application/json`."),
    should("responses:errors:no-traceback", "spec 13", "No error shows a traceback or a path of the server."),
    must(
        "responses:errors:plain-before-a-stream", "spec 7", "With `stream: true` a bad request gets a plain HTTP error."
    ),
    may("responses:errors:did-you-mean", "spec 2", "An unknown parameter that is nearly a known one is told that one."),
    must("responses:errors:alive", "issue vllm#55974", "After a bad request the server answers a good one."),
)
