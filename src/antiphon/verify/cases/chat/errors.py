"""Bad requests to Chat Completions."""

import json
from typing import Any

from antiphon.verify.case import Case, Script, case
from antiphon.verify.cases.tools import CHAT_TOOLS, CITY
from antiphon.verify.envelope import KEYS, is_named, is_refused
from antiphon.verify.reading import MISSING, at
from antiphon.verify.refusal import Refusal
from antiphon.verify.requirements.chat.errors import REFUSALS
from antiphon.verify.trial import Steps, Trial, given

USER = {"role": "user", "content": "Say hello."}

JSON = {"content-type": "application/json"}

PARAMETERS: dict[str, dict[str, Any]] = {
    "missing-messages": {"messages": MISSING},
    "empty-messages": {"messages": []},
    "messages-text": {"messages": "Say hello."},
    "message-text": {"messages": ["Say hello."]},
    "message-without-role": {"messages": [{"content": "Say hello."}]},
    "unknown-role": {"messages": [USER | {"role": "nobody"}]},
    "missing-content": {"messages": [{"role": "user"}]},
    "content-type": {"messages": [USER | {"content": [{"type": "smell", "text": "x"}]}]},
    "missing-model": {"model": MISSING},
    "unknown-model": {"model": "no-such-model-anywhere"},
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
"""By the requirement's name: what makes a good body bad."""

BODIES = {"empty-body": b"", "cut-json": b'{"model": "x", "messages": [{"role": "us', "array": b"[]"}
"""By the requirement's name: bytes that are no request at all."""

STREAMED = {
    "streamed": "messages-text",
    "streamed-tools": "tools-object",
    "streamed-tool-choice": "tool-choice-word",
}
"""By the requirement's name: the fault of a request for a stream."""


def bad_body(model: str, name: str, **more: Any) -> bytes:
    """Return a bad request's body."""
    if name in BODIES:
        return BODIES[name]
    good = {"model": model, "messages": [USER], "max_tokens": 64, **more}
    return json.dumps(given(good | PARAMETERS[name])).encode()


def refusing(name: str, refusal: Refusal) -> Script:
    """Return the script that sends a bad request."""

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.post("/chat/completions", content=bad_body(trial.model, name), headers=JSON)
        trial.served(exchange)
        refused = is_refused(exchange, *refusal.statuses)
        trial.expect(f"chat:errors:{name}", refused, exchange.came)
        trial.expect("chat:errors:never-ours", exchange.status < 500, exchange.came)
        if refusal.is_named:
            named = is_named(exchange, [refusal.code], [refusal.param, "model", None])
            trial.expect(f"chat:errors:{name}-named", refused and named, exchange.came)
        if exchange.status >= 400:
            error = at(exchange.json, "error")
            has_keys = isinstance(error, dict) and error.keys() >= KEYS
            trial.expect("chat:errors:four-keys", has_keys, exchange.came)

    script.__doc__ = f"Send: {refusal.what[0].lower()}{refusal.what[1:]}."
    return script


def ids_of(name: str, refusal: Refusal) -> tuple[str, ...]:
    """Return the ids that a refusal has, and those that all share."""
    own = (f"chat:errors:{name}", *((f"chat:errors:{name}-named",) if refusal.is_named else ()))
    return (*own, "chat:errors:never-ours", "chat:errors:four-keys")


CASES = tuple(
    Case(f"chat_refused_{name.replace('-', '_')}", ids_of(name, refusal), refusing(name, refusal))
    for name, refusal in REFUSALS.items()
)


def streaming(name: str, fault: str) -> Script:
    """Return the script that asks for a stream by a bad request."""

    def script(trial: Trial) -> Steps:
        body = bad_body(trial.model, fault, stream=True)
        exchange = yield from trial.post("/chat/completions", content=body, headers=JSON)
        trial.served(exchange)
        is_plain = not exchange.headers.get("content-type", "").startswith("text/event-stream")
        trial.expect(f"chat:errors:{name}", is_plain and 400 <= exchange.status < 500, exchange.came)

    script.__doc__ = f"Ask for a stream with a fault: {fault}."
    return script


STREAMING = tuple(
    Case(f"chat_{name.replace('-', '_')}_refused", (f"chat:errors:{name}",), streaming(name, fault))
    for name, fault in STREAMED.items()
)


@case("chat:errors:method")
def a_get_is_refused(trial: Trial) -> Steps:
    """GET where one can POST."""
    served = yield from trial.post("/chat/completions", content=b"", headers=JSON)
    trial.served(served)
    exchange = yield from trial.get("/chat/completions")
    trial.expect("chat:errors:method", exchange.status in (404, 405), exchange.came)


@case("chat:errors:alive")
def chat_survives(trial: Trial) -> Steps:
    """Send broken JSON, then a good request."""
    first = yield from trial.post("/chat/completions", content=BODIES["cut-json"], headers=JSON)
    second = yield from trial.chat("Say hello.")
    trial.served(second)
    trial.expect("chat:errors:alive", second.is_ok, f"{first.came}; then {second.came}")
