"""Invalid requests."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from antiphon_verify.case import Case, case
from antiphon_verify.events.streams import STREAMS
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import MISSING, at
from antiphon_verify.refusal import KEYS, is_envelope, is_named, is_refused, message_of
from antiphon_verify.replies import Reply, error, states, streams
from antiphon_verify.replies.responses import errors as replies
from antiphon_verify.requirement import Level, Requirement, may, must, should
from antiphon_verify.samples import CITY, WEATHER
from antiphon_verify.trial import Steps, Trial, is_response, present

WINDOW = "background_options.completion_window"

TWO_HOURS: dict[str, Any] = {"background_options": {"completion_window": "2h"}}

DEEP_NESTING = b'{"model": "x", "input": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"

UNKNOWN_MODEL = "no-such-model-anywhere"

NO_RESPONSE = "resp_00000000000000000000000000000000"

USER = {"role": "user", "content": "Say hello."}

TWIN = {"type": "message", "id": "msg_00000000000000000000000000000001", **USER}

CALL = {
    "type": "function_call",
    "call_id": "call_1",
    "name": "get_weather",
    "arguments": '{"city": "Paris"}',
}

OUTPUT = {"type": "function_call_output", "call_id": "call_9", "output": "Sunny."}

Change = bytes | Mapping[str, Any]
"""What makes a request invalid: other bytes, or other parameters in a valid body; `MISSING` removes
one.
"""

TRACES = re.compile(
    r"Traceback|File \"/|\.py\", line|goroutine \d|\bat [\w.]+\(.*:\d+\)|/(usr|home|opt|root|app)/"
)
"""Text that an error must not contain."""

JSON = {"content-type": "application/json"}

FORM = (
    must(
        "responses:errors:never-ours",
        "issue vllm#55974",
        "An invalid request never returns a 5xx.",
        fault=[error("Internal Server Error", 500)],
    ),
    must(
        "responses:errors:envelope",
        "spec 13",
        "The body of an error is an object with `error`, which has a `message`.",
        fault=[states({"detail": "It is wrong."}, 400)],
    ),
    should(
        "responses:errors:bad-request",
        "spec 13",
        "An invalid request returns 400.",
        fault=[error("It is wrong.", 422)],
    ),
    should(
        "responses:errors:four-keys",
        "spec 13",
        "An error has the keys `message`, `type`, `param` and `code`.",
        fault=[replies.GOOD.without("error", "param")],
    ),
    should(
        "responses:errors:type",
        "spec 13",
        "The error of an invalid request has the type `invalid_request_error`.",
        fault=[replies.GOOD.patched("error", "type", to="BadRequestError")],
    ),
    must(
        "responses:errors:json",
        "spec 13",
        "The content type of an invalid request's error is `application/json`.",
        fault=[Reply(400, replies.GOOD.body, {"content-type": "text/plain"})],
    ),
    should(
        "responses:errors:no-traceback",
        "spec 13",
        "No error contains a traceback or a path of the server.",
        fault=[error('Traceback (most recent call last):\n  File "/srv/x.py", line 1')],
    ),
)
"""Requirements on the form of every rejection."""

STATUS = should(
    "responses:errors:status",
    "spec 13",
    "An unknown model or previous response returns 400, and an unknown item 404.",
    fault=[error("The model does not exist.", 404, "model_not_found", "model")],
)
"""The requirement on rejections with one of several statuses."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """How one invalid request is rejected. `what` begins a sentence: `A request without a model`.

    `statuses` are OpenAI's: the first one is preferred.
    """

    what: str
    code: str | None = None
    param: str | None = None
    level: Level = "must"
    source: str = "spec 13"
    statuses: tuple[int, ...] = (400,)
    others: tuple[tuple[str | None, str | None], ...] = ()
    """Further accepted pairs of code and param: sources differ."""

    @property
    def is_named(self) -> bool:
        """Whether OpenAI's error names it by a code or a param."""
        return bool(self.code or self.param)

    def requirements(self, id: str) -> tuple[Requirement, ...]:
        """Return its requirements: the request is rejected, and the error names the cause if
        OpenAI's does.
        """
        sentence = f"{self.what} is rejected with a 4xx."
        rejected = Requirement(id, self.level, self.source, sentence, fault=[replies.ACCEPTED])
        if not self.is_named:
            return (rejected,)
        words = [
            f"the {key} `{value}`"
            for key, value in (("code", self.code), ("param", self.param))
            if value
        ]
        sentence = f"{self.what} is rejected with {' and '.join(words)}."
        level: Level = "may" if self.level == "may" else "should"
        fault = [error("It is wrong.", 400, "wrong", "something")]
        return rejected, Requirement(f"{id}-named", level, self.source, sentence, fault=fault)

    @property
    def reply(self) -> Reply:
        """OpenAI's error."""
        status = self.statuses[0]
        message = "Item with id 'x' not found." if status == 404 else "It is wrong."
        return error(message, status, self.code, self.param)


