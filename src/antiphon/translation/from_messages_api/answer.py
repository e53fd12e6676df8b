"""Translates the answers of the Messages API into chunks of Chat Completions, or one completion.

Grammar of a stream (526 recorded ones have no exception):

stream = message_start { ping | block } message_delta message_stop
block  = content_block_start { content_block_delta | ping } content_block_stop

An `error` event ends a stream, and one without `message_stop` has broken off: the chunks then have
no finish reason and no `[DONE]`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from msgspec.json import encode

from antiphon.translation.from_messages_api.blocks import BlockReader, Delta, merged
from antiphon.translation.from_messages_api.ending import (
    chat_error,
    chat_usage,
    finish_reason,
    joined_usage,
)
from antiphon.translation.json_events import decode_event
from antiphon.translation.wire import EventDecoder

DONE = b"data: [DONE]\n\n"

Event = Mapping[str, Any]


class MessagesAnswer:
    """Translates one answer.

    Feed it the bytes of a stream in any split, then `finish`; or pass a `whole` answer.

    `id` and `created` are those of the completion. `with_usage` adds a last chunk with the tokens,
    as `stream_options.include_usage` requests it.
    """

    def __init__(self, id: str, created: int, *, with_usage: bool = True) -> None:
        self._head: Delta = {
            "id": id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": "",
        }
        self._with_usage = with_usage
        self._decoder = EventDecoder()
        self._blocks = BlockReader()
        self._usage: dict[str, Any] = {}
        self._stop: Event = {}
        self._has_begun = False
        self._is_over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add bytes of the stream; yield the server-sent events that they complete.

        Raises `BackendError` for data that is not a JSON object, after the events before it, or is
        too long.
        """
        return chain.from_iterable(map(self._read, self._decoder.feed(data)))

    def finish(self) -> Iterator[bytes]:
        """End the stream; yield the events of the last one, if its empty line is missing."""
        return chain.from_iterable(map(self._read, self._decoder.finish()))

    def whole(self, data: bytes) -> bytes:
        """Return a non-streamed answer as a completion, or as the error that it is.

        Raises as `feed`.
        """
        answer = decode_event(data)
        if answer.get("type") == "error":
            return _encode({"error": chat_error(answer)})
        self._note(answer)
        self._stop = answer
        reader = BlockReader(is_whole=True)
        blocks = enumerate(_objects(answer.get("content")))
        deltas = chain.from_iterable(reader.whole(*block) for block in blocks)
        choice = {
            "index": 0,
            "message": merged(chain(deltas, self._refusal())),
            "finish_reason": finish_reason(answer.get("stop_reason")),
            "logprobs": None,
        }
        completion = {**self._head, "object": "chat.completion", "choices": [choice]}
        if usage := chat_usage(self._usage):
            completion["usage"] = usage
        return _encode(completion)

    def _read(self, data: bytes) -> Iterator[bytes]:
        if self._is_over:
            return
        event = decode_event(data)
        kind = event.get("type")
        if kind == "message_stop":
            yield from self._end()
        elif kind == "error" or (kind is None and "error" in event):
            self._is_over = True
            yield _event({"error": chat_error(event)})
        else:
            for delta in self._deltas(kind, event):
                yield self._chunk(delta)

    def _deltas(self, kind: Any, event: Event) -> Iterable[Delta]:
        place = event.get("index")
        index = place if isinstance(place, int) else -1
        match kind:
            case "content_block_delta":
                return self._blocks.grow(index, _member(event, "delta"))
            case "content_block_start":
                return self._blocks.open(index, _member(event, "content_block"))
            case "content_block_stop":
                return self._blocks.close(index)
            case "message_start":
                self._note(_member(event, "message"))
            case "message_delta":
                self._stop = _member(event, "delta")
                self._usage = joined_usage(self._usage, event.get("usage"))
        return ()  # also for pings, and for events that are newer than this

    def _note(self, message: Event) -> None:
        self._head["model"] = str(message.get("model") or "")
        self._usage = joined_usage({}, message.get("usage"))

    def _refusal(self) -> Iterator[Delta]:
        """Yield why the model refused, if the backend says so."""
        details = _member(self._stop, "stop_details")
        if details.get("type") == "refusal" and isinstance(
            words := details.get("explanation"), str
        ):
            yield {"refusal": words}

    def _end(self) -> Iterator[bytes]:
        self._is_over = True
        for delta in self._refusal():
            yield self._chunk(delta)
        yield self._chunk({}, finish_reason(self._stop.get("stop_reason")))
        if self._with_usage and (usage := chat_usage(self._usage)):
            yield _event({**self._head, "choices": [], "usage": usage})
        yield DONE

    def _chunk(self, delta: Delta, reason: str | None = None) -> bytes:
        if not self._has_begun:
            self._has_begun = True
            delta = {"role": "assistant", **delta}
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _event({**self._head, "choices": [choice]})


def _encode(value: Any) -> bytes:
    try:
        return encode(value)
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def _member(value: Event, name: str) -> Event:
    member = value.get(name)
    return member if isinstance(member, dict) else {}


def _objects(values: Any) -> list[dict[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def _event(value: Any) -> bytes:
    return b"data: " + _encode(value) + b"\n\n"
