"""A backend inside this process that answers from a script: for tests, for docs, and under the model `demo`."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.backends.base import Listing, Reply

Chunk = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer of status 400 and above, with its body."""

    status: int
    body: dict[str, Any]


Answer = bytes | dict[str, Any] | Sequence[Chunk] | Refused
"""Raw bytes of an event stream, a plain answer, the chunks of a streamed one, or a refusal."""

Script = Callable[[str, dict[str, Any]], Answer]
"""Takes the path and the request; returns the answer."""


class ScriptedBackend:
    """A `Backend` whose answers come from a function, or one after the other from a list.

    `requests` are the bodies it was sent. With `cut`, the bytes of an answer come that many at a time.
    """

    url = ""

    def __init__(
        self,
        script: Script | Sequence[Answer],
        *,
        name: str = "scripted",
        models: Sequence[str] = ("scripted",),
        owned_by: str = "antiphon",
        cut: int = 0,
    ) -> None:
        self.name = name
        self.requests: list[dict[str, Any]] = []
        self._script = script if callable(script) else _in_turn(script)
        self._models = [{"id": model, "object": "model", "created": 0, "owned_by": owned_by} for model in models]
        self._cut = cut

    async def post(self, path: str, body: bytes) -> Reply:
        """See `Backend.post`."""
        request = json.loads(body)
        self.requests.append(request)
        answer = self._script(path, request)
        if isinstance(answer, Refused):
            return self._reply(json.dumps(answer.body).encode(), "application/json", answer.status)
        if isinstance(answer, dict):
            return self._reply(json.dumps(answer).encode(), "application/json")
        return self._reply(answer if isinstance(answer, bytes) else event_stream(answer), "text/event-stream")

    async def list_models(self) -> Listing:
        """See `Backend.list_models`."""
        return Listing(self._models, "antiphon")

    async def close(self) -> None:
        """Release nothing: there is nothing to release."""

    def _reply(self, body: bytes, content_type: str, status: int = 200) -> Reply:
        return Reply(status, {"content-type": content_type}, _pieces(body, self._cut or len(body) or 1))


def event_stream(chunks: Sequence[Chunk]) -> bytes:
    """Return chunks as the bytes of an event stream, `[DONE]` at its end."""
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def _in_turn(answers: Sequence[Answer]) -> Script:
    left = iter(answers)

    def script(path: str, request: dict[str, Any]) -> Answer:
        return next(left, Refused(500, {"error": {"message": "The script is at its end."}}))

    return script


async def _pieces(body: bytes, size: int) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(body), size):
        yield body[start : start + size]