def invalid(name: str, change: Change, refusal: Refusal) -> Case:
    """Return the case of an invalid request, which must be rejected as `refusal` says."""
    place = f"responses:errors:{name}"
    shared = (*FORM, STATUS) if len(refusal.statuses) > 1 else FORM

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.post(
            "/responses", content=bad_body(trial.model, change), headers=JSON
        )
        trial.supported(exchange)
        judge_refusal(trial, place, refusal, exchange)
        judge_form(trial, place, refusal, exchange)
        if len(refusal.statuses) > 1 and exchange.status in refusal.statuses:
            trial.expect(STATUS.id, exchange.status == refusal.statuses[0], exchange.came)

    script.__doc__ = f"Send: {refusal.what[0].lower()}{refusal.what[1:]}."
    rows = (*refusal.requirements(place), *shared)
    return Case(f"refused_{name.replace('-', '_')}", rows, script, good=[refusal.reply])


def bad_body(model: str, change: Change) -> bytes:
    """Return the body of an invalid request: valid except for one error, so that nothing else can
    be the reason.
    """
    if isinstance(change, bytes):
        return change
    good = {"model": model, "input": "Say hello.", "max_output_tokens": 64}
    return json.dumps(present(good | dict(change))).encode()


def judge_refusal(trial: Trial, id: str, refusal: Refusal, exchange: Exchange) -> None:
    """Judge a rejection by the requirements of the request."""
    refused = is_refused(exchange)
    trial.expect(id, refused, exchange.came)
    if refusal.is_named:
        pairs = ((refusal.code, refusal.param), *refusal.others)
        named = refused and any(is_named(exchange, [code], [param]) for code, param in pairs)
        trial.expect(f"{id}-named", named, exchange.came)


def judge_form(trial: Trial, id: str, refusal: Refusal, exchange: Exchange) -> None:
    """Judge what every error must have; whether the request was rejected is a requirement of its
    own.
    """
    root = id if refusal.level == "must" else ""
    trial.expect("responses:errors:never-ours", exchange.status < 500, exchange.came, root=root)
    if exchange.status >= 400:
        trial.expect(
            "responses:errors:no-traceback", not TRACES.search(message_of(exchange)), exchange.came
        )
    if not is_refused(exchange):
        return
    trial.expect("responses:errors:envelope", is_envelope(exchange), exchange.came)
    if refusal.statuses == (400,):
        trial.expect("responses:errors:bad-request", exchange.status == 400, exchange.came)
    error = at(exchange.json, "error")
    has_keys = isinstance(error, dict) and error.keys() >= KEYS
    trial.expect("responses:errors:four-keys", has_keys, exchange.came)
    trial.expect(
        "responses:errors:type", at(error, "type") == "invalid_request_error", exchange.came
    )
    kind = exchange.headers.get("content-type", "")
    trial.expect(
        "responses:errors:json", kind.startswith("application/json"), kind or "no content type"
    )


