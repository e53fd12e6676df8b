"""Replies of servers: what the rows of the requirements name as good replies, and as faults.

`bodies.py` and `completions.py` are whole objects to be changed. The other files have the replies
of one area each, and the contents that its requests send and the replies repeat.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon_verify.exchange import Exchange, Request

MODEL = "demo"
"""The model of the requests, which the replies repeat."""


@dataclass(frozen=True)
class Reply:
    """What a server answers; `patched` and `without` make another reply of it."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""
    is_reused: bool = False

    def to(self, request: Request) -> Exchange:
        """Return the exchange of a request that has this reply."""
        return Exchange(request, self.status, self.headers, self.body, self.fault, self.is_reused)

    def patched(self, *path: str | int, to: Any) -> "Reply":
        """Return this JSON reply with another value at a path."""
        body = json.loads(self.body)
        inner = body
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = to
        return replace(self, body=json.dumps(body).encode())

    def without(self, *path: str | int) -> "Reply":
        """Return this JSON reply without the value at a path."""
        body = json.loads(self.body)
        inner = body
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]
        return replace(self, body=json.dumps(body).encode())


Replies = Sequence[Reply | Callable[[Request], Reply]]
"""A script: replies, or functions of the request where the reply depends on it."""


def states(body: Any, status: int = 200, **headers: str) -> Reply:
    """Return a JSON reply. `content_type=` and the like are headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(body).encode(), {"content-type": "application/json", **named})


def error(
    message: str, status: int = 400, code: str | None = None, param: str | None = None
) -> Reply:
    """Return an error in its envelope."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return states(
        {"error": {"message": message, "type": kind, "param": param, "code": code}}, status
    )


def streams(events: Sequence[Mapping[str, Any]], **headers: str) -> Reply:
    """Return Responses events as a stream, each framed by its type."""
    body = "".join(f"event: {event.get('type')}\ndata: {json.dumps(event)}\n\n" for event in events)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(200, body.encode(), {"content-type": "text/event-stream; charset=utf-8", **named})


def chunks(*chunks: Mapping[str, Any], done: bool = True) -> Reply:
    """Return Chat Completions chunks as a stream."""
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + (
        "data: [DONE]\n\n" if done else ""
    )
    return Reply(200, body.encode(), {"content-type": "text/event-stream"})


def frames(*messages: Any, status: int = 101) -> Reply:
    """Return the messages of a WebSocket in reply to one frame."""
    return Reply(status, b"\n".join(json.dumps(message).encode() for message in messages))


def changed(value: Any, *path: str | int, to: Any) -> Any:
    """Return a copy of a JSON value with another value at a path."""
    copy = inner = deepcopy(value)
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    return copy


def replaced(script: Replies, index: int, reply: Reply) -> Replies:
    """Return the script with another reply at an index."""
    return [*script[:index], reply, *script[index + 1 :]]
