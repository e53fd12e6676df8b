"""Exchanges written down: for each requirement one that keeps it and one that breaks it, a file an area.

A script is what a server answers, in order: an `Answer`, or a function of the request where the answer depends on it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon_verify.case import Case, Playing
from antiphon_verify.exchange import Exchange, Pause, Request, Together
from antiphon_verify.requirement import Verdict
from antiphon_verify.trial import ORDINARY, Manners

MODEL = "demo"

TOOLS_URL = "http://127.0.0.1:9"
"""Where nobody is: what the MCP server heard is written down like all answers."""


@dataclass(frozen=True)
class Answer:
    """What a server answers; `patched` makes another of it."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""
    is_reused: bool = False

    def to(self, request: Request) -> Exchange:
        return Exchange(request, self.status, self.headers, self.body, self.fault, self.is_reused)

    def patched(self, *path: str | int, to: Any) -> "Answer":
        """Return this JSON answer with another value at a path."""
        body = json.loads(self.body)
        inner = body
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = to
        return replace(self, body=json.dumps(body).encode())

    def without(self, *path: str | int) -> "Answer":
        """Return this JSON answer without what lies at a path."""
        body = json.loads(self.body)
        inner = body
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]
        return replace(self, body=json.dumps(body).encode())


Reply = Answer | Callable[[Request], Answer]

Script = Sequence[Reply]


@dataclass(frozen=True)
class Shown:
    """A case, and two scripts for it: one that keeps a requirement and one that breaks it."""

    case: Case
    good: Script
    bad: Script


def shown(case: Case, good: Script, bad: Mapping[str, Script]) -> dict[str, Shown]:
    """Return, for each id in `bad`, the case with the good script and the one that breaks it."""
    return {name: Shown(case, good, script) for name, script in bad.items()}


def spoiled(case: Case, good: Script, bad: Script) -> dict[str, Shown]:
    """Return, for every id of the case, the good script and the one that breaks all of them."""
    return {name: Shown(case, good, bad) for name in case.ids}


def says(body: Any, status: int = 200, **headers: str) -> Answer:
    """Return a JSON answer. `content_type=` and the like are headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, json.dumps(body).encode(), {"content-type": "application/json", **named})


def error(message: str, status: int = 400, code: str | None = None, param: str | None = None) -> Answer:
    """Return an error in its envelope."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return says({"error": {"message": message, "type": kind, "param": param, "code": code}}, status)


def streams(events: Sequence[Mapping[str, Any]], **headers: str) -> Answer:
    """Return Responses events as a stream, each framed by its type."""
    body = "".join(f"event: {event.get('type')}\ndata: {json.dumps(event)}\n\n" for event in events)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(200, body.encode(), {"content-type": "text/event-stream; charset=utf-8", **named})


def chunks(*chunks: Mapping[str, Any], done: bool = True) -> Answer:
    """Return Chat Completions chunks as a stream."""
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + ("data: [DONE]\n\n" if done else "")
    return Answer(200, body.encode(), {"content-type": "text/event-stream"})


def hears(*messages: Any, status: int = 101) -> Answer:
    """Return what a WebSocket says in answer to one frame."""
    return Answer(status, b"\n".join(json.dumps(message).encode() for message in messages))


def changed(value: Any, *path: str | int, to: Any) -> Any:
    """Return a copy of a JSON value with another value at a path."""
    copy = inner = deepcopy(value)
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    return copy


def play(case: Case, script: Script, manners: Manners = ORDINARY) -> dict[str, Verdict]:
    """Play a case against a script; return its verdicts. Whoever asks for more than was written down gets a 500."""
    playing, replies = Playing(case, MODEL, manners, tools_url=TOOLS_URL), iter(script)

    def answer(request: Request) -> Exchange:
        reply = next(replies, error("The script ends here.", 500))
        return (reply if isinstance(reply, Answer) else reply(request)).to(request)

    playing.begin()
    while (step := playing.step) is not None:
        if isinstance(step, Pause):
            playing.answer(None)
        else:
            playing.answer([answer(r) for r in step.requests] if isinstance(step, Together) else answer(step))
    return playing.trial.verdicts