CASES = (
    # Not JSON, or not an object.
    invalid("empty-body", b"", Refusal("A request with an empty body", source="issue vllm#55974")),
    invalid(
        "cut-json",
        b'{"model": "x", "input": "Hel',
        Refusal("A request body with truncated JSON", source="issue vllm#55974"),
    ),
    invalid(
        "trailing-garbage",
        b'{"model": "x", "input": "Hello"} {',
        Refusal("A request body with content after its JSON", source="issue vllm#55974"),
    ),
    invalid("array", b"[]", Refusal("A request body that is an array", source="spec 13")),
    invalid(
        "not-a-number",
        b'{"model": "x", "input": "Hello", "temperature": NaN}',
        Refusal("A request body with `NaN` in it", level="should", source="spec 13"),
    ),
    invalid(
        "not-utf-8",
        b'{"model": "x", "input": "\xff\xfe"}',
        Refusal("A request body that is not UTF-8", source="spec 13"),
    ),
    invalid(
        "lone-surrogate",
        {"input": "Say \ud800."},
        Refusal("A text with an unpaired surrogate", level="should", source="spec 13"),
    ),
    invalid(
        "deep-nesting",
        DEEP_NESTING,
        Refusal("A request body nested 10,000 levels deep", source="spec 13"),
    ),
    invalid(
        "huge-integer",
        b'{"model": "x", "input": "Hello", "max_output_tokens": ' + b"9" * 5_000 + b"}",
        Refusal("A number with 5,000 digits", level="should", source="spec 13"),
    ),
    # Missing.
    invalid(
        "missing-model",
        {"model": MISSING},
        Refusal("A request without `model`", "missing_required_parameter", "model"),
    ),
    invalid(
        "missing-input",
        {"input": MISSING},
        Refusal(
            "A request without `input`",
            "missing_required_parameter",
            "input",
            others=(("missing_required_parameter", None),),
        ),
    ),
    invalid(
        "empty-input",
        {"input": []},
        Refusal(
            "A request with an empty list as `input`",
            "missing_required_parameter",
            others=(("empty_array", "input"), ("missing_required_parameter", "input")),
            level="should",
        ),
    ),
    # Unknown.
    invalid(
        "unknown-model",
        {"model": UNKNOWN_MODEL},
        Refusal(
            "An unknown model", "model_not_found", "model", level="should", statuses=(400, 404)
        ),
    ),
    invalid(
        "unknown-parameter",
        {"temprature": 1},
        Refusal("An unknown parameter", "unknown_parameter", "temprature", "should"),
    ),
    invalid(
        "chat-messages",
        {"input": MISSING, "messages": [USER]},
        Refusal(
            "A request with `messages` as in Chat Completions",
            "unsupported_parameter",
            others=(("missing_required_parameter", "input"), ("unsupported_parameter", "messages")),
        ),
    ),
    # Of the wrong type.
    invalid(
        "input-number",
        {"input": 7},
        Refusal("A number as `input`", "invalid_type", "input", source="issue litellm#36947"),
    ),
    invalid(
        "input-null",
        {"input": None},
        Refusal(
            "Null as `input`",
            "invalid_type",
            "input",
            others=(("missing_required_parameter", "input"),),
        ),
    ),
    invalid("model-number", {"model": 7}, Refusal("A number as `model`", "invalid_type", "model")),
    invalid(
        "instructions-number",
        {"instructions": 7},
        Refusal("A number as `instructions`", "invalid_type", "instructions"),
    ),
    invalid(
        "stream-word", {"stream": "yes"}, Refusal("A string as `stream`", "invalid_type", "stream")
    ),
    invalid("store-word", {"store": "no"}, Refusal("A string as `store`", "invalid_type", "store")),
    invalid(
        "temperature-word",
        {"temperature": "hot"},
        Refusal("A string as `temperature`", "invalid_type", "temperature"),
    ),
    invalid(
        "max-output-tokens-word",
        {"max_output_tokens": "many"},
        Refusal("A string as `max_output_tokens`", "invalid_type", "max_output_tokens"),
    ),
    invalid(
        "max-output-tokens-fraction",
        {"max_output_tokens": 100.5},
        Refusal("A fraction as `max_output_tokens`", "invalid_type", "max_output_tokens"),
    ),
    invalid(
        "metadata-word",
        {"metadata": "x"},
        Refusal("A string as `metadata`", "invalid_type", "metadata"),
    ),
    invalid(
        "metadata-value",
        {"metadata": {"a": 1}},
        Refusal("A number as a value of `metadata`", "invalid_type", "metadata.a", "should"),
    ),
    invalid(
        "tools-object", {"tools": {}}, Refusal("An object as `tools`", "invalid_type", "tools")
    ),
    invalid(
        "previous-response-number",
        {"previous_response_id": 7},
        Refusal("A number as `previous_response_id`", "invalid_type", "previous_response_id"),
    ),
    # Out of range.
    invalid(
        "temperature-high",
        {"temperature": 99},
        Refusal("A `temperature` of 99", "decimal_above_max_value", "temperature"),
    ),
    invalid(
        "temperature-low",
        {"temperature": -1},
        Refusal("A `temperature` of -1", "decimal_below_min_value", "temperature"),
    ),
    invalid(
        "top-p-high",
        {"top_p": 1.5},
        Refusal("A `top_p` of 1.5", "decimal_above_max_value", "top_p"),
    ),
    invalid(
        "max-output-tokens-zero",
        {"max_output_tokens": 0},
        Refusal("A `max_output_tokens` of 0", "integer_below_min_value", "max_output_tokens"),
    ),
    invalid(
        "max-output-tokens-few",
        {"max_output_tokens": 15},
        Refusal(
            "A `max_output_tokens` of 15", "integer_below_min_value", "max_output_tokens", "should"
        ),
    ),
    invalid(
        "top-logprobs-high",
        {"top_logprobs": 21, "include": ["message.output_text.logprobs"]},
        Refusal("A `top_logprobs` of 21", "integer_above_max_value", "top_logprobs"),
    ),
    invalid(
        "metadata-many",
        {"metadata": {f"key-{number}": "x" for number in range(17)}},
        Refusal("`metadata` with 17 pairs", "object_above_max_properties", "metadata", "should"),
    ),
    invalid(
        "metadata-long",
        {"metadata": {"a": "x" * 513}},
        Refusal(
            "A `metadata` value of 513 characters",
            "string_above_max_length",
            "metadata.a",
            "should",
        ),
    ),
    # Not one of the allowed values.
    invalid(
        "truncation-word",
        {"truncation": "some"},
        Refusal("An unknown `truncation`", "invalid_value", "truncation"),
    ),
    invalid(
        "tool-choice-word",
        {"tools": [WEATHER], "tool_choice": "some"},
        Refusal("An unknown string as `tool_choice`", "invalid_value", "tool_choice"),
    ),
    invalid(
        "include-word",
        {"include": ["everything"]},
        Refusal("An unknown value in `include`", "invalid_value", "include[0]", "should"),
    ),
    invalid(
        "window-in-foreground",
        TWO_HOURS,
        Refusal(
            "A `completion_window` of hours without `background`",
            "invalid_value",
            WINDOW,
            "should",
            source="spec 24",
        ),
    ),
    invalid(
        "window-with-stream",
        {**TWO_HOURS, "background": True, "stream": True},
        Refusal(
            "A `completion_window` of hours with `stream`",
            "invalid_value",
            WINDOW,
            "should",
            source="spec 24",
        ),
    ),
    invalid(
        "window-at-another-tier",
        {**TWO_HOURS, "background": True, "service_tier": "flex"},
        Refusal(
            "A `completion_window` of hours with the `service_tier` `flex`",
            "invalid_value",
            WINDOW,
            "should",
            source="spec 24",
        ),
    ),
    invalid(
        "service-tier-word",
        {"service_tier": "free"},
        Refusal("An unknown `service_tier`", "invalid_value", "service_tier", "should"),
    ),
    invalid(
        "effort-word",
        {"reasoning": {"effort": "some"}},
        Refusal("An unknown `reasoning.effort`", "invalid_value", "reasoning.effort"),
    ),
    invalid(
        "format-word",
        {"text": {"format": {"type": "xml"}}},
        Refusal("An unknown `text.format` type", "invalid_value", "text.format.type"),
    ),
    # Items.
    invalid(
        "item-type",
        {"input": [{"type": "no_such_item"}]},
        Refusal(
            "An input item of an unknown type",
            "invalid_value",
            "input[0]",
            level="should",
            others=(("invalid_value", "input[0].type"),),
        ),
    ),
    invalid(
        "role",
        {"input": [USER | {"role": "visitor"}]},
        Refusal(
            "A message with an unknown role",
            "invalid_value",
            "input[0]",
            others=(("invalid_value", "input[0].role"),),
        ),
    ),
    invalid(
        "missing-content",
        {"input": [{"role": "user"}]},
        Refusal("A message without `content`", "missing_required_parameter", "input[0].content"),
    ),
    invalid(
        "content-type",
        {"input": [USER | {"content": [{"type": "input_smell", "text": "x"}]}]},
        Refusal(
            "A content part of an unknown type",
            "invalid_value",
            "input[0].content[0].type",
            others=(("invalid_value", "input[0].content[0]"),),
        ),
    ),
    invalid(
        "item-number",
        {"input": [7]},
        Refusal("A number as an input item", "invalid_type", "input[0]"),
    ),
    invalid(
        "item-key",
        {"input": [USER | {"bogus": 1}]},
        Refusal("An unknown key in an input item", "unknown_parameter", "input[0].bogus", "may"),
    ),
    invalid(
        "item-reference",
        {"input": [{"type": "item_reference", "id": "msg_00000000000000000000000000000000"}]},
        Refusal(
            "A reference to an item that was never stored",
            param="input",
            level="should",
            statuses=(404, 400),
        ),
    ),
    invalid(
        "duplicate-items",
        {"input": [TWIN, TWIN]},
        Refusal("A second input item with the same id", param="input", level="should"),
    ),
    invalid(
        "output-without-call",
        {"input": [USER, OUTPUT]},
        Refusal("A tool output without a call", param="input", level="should"),
    ),
    invalid(
        "call-without-output",
        {"input": [USER, CALL, USER], "tools": [WEATHER]},
        Refusal("A call in the history without its output", param="input", level="should"),
    ),
    # Tools and formats.
    invalid(
        "tool-without-name",
        {"tools": [{"type": "function", "parameters": CITY}]},
        Refusal("A function tool without a name", "missing_required_parameter", "tools[0].name"),
    ),
    invalid(
        "tool-of-chat",
        {"tools": [{"type": "function", "function": {"name": "get_weather", "parameters": CITY}}]},
        Refusal(
            "A function tool in the shape of Chat Completions",
            "missing_required_parameter",
            "tools[0].name",
            "should",
        ),
    ),
    invalid(
        "tool-type",
        {"tools": [{"type": "no_such_tool"}]},
        Refusal(
            "A tool of an unknown type",
            "invalid_value",
            "tools[0].type",
            others=(("invalid_value", "tools[0]"), ("unsupported_value", "tools[0].type")),
        ),
    ),
    invalid(
        "tool-choice-absent",
        {"tools": [WEATHER], "tool_choice": {"type": "function", "name": "get_money"}},
        Refusal("A `tool_choice` that names a function missing from `tools`", param="tool_choice"),
    ),
    invalid(
        "schema-without-name",
        {"text": {"format": {"type": "json_schema", "schema": CITY}}},
        Refusal(
            "A `json_schema` format without a name",
            "missing_required_parameter",
            "text.format.name",
        ),
    ),
    # State.
    invalid(
        "unknown-previous-response",
        {"previous_response_id": NO_RESPONSE},
        Refusal(
            "An unknown `previous_response_id`",
            "previous_response_not_found",
            "previous_response_id",
            statuses=(400, 404),
            source="issue ollama#15954",
        ),
    ),
)


