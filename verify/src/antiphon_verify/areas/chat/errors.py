"""Invalid requests to Chat Completions."""

import json
from typing import Any

from antiphon_verify.case import Case, Script, case
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import MISSING, at, is_text, listed
from antiphon_verify.refusal import KEYS, is_envelope
from antiphon_verify.requirement import Requirement, Stop, Table, may, must, should
from antiphon_verify.samples import CHAT_TOOLS, CITY
from antiphon_verify.trial import Steps, Trial, given

API = "chat-api errors"

BODIES: Table = (
    must("chat:errors:empty-body", API, "A chat request with an empty body is rejected with a 4xx."),
    must("chat:errors:cut-json", API, "A chat request with truncated JSON is rejected with a 4xx."),
    must("chat:errors:array", API, "A chat request body that is an array is rejected with a 4xx."),
    should("chat:errors:deep-json", API, "A chat request body nested 10,000 levels deep is rejected with a 4xx."),
    may("chat:errors:not-utf8", "http", "A chat request body that is not UTF-8 is rejected with a 4xx."),
)
"""Bytes that are not a request."""

FAULTS: Table = (
    must("chat:errors:missing-messages", API, "A chat request without `messages` is rejected with a 4xx."),
    should("chat:errors:empty-messages", API, "An empty list of `messages` is rejected with a 4xx."),
    must("chat:errors:messages-text", API, "A string as `messages` is rejected with a 4xx."),
    must("chat:errors:message-text", API, "A string as one of the messages is rejected with a 4xx."),
    should("chat:errors:message-without-role", API, "A chat message without `role` is rejected with a 4xx."),
    should("chat:errors:unknown-role", API, "A chat message with an unknown role is rejected with a 4xx."),
    should("chat:errors:missing-content", API, "A user message without `content` is rejected with a 4xx."),
    must("chat:errors:content-number", API, "A number as the `content` of a chat message is rejected with a 4xx."),
    must(
        "chat:errors:content-type",
        API,
        "A chat content part of an unknown type is rejected with a 4xx.",
    ),
    should("chat:errors:missing-model", API, "A chat request without `model` is rejected with a 4xx."),
    should("chat:errors:model-number", API, "A number as the `model` of a chat request is rejected with a 4xx."),
    should(
        "chat:errors:temperature-word", API, "A string as the `temperature` of a chat request is rejected with a 4xx."
    ),
    should("chat:errors:temperature-high", API, "A chat `temperature` of 99 is rejected with a 4xx."),
    should("chat:errors:max-tokens-word", API, "A string as `max_tokens` is rejected with a 4xx."),
    should("chat:errors:stream-word", API, "A string as the `stream` of a chat request is rejected with a 4xx."),
    must("chat:errors:tools-object", API, "An object as the `tools` of a chat request is rejected with a 4xx."),
    should("chat:errors:tool-without-function", API, "A chat tool without its `function` is rejected with a 4xx."),
    should("chat:errors:tool-without-name", API, "A chat tool without a function name is rejected with a 4xx."),
    should(
        "chat:errors:tool-choice-word",
        API,
        "An unknown string as the `tool_choice` of a chat request is rejected with a 4xx.",
    ),
    should(
        "chat:errors:tool-choice-absent",
        API,
        "A chat `tool_choice` that names a function missing from `tools` is rejected with a 4xx.",
    ),
    should("chat:errors:tool-choice-alone", API, "A chat `tool_choice` without `tools` is rejected with a 4xx."),
    should("chat:errors:format-word", API, "An unknown `response_format` type is rejected with a 4xx."),
    should("chat:errors:schema-missing", API, "A `json_schema` format without a schema object is rejected with a 4xx."),
)
"""Requests with one error each."""

MANNERS: Table = (
    must("chat:errors:never-ours", "issue vllm#55974", "An invalid chat request never returns a 5xx."),
    must(
        "chat:errors:envelope",
        API,
        "The body of an error is an object with `error`, which has a `message` and a `type`.",
    ),
    should("chat:errors:bad-request", API, "An invalid chat request returns 400."),
    should("chat:errors:four-keys", API, "An error has the keys `message`, `type`, `param` and `code`."),
    may("chat:errors:code-text", API, "An error's `code` is a string or null."),
)
"""Requirements on every rejection."""

