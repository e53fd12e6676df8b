"""Bad requests."""

import json
import re
from typing import Any

from antiphon.conformance.absence import message_of
from antiphon.conformance.case import Case, Script, case
from antiphon.conformance.cases.tools import CITY, WEATHER
from antiphon.conformance.envelope import KEYS, is_named, is_refused
from antiphon.conformance.exchange import Exchange
from antiphon.conformance.reading import MISSING, at
from antiphon.conformance.refusal import Refusal
from antiphon.conformance.requirements.responses.errors import REFUSALS
from antiphon.conformance.trial import Steps, Trial, given

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
    "service-tier-word": {"service_tier": "free"},
    "effort-word": {"reasoning": {"effort": "some"}},
    "format-word": {"text": {"format": {"type": "xml"}}},
    "item-type": {"input": [{"type": "no_such_item"}]},
    "role": {"input": [USER | {"role": "nobody"}]},
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
"""By the requirement's name: what makes a good body bad."""

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
"""By the requirement's name: bytes that are no request at all."""

TRACES = re.compile(r"Traceback|File \"/|\.py\", line|goroutine \d|\bat [\w.]+\(.*:\d+\)|/(usr|home|opt|root|app)/")
"""What an error has no business to show."""

JSON = {"content-type": "application/json"}

SHARED = ("never-ours", "four-keys", "type", "json", "no-traceback")


def bad_body(model: str, name: str) -> bytes:
    """Return a bad request's body. `MISSING` takes a parameter away."""
    if name in BODIES:
        return BODIES[name]
    body = given({"model": model, "input": "Say hello.", "max_output_tokens": 64} | PARAMETERS.get(name, {}))
    if name == "lone-surrogate":
        body["input"] = "Say \ud800."
    return json.dumps(body).encode()


def judge_refusal(trial: Trial, area: str, name: str, refusal: Refusal, exchange: Exchange) -> None:
    """Judge how a bad request was refused, by its own requirements."""
    refused = is_refused(exchange, *refusal.statuses)
    trial.expect(f"{area}:{name}", refused, exchange.came)
    if refusal.is_named:
        pairs = ((refusal.code, refusal.param), *refusal.others)
        named = refused and any(is_named(exchange, [code], [param]) for code, param in pairs)
        trial.expect(f"{area}:{name}-named", named, exchange.came)


def judge_error(trial: Trial, exchange: Exchange) -> None:
    """Judge what every error has in common."""
    trial.expect("responses:errors:never-ours", exchange.status < 500, exchange.came)
    if exchange.status < 400:
        return
    error = at(exchange.json, "error")
    has_keys = isinstance(error, dict) and error.keys() >= KEYS
    trial.expect("responses:errors:four-keys", has_keys, exchange.came)
    trial.expect("responses:errors:type", at(error, "type") == "invalid_request_error", exchange.came)
    kind = exchange.headers.get("content-type", "")
    trial.expect("responses:errors:json", kind.startswith("application/json"), kind or "no content type")
    trial.expect("responses:errors:no-traceback", not TRACES.search(message_of(exchange)), exchange.came)


def refusing(name: str, refusal: Refusal) -> Script:
    """Return the script that sends a bad request."""

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.post("/responses", content=bad_body(trial.model, name), headers=JSON)
        trial.served(exchange)
        judge_refusal(trial, "responses:errors", name, refusal, exchange)
        judge_error(trial, exchange)
        if len(refusal.statuses) > 1 and exchange.status in refusal.statuses:
            trial.expect("responses:errors:status", exchange.status == refusal.statuses[0], exchange.came)

    script.__doc__ = f"Send: {refusal.what[0].lower()}{refusal.what[1:]}."
    return script


def ids_of(area: str, name: str, refusal: Refusal) -> tuple[str, ...]:
    """Return the ids of a refusal."""
    return (f"{area}:{name}", *((f"{area}:{name}-named",) if refusal.is_named else ()))


def shared_ids(refusal: Refusal) -> tuple[str, ...]:
    """Return the ids that this refusal judges with others."""
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
    """Ask for a stream with a parameter of the wrong type."""
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
    """Send broken JSON, then a good request."""
    first = yield from trial.post("/responses", content=BODIES["deep-nesting"], headers=JSON)
    second = yield from trial.respond("Say hello.")
    trial.served(second)
    trial.expect("responses:errors:alive", second.is_ok, f"{first.came}; then {second.came}")