@case(
    must(
        "responses:errors:plain-before-a-stream",
        "spec 7",
        "With `stream: true`, an invalid request returns an HTTP error, not a stream.",
        fault=[streams(STREAMS["failure"])],
    ),
    good=[replies.GOOD],
)
def a_bad_request_gets_no_stream(trial: Trial) -> Steps:
    """Request a stream with a parameter of the wrong type."""
    exchange = yield from trial.respond(7, stream=True)
    trial.supported(exchange)
    is_plain = not exchange.headers.get("content-type", "").startswith("text/event-stream")
    trial.expect(
        "responses:errors:plain-before-a-stream", is_plain and exchange.status >= 400, exchange.came
    )


@case(
    may(
        "responses:errors:did-you-mean",
        "spec 2",
        "The error for a misspelled parameter suggests the known parameter.",
        fault=[replies.NO_SUGGESTION],
    ),
    good=[replies.SUGGESTION],
)
def a_misspelled_parameter_is_named(trial: Trial) -> Steps:
    """Misspell a parameter."""
    exchange = yield from trial.respond("Say hello.", temprature=1)
    trial.supported(exchange)
    if exchange.status >= 400:
        suggests = "'temperature'" in message_of(exchange) or '"temperature"' in message_of(
            exchange
        )
        trial.expect("responses:errors:did-you-mean", suggests, exchange.came)


@case(
    must(
        "responses:errors:alive",
        "issue vllm#55974",
        "After an invalid request the server answers a valid one.",
        fault=[replies.GOOD, Reply(0, fault="cut")],
    ),
    good=[replies.GOOD, replies.ACCEPTED],
)
def the_server_survives(trial: Trial) -> Steps:
    """Send malformed JSON, then a valid request."""
    first = yield from trial.post("/responses", content=DEEP_NESTING, headers=JSON)
    second = yield from trial.respond("Say hello.")
    trial.supported(second)
    is_answer = second.is_ok and is_response(second.json)
    trial.expect("responses:errors:alive", is_answer, f"{first.came}; then {second.came}")