TABLE: Table = (
    *BODIES,
    *FAULTS,
    *MANNERS,
    should("chat:errors:unknown-model", API, "An unknown chat model is rejected with 404 or 400."),
    should("chat:errors:unknown-model-named", API, "The error for an unknown model has the code `model_not_found`."),
    must("chat:errors:streamed", API, "With `stream: true`, invalid messages return an HTTP error, not a stream."),
    must("chat:errors:streamed-tools", API, "With `stream: true`, invalid tools return an HTTP error, not a stream."),
    must(
        "chat:errors:streamed-tool-choice",
        API,
        "With `stream: true`, a rejected `tool_choice` returns an HTTP error, not a stream.",
    ),
    must("chat:errors:path", "http", "An unknown path below `/chat` returns 404."),
    must("chat:errors:method", "http", "DELETE on `/chat/completions` returns 405 or 404."),
    must("chat:errors:alive", "issue vllm#55974", "After an invalid chat request the server answers a valid one."),
)


USER = {"role": "user", "content": "Say hello."}

JSON = {"content-type": "application/json"}

DEEP = 10_000

RAW = {
    "empty-body": b"",
    "cut-json": b'{"model": "x", "messages": [{"role": "us',
    "array": b"[]",
    "deep-json": b'{"messages": ' + b"[" * DEEP + b"]" * DEEP + b"}",
}
"""By the requirement's name: bytes that are not a request."""

NO_UTF8 = b"\xff\xfe"

PLACE = "here it goes"

PARAMETERS: dict[str, dict[str, Any]] = {
    "not-utf8": {"messages": [USER | {"content": PLACE}]},
    "missing-messages": {"messages": MISSING},
    "empty-messages": {"messages": []},
    "messages-text": {"messages": "Say hello."},
    "message-text": {"messages": ["Say hello."]},
    "message-without-role": {"messages": [{"content": "Say hello."}]},
    "unknown-role": {"messages": [USER | {"role": "visitor"}]},
    "missing-content": {"messages": [{"role": "user"}]},
    "content-number": {"messages": [USER | {"content": 7}]},
    "content-type": {"messages": [USER | {"content": [{"type": "smell", "text": "x"}]}]},
    "missing-model": {"model": MISSING},
    "unknown-model": {"model": "no-such-model-anywhere"},
    "model-number": {"model": 7},
    "temperature-word": {"temperature": "hot"},
    "temperature-high": {"temperature": 99},
    "max-tokens-word": {"max_tokens": "many"},
    "stream-word": {"stream": "perhaps"},
    "tools-object": {"tools": {"get_weather": CITY}},
    "tool-without-function": {"tools": [{"type": "function"}]},
    "tool-without-name": {"tools": [{"type": "function", "function": {"parameters": CITY}}]},
    "tool-choice-word": {"tools": CHAT_TOOLS, "tool_choice": "some"},
    "tool-choice-absent": {
        "tools": CHAT_TOOLS,
        "tool_choice": {"type": "function", "function": {"name": "get_money"}},
    },
    "tool-choice-alone": {"tool_choice": "required"},
    "format-word": {"response_format": {"type": "xml"}},
    "schema-missing": {"response_format": {"type": "json_schema"}},
}
"""By the requirement's name: the change that makes a valid body invalid."""

STREAMED = {
    "streamed": "messages-text",
    "streamed-tools": "tools-object",
    "streamed-tool-choice": "tool-choice-absent",
}
"""By the requirement's name: the error in a streaming request."""

SHARED = tuple(requirement.id for requirement in MANNERS)


def bad_body(trial: Trial, name: str, **more: Any) -> bytes:
    """Return the body of an invalid request: valid except for one error, so that nothing else can be the reason."""
    if name in RAW:
        return RAW[name]
    good = trial.chat_body([USER], **more)
    return json.dumps(given(good | PARAMETERS[name])).encode().replace(PLACE.encode(), NO_UTF8)


def is_refusal(exchange: Exchange) -> bool:
    """Whether the request was rejected as the client's error."""
    return 400 <= exchange.status < 500


