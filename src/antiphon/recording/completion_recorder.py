"""Stores a chat completion: it is sent under an id of this server, and is durable before its
end is sent.

The backend's own id is replaced, since backends repeat ids: Ollama's have three digits. An
incomplete answer, or one that is not a chat completion, is passed on unchanged and is not stored.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import msgspec

from antiphon.errors import log
from antiphon.forwarding.passthrough import PassthroughSink
from antiphon.ids import Clock, NewId
from antiphon.protocol.json_pieces import encoded
from antiphon.recording.quota import StorageReservation
from antiphon.sharing.memory import Account, Memory
from antiphon.sharing.offload import Offload
from antiphon.storage.operations import chat_completions
from antiphon.storage.records.chat_completions import StoredCompletion
from antiphon.storage.store import Store
from antiphon.telemetry.context import about
from antiphon.translation.from_chat.completion import CompletionFold, read_completion, read_object
from antiphon.translation.wire import COMMENT, DONE, EventDecoder
from antiphon.upstream.backend import too_large

OURS = frozenset({"store", "metadata"})
"""Parameters that are not sent to backends: the store belongs to this server."""

ECHOED = (
    *("tool_choice", "tools", "response_format", "seed", "temperature", "top_p"),
    *("presence_penalty", "frequency_penalty"),
)
"""Parameters of the request that a stored completion contains, as OpenAI's does."""

MAX_ANSWER = 64 * 1024 * 1024
"""Maximum bytes of an answer."""

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class CompletionParts:
    """What the recorders of a server share. `now` is the time in seconds since the epoch."""

    store: Store
    new_id: NewId
    now: Clock
    memory: Memory
    offload: Offload
    retention: int
    """Seconds for which a completion is stored."""


class CompletionRecorder:
    """Receives the response to a request, stores it, and passes it on to the sink of `into`.

    Exit its context when the request ends.
    """

    def __init__(
        self,
        parts: CompletionParts,
        request: dict[str, Any],
        size: int,
        tenant: str,
        reservation: StorageReservation,
    ) -> None:
        self._shared = parts
        self._tenant = tenant
        self._request = request
        self._size = size
        """Bytes of the request and of the response so far."""
        self._reservation = reservation
        self._account = Account(parts.memory, tenant)
        self._parts: list[bytes] = []
        self._events: EventDecoder | None = None
        self._fold = CompletionFold()
        self._is_over = False
        self._request_id = about().request_id
        self._id = parts.new_id("chatcmpl").replace("_", "-", 1)
        self.request = {name: value for name, value in request.items() if name not in OURS}
        """The request that a backend receives."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        """Release the reservations for the completion: it was stored, or will not be."""
        self._reservation.release()
        self._account.close()

    def into(self, sink: PassthroughSink) -> Self:
        """Pass the response on to `sink`."""
        self._sink = sink
        return self

    async def begin(self, status: int, backend: str, headers: Mapping[str, str]) -> None:
        """See `PassthroughSink`. A response without a stream begins once it is stored."""
        self._head = status, backend, headers
        if headers.get("content-type", "").startswith("text/event-stream"):
            self._events = EventDecoder()
            await self._sink.begin(*self._head)

    async def write(self, part: bytes, *, more_body: bool = True) -> None:
        """See `PassthroughSink`.

        Raises `StoreError` if the completion cannot be stored, `BackendError` if it is too large.
        """
        self._account.take(len(part))
        self._size += len(part)
        if self._account.retained > MAX_ANSWER:
            raise too_large(MAX_ANSWER)
        if self._events is not None:
            await self._pass_events(self._events, part, is_last=not more_body)
        elif more_body:
            self._parts.append(part)
        else:
            await self._pass_plain(b"".join([*self._parts, part]))

    async def _pass_plain(self, body: bytes) -> None:
        run = self._shared.offload.run
        stored, reply = await run(self._tenant, self._size, self._read_plain, body)
        await self._save(stored)
        await self._sink.begin(*self._head)
        await self._sink.write(reply, more_body=False)

    def _read_plain(self, body: bytes) -> tuple[StoredCompletion | None, bytes]:
        """Return a response without a stream, as it is stored and as it is passed on."""
        completion = read_completion(body)
        if completion is None:
            return None, body
        completion["id"] = self._id
        return self._stored(completion), encoded(completion, self._size)

    async def _pass_events(self, events: EventDecoder, part: bytes, *, is_last: bool) -> None:
        passed = (
            [COMMENT] if part.startswith(b":") else []
        )  # a backend's comments keep the connection open
        for data in events.finish() if is_last else events.feed(part):
            if data.strip() == DONE:
                await self._store_stream(is_ended=True)
                passed.append(b"data: [DONE]\n\n")
            else:
                passed.append(self._event(data))
        if is_last:
            await self._store_stream(is_ended=False)
        if passed or is_last:
            await self._sink.write(b"".join(passed), more_body=not is_last)

    def _event(self, data: bytes) -> bytes:
        """Parse a chunk; return the event to pass on."""
        chunk = read_object(data)
        if chunk is None:
            self._fold.break_off()
            return b"data: " + data.replace(b"\n", b"\ndata: ") + b"\n\n"
        self._fold.feed(chunk)
        if "choices" in chunk:
            chunk["id"] = self._id
        try:
            return b"data: " + _encode(chunk) + b"\n\n"
        except ValueError:  # a character that the backend split
            return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    async def _store_stream(self, *, is_ended: bool) -> None:
        if not self._is_over:
            self._is_over = True
            run = self._shared.offload.run
            await self._save(await run(self._tenant, self._size, self._read_stream, is_ended))

    def _read_stream(self, is_ended: bool) -> StoredCompletion | None:
        completion = self._fold.completion(is_ended=is_ended)
        return None if completion is None else self._stored(completion)

    def _stored(self, completion: dict[str, Any]) -> StoredCompletion:
        """Return a completion as it is stored: with the parameters of its request,
        as OpenAI shows it.
        """
        request = self._request
        now = int(self._shared.now())
        displayed = {name: request.get(name) for name in ECHOED}
        displayed |= {
            "input_user": request.get("user"),
            "request_id": self._request_id,
            **completion,
            "id": self._id,
        }
        displayed["created"] = completion.get("created") or now
        displayed["model"] = completion.get("model") or request["model"]
        return StoredCompletion(
            id=self._id,
            body=encoded(displayed, self._size),
            models=(str(displayed["model"]), request["model"]),
            metadata=_encode(request.get("metadata") or {}),
            messages=[encoded(message, self._size) for message in request["messages"]],
            tenant=self._tenant,
            expires_at=now + self._shared.retention,
        )

    async def _save(self, stored: StoredCompletion | None) -> None:
        if stored is None:
            log.warning("A chat completion was not stored: the backend's answer was not complete.")
        else:
            await self._shared.store.write(chat_completions.save, stored)
