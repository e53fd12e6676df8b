"""Invalid requests."""

import json
import re
from typing import Any

from antiphon_verify.case import Case, Script, case
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import MISSING, at
from antiphon_verify.refusal import KEYS, Refusal, is_envelope, is_named, is_refused, message_of, refusal_table
from antiphon_verify.requirement import Table, may, must, should
from antiphon_verify.samples import CITY, WEATHER
from antiphon_verify.trial import Steps, Trial, given, is_response

WINDOW = "background_options.completion_window"

TWO_HOURS: dict[str, Any] = {"background_options": {"completion_window": "2h"}}

REFUSALS: dict[str, Refusal] = {
    # Not JSON, or not an object.
    "empty-body": Refusal("A request with an empty body", source="issue vllm#55974"),
    "cut-json": Refusal("A request body with truncated JSON", source="issue vllm#55974"),
    "trailing-garbage": Refusal("A request body with content after its JSON", source="issue vllm#55974"),
    "array": Refusal("A request body that is an array", source="spec 13"),
    "not-a-number": Refusal("A request body with `NaN` in it", level="should", source="spec 13"),
    "not-utf-8": Refusal("A request body that is not UTF-8", source="spec 13"),
    "lone-surrogate": Refusal("A text with an unpaired surrogate", level="should", source="spec 13"),
    "deep-nesting": Refusal("A request body nested 10,000 levels deep", source="spec 13"),
    "huge-integer": Refusal("A number with 5,000 digits", level="should", source="spec 13"),
    # Missing.
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
    # Unknown.
    "unknown-model": Refusal("An unknown model", "model_not_found", "model", level="should", statuses=(400, 404)),
    "unknown-parameter": Refusal("An unknown parameter", "unknown_parameter", "temprature", "should"),
    "chat-messages": Refusal(
        "A request with `messages` as in Chat Completions",
        "unsupported_parameter",
        others=(("missing_required_parameter", "input"), ("unsupported_parameter", "messages")),
    ),
    # Of the wrong type.
    "input-number": Refusal("A number as `input`", "invalid_type", "input", source="issue litellm#36947"),
    "input-null": Refusal(
        "Null as `input`", "invalid_type", "input", others=(("missing_required_parameter", "input"),)
    ),
    "model-number": Refusal("A number as `model`", "invalid_type", "model"),
    "instructions-number": Refusal("A number as `instructions`", "invalid_type", "instructions"),
    "stream-word": Refusal("A string as `stream`", "invalid_type", "stream"),
    "store-word": Refusal("A string as `store`", "invalid_type", "store"),
    "temperature-word": Refusal("A string as `temperature`", "invalid_type", "temperature"),
    "max-output-tokens-word": Refusal("A string as `max_output_tokens`", "invalid_type", "max_output_tokens"),
    "max-output-tokens-fraction": Refusal("A fraction as `max_output_tokens`", "invalid_type", "max_output_tokens"),
    "metadata-word": Refusal("A string as `metadata`", "invalid_type", "metadata"),
    "metadata-value": Refusal("A number as a value of `metadata`", "invalid_type", "metadata.a", "should"),
    "tools-object": Refusal("An object as `tools`", "invalid_type", "tools"),
    "previous-response-number": Refusal("A number as `previous_response_id`", "invalid_type", "previous_response_id"),
    # Out of range.
    "temperature-high": Refusal("A `temperature` of 99", "decimal_above_max_value", "temperature"),
    "temperature-low": Refusal("A `temperature` of -1", "decimal_below_min_value", "temperature"),
    "top-p-high": Refusal("A `top_p` of 1.5", "decimal_above_max_value", "top_p"),
    "max-output-tokens-zero": Refusal("A `max_output_tokens` of 0", "integer_below_min_value", "max_output_tokens"),
    "max-output-tokens-few": Refusal(
        "A `max_output_tokens` of 15", "integer_below_min_value", "max_output_tokens", "should"
    ),
    "top-logprobs-high": Refusal("A `top_logprobs` of 21", "integer_above_max_value", "top_logprobs"),
    "metadata-many": Refusal("`metadata` with 17 pairs", "object_above_max_properties", "metadata", "should"),
    "metadata-long": Refusal("A `metadata` value of 513 characters", "string_above_max_length", "metadata.a", "should"),
    # Not one of the allowed values.
    "truncation-word": Refusal("An unknown `truncation`", "invalid_value", "truncation"),
    "tool-choice-word": Refusal("An unknown string as `tool_choice`", "invalid_value", "tool_choice"),
    "include-word": Refusal("An unknown value in `include`", "invalid_value", "include[0]", "should"),
    "window-in-foreground": Refusal(
        "A `completion_window` of hours without `background`", "invalid_value", WINDOW, "should", source="spec 24"
    ),
    "window-with-stream": Refusal(
        "A `completion_window` of hours with `stream`", "invalid_value", WINDOW, "should", source="spec 24"
    ),
    "window-at-another-tier": Refusal(
        "A `completion_window` of hours with the `service_tier` `flex`",
        "invalid_value",
        WINDOW,
        "should",
        source="spec 24",
    ),
    "service-tier-word": Refusal("An unknown `service_tier`", "invalid_value", "service_tier", "should"),
    "effort-word": Refusal("An unknown `reasoning.effort`", "invalid_value", "reasoning.effort"),
    "format-word": Refusal("An unknown `text.format` type", "invalid_value", "text.format.type"),
    # Items.
    "item-type": Refusal(
        "An input item of an unknown type",
        "invalid_value",
        "input[0]",
        level="should",
        others=(("invalid_value", "input[0].type"),),
    ),
    "role": Refusal(
        "A message with an unknown role", "invalid_value", "input[0]", others=(("invalid_value", "input[0].role"),)
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
    "duplicate-items": Refusal("A second input item with the same id", param="input", level="should"),
    "output-without-call": Refusal("A tool output without a call", param="input", level="should"),
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
    "tool-choice-absent": Refusal("A `tool_choice` that names a function missing from `tools`", param="tool_choice"),
    "schema-without-name": Refusal(
        "A `json_schema` format without a name", "missing_required_parameter", "text.format.name"
    ),
    # State.
    "unknown-previous-response": Refusal(
        "An unknown `previous_response_id`",
        "previous_response_not_found",
        "previous_response_id",
        statuses=(400, 404),
        source="issue ollama#15954",
    ),
}
"""By the requirement's name."""

TABLE: Table = (
    *refusal_table("responses:errors", REFUSALS),
    must("responses:errors:never-ours", "issue vllm#55974", "An invalid request never returns a 5xx."),
    must(
        "responses:errors:envelope", "spec 13", "The body of an error is an object with `error`, which has a `message`."
    ),
    should("responses:errors:bad-request", "spec 13", "An invalid request returns 400."),
    should(
        "responses:errors:status",
        "spec 13",
        "An unknown model or previous response returns 400, and an unknown item 404.",
    ),
    should("responses:errors:four-keys", "spec 13", "An error has the keys `message`, `type`, `param` and `code`."),
    should("responses:errors:type", "spec 13", "The error of an invalid request has the type `invalid_request_error`."),
    must("responses:errors:json", "spec 13", "The content type of an invalid request's error is `application/json`."),
    should("responses:errors:no-traceback", "spec 13", "No error contains a traceback or a path of the server."),
    must(
        "responses:errors:plain-before-a-stream",
        "spec 7",
        "With `stream: true`, an invalid request returns an HTTP error, not a stream.",
    ),
    may(
        "responses:errors:did-you-mean", "spec 2", "The error for a misspelled parameter suggests the known parameter."
    ),
    must("responses:errors:alive", "issue vllm#55974", "After an invalid request the server answers a valid one."),
)


NOBODY = "no-such-model-anywhere"

NO_RESPONSE = "resp_00000000000000000000000000000000"

USER = {"role": "user", "content": "Say hello."}

TWIN = {"type": "message", "id": "msg_00000000000000000000000000000001", **USER}

CALL = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Paris"}'}

OUTPUT = {"type": "function_call_output", "call_id": "call_9", "output": "Sunny."}

PARAMETERS: dict[str, dict[str, Any]] = {
    "missing-model": {"model": MISSING},
    "missing-input": {"input": MISSING},
    "empty-input": {"input": []},
    "unknown-model": {"model": NOBODY},
    "unknown-parameter": {"temprature": 1},
    "chat-messages": {"input": MISSING, "messages": [USER]},
    "input-number": {"input": 7},
    "input-null": {"input": None},
    "model-number": {"model": 7},
    "instructions-number": {"instructions": 7},
    "stream-word": {"stream": "yes"},
    "store-word": {"store": "no"},
    "temperature-word": {"temperature": "hot"},
    "max-output-tokens-word": {"max_output_tokens": "many"},
    "max-output-tokens-fraction": {"max_output_tokens": 100.5},
    "metadata-word": {"metadata": "x"},
    "metadata-value": {"metadata": {"a": 1}},
    "tools-object": {"tools": {}},
    "previous-response-number": {"previous_response_id": 7},
    "temperature-high": {"temperature": 99},
    "temperature-low": {"temperature": -1},
    "top-p-high": {"top_p": 1.5},
    "max-output-tokens-zero": {"max_output_tokens": 0},
    "max-output-tokens-few": {"max_output_tokens": 15},
    "top-logprobs-high": {"top_logprobs": 21, "include": ["message.output_text.logprobs"]},
    "metadata-many": {"metadata": {f"key-{number}": "x" for number in range(17)}},
    "metadata-long": {"metadata": {"a": "x" * 513}},
    "truncation-word": {"truncation": "some"},
    "tool-choice-word": {"tools": [WEATHER], "tool_choice": "some"},
    "include-word": {"include": ["everything"]},
    "window-in-foreground": TWO_HOURS,
    "window-with-stream": {**TWO_HOURS, "background": True, "stream": True},
    "window-at-another-tier": {**TWO_HOURS, "background": True, "service_tier": "flex"},
    "service-tier-word": {"service_tier": "free"},
    "effort-word": {"reasoning": {"effort": "some"}},
    "format-word": {"text": {"format": {"type": "xml"}}},
    "item-type": {"input": [{"type": "no_such_item"}]},
    "role": {"input": [USER | {"role": "visitor"}]},
    "missing-content": {"input": [{"role": "user"}]},
    "content-type": {"input": [USER | {"content": [{"type": "input_smell", "text": "x"}]}]},
    "item-number": {"input": [7]},
    "output-without-call": {"input": [USER, OUTPUT]},
    "call-without-output": {"input": [USER, CALL, USER], "tools": [WEATHER]},
    "tool-without-name": {"tools": [{"type": "function", "parameters": CITY}]},
    "tool-of-chat": {"tools": [{"type": "function", "function": {"name": "get_weather", "parameters": CITY}}]},
    "tool-type": {"tools": [{"type": "no_such_tool"}]},
    "tool-choice-absent": {"tools": [WEATHER], "tool_choice": {"type": "function", "name": "get_money"}},
    "schema-without-name": {"text": {"format": {"type": "json_schema", "schema": CITY}}},
    "item-key": {"input": [USER | {"bogus": 1}]},
    "item-reference": {"input": [{"type": "item_reference", "id": "msg_00000000000000000000000000000000"}]},
    "duplicate-items": {"input": [TWIN, TWIN]},
    "unknown-previous-response": {"previous_response_id": NO_RESPONSE},
}
"""By the requirement's name: the change that makes a valid body invalid."""

BODIES: dict[str, bytes] = {
    "empty-body": b"",
    "cut-json": b'{"model": "x", "input": "Hel',
    "trailing-garbage": b'{"model": "x", "input": "Hello"} {',
    "array": b"[]",
    "not-a-number": b'{"model": "x", "input": "Hello", "temperature": NaN}',
    "not-utf-8": b'{"model": "x", "input": "\xff\xfe"}',
    "deep-nesting": b'{"model": "x", "input": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "huge-integer": b'{"model": "x", "input": "Hello", "max_output_tokens": ' + b"9" * 5_000 + b"}",
}
"""By the requirement's name: bytes that are not a request."""

TRACES = re.compile(r"Traceback|File \"/|\.py\", line|goroutine \d|\bat [\w.]+\(.*:\d+\)|/(usr|home|opt|root|app)/")
"""Text that an error must not contain."""

JSON = {"content-type": "application/json"}

SHARED = ("never-ours", "envelope", "bad-request", "four-keys", "type", "json", "no-traceback")


def bad_body(model: str, name: str) -> bytes:
    """Return the body of an invalid request. `MISSING` removes a parameter."""
    if name in BODIES:
        return BODIES[name]
    body = given({"model": model, "input": "Say hello.", "max_output_tokens": 64} | PARAMETERS.get(name, {}))
    if name == "lone-surrogate":
        body["input"] = "Say \ud800."
    return json.dumps(body).encode()


def judge_refusal(trial: Trial, area: str, name: str, refusal: Refusal, exchange: Exchange) -> None:
    """Judge a rejection by the requirements of the request."""
    refused = is_refused(exchange)
    trial.expect(f"{area}:{name}", refused, exchange.came)
    if refusal.is_named:
        pairs = ((refusal.code, refusal.param), *refusal.others)
        named = refused and any(is_named(exchange, [code], [param]) for code, param in pairs)
        trial.expect(f"{area}:{name}-named", named, exchange.came)


def judge_error(trial: Trial, name: str, refusal: Refusal, exchange: Exchange) -> None:
    """Judge what every error must have; whether the request was rejected is a requirement of its own."""
    root = f"responses:errors:{name}" if refusal.level == "must" else ""
    trial.expect("responses:errors:never-ours", exchange.status < 500, exchange.came, root=root)
    if exchange.status >= 400:
        trial.expect("responses:errors:no-traceback", not TRACES.search(message_of(exchange)), exchange.came)
    if not is_refused(exchange):
        return
    trial.expect("responses:errors:envelope", is_envelope(exchange), exchange.came)
    if refusal.statuses == (400,):
        trial.expect("responses:errors:bad-request", exchange.status == 400, exchange.came)
    error = at(exchange.json, "error")
    has_keys = isinstance(error, dict) and error.keys() >= KEYS
    trial.expect("responses:errors:four-keys", has_keys, exchange.came)
    trial.expect("responses:errors:type", at(error, "type") == "invalid_request_error", exchange.came)
    kind = exchange.headers.get("content-type", "")
    trial.expect("responses:errors:json", kind.startswith("application/json"), kind or "no content type")


def refusing(name: str, refusal: Refusal) -> Script:
    """Return the script that sends an invalid request."""

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.post("/responses", content=bad_body(trial.model, name), headers=JSON)
        trial.served(exchange)
        judge_refusal(trial, "responses:errors", name, refusal, exchange)
        judge_error(trial, name, refusal, exchange)
        if len(refusal.statuses) > 1 and exchange.status in refusal.statuses:
            trial.expect("responses:errors:status", exchange.status == refusal.statuses[0], exchange.came)

    script.__doc__ = f"Send: {refusal.what[0].lower()}{refusal.what[1:]}."
    return script


def ids_of(area: str, name: str, refusal: Refusal) -> tuple[str, ...]:
    """Return the ids of the requirements on a rejection."""
    return (f"{area}:{name}", *((f"{area}:{name}-named",) if refusal.is_named else ()))


def shared_ids(refusal: Refusal) -> tuple[str, ...]:
    """Return the ids that this rejection judges together with others."""
    names = (*SHARED, "status") if len(refusal.statuses) > 1 else SHARED
    return tuple(f"responses:errors:{name}" for name in names)


CASES = tuple(
    Case(
        f"refused_{name.replace('-', '_')}",
        (*ids_of("responses:errors", name, refusal), *shared_ids(refusal)),
        refusing(name, refusal),
    )
    for name, refusal in REFUSALS.items()
)


@case("responses:errors:plain-before-a-stream")
def a_bad_request_gets_no_stream(trial: Trial) -> Steps:
    """Request a stream with a parameter of the wrong type."""
    exchange = yield from trial.respond(7, stream=True)
    trial.served(exchange)
    is_plain = not exchange.headers.get("content-type", "").startswith("text/event-stream")
    trial.expect("responses:errors:plain-before-a-stream", is_plain and exchange.status >= 400, exchange.came)


@case("responses:errors:did-you-mean")
def a_slip_is_told(trial: Trial) -> Steps:
    """Misspell a parameter."""
    exchange = yield from trial.respond("Say hello.", temprature=1)
    trial.served(exchange)
    if exchange.status >= 400:
        told = "'temperature'" in message_of(exchange) or '"temperature"' in message_of(exchange)
        trial.expect("responses:errors:did-you-mean", told, exchange.came)


@case("responses:errors:alive")
def the_server_survives(trial: Trial) -> Steps:
    """Send malformed JSON, then a valid request."""
    first = yield from trial.post("/responses", content=BODIES["deep-nesting"], headers=JSON)
    second = yield from trial.respond("Say hello.")
    trial.served(second)
    is_answer = second.is_ok and is_response(second.json)
    trial.expect("responses:errors:alive", is_answer, f"{first.came}; then {second.came}")