def refusing(requirement: Requirement) -> Script:
    """Return the script that sends an invalid request."""
    name = requirement.id.rpartition(":")[2]

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.post("/chat/completions", content=bad_body(trial, name), headers=JSON)
        trial.served(exchange)
        trial.expect(requirement.id, is_refusal(exchange), exchange.came)
        judge_manners(trial, requirement, exchange)

    script.__doc__ = f"Send an invalid request: {name.replace('-', ' ')}."
    return script


def judge_manners(trial: Trial, requirement: Requirement, exchange: Exchange) -> None:
    """Judge the form of a rejection; whether the request was rejected is a requirement of its own."""
    root = requirement.id if requirement.level == "must" else ""
    trial.expect("chat:errors:never-ours", exchange.status < 500, exchange.came, root=root)
    if not is_refusal(exchange):
        return
    trial.expect("chat:errors:bad-request", exchange.status == 400, exchange.came)
    error = at(exchange.json, "error")
    is_whole = is_envelope(exchange) and is_text(at(error, "type"))
    if trial.expect("chat:errors:envelope", is_whole, exchange.came):
        code = at(error, "code")
        trial.expect("chat:errors:four-keys", error.keys() >= KEYS, exchange.came)
        trial.expect("chat:errors:code-text", not code or isinstance(code, str), exchange.came)


CASES = tuple(
    Case(f"chat_refused_{one.id.rpartition(':')[2].replace('-', '_')}", (one.id,), refusing(one), asides=SHARED)
    for one in (*BODIES, *FAULTS)
)


@case("chat:errors:unknown-model", "chat:errors:unknown-model-named")
def an_unknown_chat_model_is_refused(trial: Trial) -> Steps:
    """Name an unknown model."""
    body = bad_body(trial, "unknown-model")
    exchange = yield from trial.post("/chat/completions", content=body, headers=JSON)
    trial.served(exchange)
    if not trial.expect("chat:errors:unknown-model", exchange.status in (400, 404), exchange.came):
        raise Stop("skipped", "The request was not rejected.")
    code = at(exchange.json, "error", "code")
    trial.expect("chat:errors:unknown-model-named", code == "model_not_found", exchange.came)


def streaming(name: str, fault: str) -> Script:
    """Return the script that sends an invalid request with `stream: true`."""

    def script(trial: Trial) -> Steps:
        body = bad_body(trial, fault, stream=True)
        exchange = yield from trial.post("/chat/completions", content=body, headers=JSON)
        trial.served(exchange)
        if exchange.is_ok and any(listed(event, "choices") for event in exchange.events):
            raise Stop("skipped", "The server accepts such a request.")
        is_plain = not exchange.headers.get("content-type", "").startswith("text/event-stream")
        trial.expect(f"chat:errors:{name}", is_plain and is_refusal(exchange), exchange.came)

    script.__doc__ = f"Request a stream, with an error: {fault.replace('-', ' ')}."
    return script


STREAMING = tuple(
    Case(f"chat_{name.replace('-', '_')}_refused", (f"chat:errors:{name}",), streaming(name, fault))
    for name, fault in STREAMED.items()
)


@case("chat:errors:method", "chat:errors:path")
def what_chat_does_not_serve_is_refused(trial: Trial) -> Steps:
    """DELETE a path that supports POST, and POST to a path that does not exist."""
    served = yield from trial.post("/chat/completions", content=b"", headers=JSON)
    trial.served(served)
    refused = yield from trial.delete("/chat/completions")
    trial.expect("chat:errors:method", refused.status in (404, 405), refused.came)
    lost = yield from trial.post("/chat/no-such-path", content=b"{}", headers=JSON)
    trial.expect("chat:errors:path", lost.status == 404, lost.came)


@case("chat:errors:alive")
def chat_survives(trial: Trial) -> Steps:
    """Send malformed JSON, then a valid request."""
    first = yield from trial.post("/chat/completions", content=RAW["cut-json"], headers=JSON)
    second = yield from trial.chat("Say hello.")
    trial.served(second)
    is_answer = second.is_ok and bool(listed(second.json, "choices"))
    trial.expect("chat:errors:alive", is_answer, f"{first.came}; then {second.came}")
