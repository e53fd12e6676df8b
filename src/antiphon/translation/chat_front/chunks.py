"""Events of responses as the chunks of a chat completion.

```text
stream = chunk(role)  { chunk(delta) }  chunk(finish_reason)  [ chunk(usage) ]  [DONE]     for each answer
failed = a prefix of stream, then {"error": …}, without [DONE]
```
"""  # noqa: E501 - a table, a diagram or an example

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from antiphon.protocol import events
from antiphon.protocol.items.calls import CustomToolCall
from antiphon.protocol.items.messages import FunctionCall, Message, Reasoning
from antiphon.protocol.response import Response, Usage
from antiphon.translation.chat_front.completion import (
    BETWEEN_MESSAGES,
    annotations_of,
    detail_of,
    finish_reason,
    unanswerable,
    usage_of,
)
from antiphon.translation.chat_front.view import ChatView
from antiphon.translation.wire import COMMENT

DONE = b"data: [DONE]\n\n"
_encode = msgspec.json.Encoder().encode
_TEXT_DELTA = events.ResponseTextDeltaEvent

Object = dict[str, Any]


def frame(value: Object) -> bytes:
    """Return an event of a stream."""
    return b"data: %b\n\n" % _encode(value)


class ChunkEncoder:
    """Encodes the events of one answer of a completion."""

    def __init__(self, view: ChatView, completion_id: str, created: int, index: int = 0) -> None:
        self.error: Object | None = None
        """Why the response failed: the stream ends with it."""
        self.is_over = False
        self.usage: Usage | None = None
        self._view = view
        self._head = {
            "id": completion_id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": view.model,
        }
        self._usage: Object = {"usage": None} if view.shows_usage else {}
        self._index = index
        self._has_begun = False
        self._calls: dict[int, int] = {}
        """The index of each call of the client's, by the output index of its item."""
        self._sent: set[int] = set()
        """Output indexes of calls of which arguments were sent."""
        self._length = 0
        """Characters of text before the open message."""
        self._message = -1
        """The output index of the message of which text was sent last."""
        self._size = 0
        """Characters of text."""
        self._details = 0
        self._text_head = b""
        """A chunk of text up to its text: set with the first."""
        self._text_end = b""
        """The same chunk after its text, without its last brace."""

    def encode(self, batch: Sequence[events.Event]) -> bytes:
        """Return the chunks of events, which can be none."""
        chunks: list[bytes] = []
        for event in batch:
            # A text is most of a stream, so its deltas pass through no function of ours.
            if (
                type(event) is _TEXT_DELTA
                and event.output_index == self._message
                and not event.logprobs
            ):
                text = event.delta
                self._size += len(text)
                padding = event.obfuscation
                more = b',"obfuscation":' + _encode(padding) if isinstance(padding, str) else b""
                chunks.append(self._text_head + _encode(text) + self._text_end + more + b"}\n\n")
            elif (write := _WRITERS.get(type(event))) is not None:
                chunks.append(write(self, event))
        return b"".join(chunks)

    def usage_chunk(self, usages: list[Usage | None]) -> bytes:
        """Return the chunk with the tokens of all answers."""
        return frame({**self._head, "choices": [], "usage": usage_of(usages)})

    def _chunk(
        self,
        delta: Object,
        *,
        reason: str | None = None,
        logprobs: list[Object] | None = None,
        padding: Any = None,
    ) -> bytes:
        begun = b"" if self._has_begun else self._begin()
        choice = {
            "index": self._index,
            "delta": delta,
            "logprobs": {"content": logprobs, "refusal": None} if logprobs else None,
            "finish_reason": reason,
        }
        more = {"obfuscation": padding} if isinstance(padding, str) else {}
        return begun + frame({**self._head, "choices": [choice], **self._usage, **more})

    def _begin(self) -> bytes:
        self._has_begun = True
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def _created(self, event: Any) -> bytes:
        return b"" if self._has_begun else self._begin()

    def _text(self, event: events.ResponseTextDeltaEvent) -> bytes:
        text = event.delta
        if self._message not in {-1, event.output_index}:
            text = BETWEEN_MESSAGES + text
            self._length = self._size + len(BETWEEN_MESSAGES)
        if self._message == -1:
            chunk = self._chunk({"content": ""}).removesuffix(b"}\n\n")
            before, name, after = chunk.partition(b'"content":')
            self._text_head, self._text_end = before + name, after.removeprefix(b'""')
        self._message = event.output_index
        self._size += len(text)
        delta = {"content": text}
        return self._chunk(delta, logprobs=event.logprobs, padding=event.obfuscation)

    def _keepalive(self, event: events.Keepalive) -> bytes:
        return COMMENT

    def _refusal(self, event: events.ResponseRefusalDeltaEvent) -> bytes:
        return self._chunk({"refusal": event.delta})

    def _annotation(self, event: events.ResponseOutputTextAnnotationAddedEvent) -> bytes:
        found = annotations_of([event.annotation], self._length)
        return self._chunk({"annotations": found}) if found else b""

    def _thought(self, event: Any) -> bytes:
        return self._chunk({"reasoning_content": event.delta})

    def _added(self, event: events.ResponseOutputItemAddedEvent) -> bytes:
        item = event.item
        if not isinstance(item, FunctionCall | CustomToolCall):
            return b""
        index = self._calls[event.output_index] = len(self._calls)
        if isinstance(item, CustomToolCall):
            opened: Object = {"type": "custom", "custom": {"name": item.name, "input": ""}}
        elif self._view.is_legacy:
            return self._chunk({"function_call": {"name": item.name, "arguments": ""}})
        else:
            opened = {"type": "function", "function": {"name": item.name, "arguments": ""}}
        return self._chunk({"tool_calls": [{"index": index, "id": item.call_id, **opened}]})

    def _arguments(self, event: Any) -> bytes:
        if event.output_index not in self._calls:
            return b""
        self._sent.add(event.output_index)
        return self._call_delta(event.output_index, "arguments", event.delta, event.obfuscation)

    def _input(self, event: Any) -> bytes:
        if event.output_index not in self._calls:
            return b""
        self._sent.add(event.output_index)
        return self._call_delta(event.output_index, "input", event.delta, event.obfuscation)

    def _call_delta(self, place: int, name: str, text: str, padding: Any = None) -> bytes:
        kind = "function" if name == "arguments" else "custom"
        if self._view.is_legacy:
            return self._chunk({"function_call": {name: text}}, padding=padding)
        call = {"index": self._calls[place], kind: {name: text}}
        return self._chunk({"tool_calls": [call]}, padding=padding)

    def _done(self, event: events.ResponseOutputItemDoneEvent) -> bytes:
        """What the deltas of an item did not send, its end adds."""
        item = event.item
        if isinstance(item, Reasoning):
            details = detail_of(item, self._details)
            self._details += len(details)
            return self._chunk({"reasoning_details": details}) if details else b""
        if isinstance(item, Message):
            return b""
        if event.output_index not in self._calls or event.output_index in self._sent:
            return b""
        if isinstance(item, CustomToolCall):
            return self._call_delta(event.output_index, "input", item.input) if item.input else b""
        if isinstance(item, FunctionCall) and item.arguments:
            return self._call_delta(event.output_index, "arguments", item.arguments)
        return b""

    def _ended(self, event: Any) -> bytes:
        response: Response = event.response
        self.is_over = True
        self.usage = response.usage
        if (error := unanswerable(response)) is not None:
            self.error = {
                "message": error.message,
                "type": error.type,
                "param": None,
                "code": error.code,
            }
            return b""
        return self._chunk({}, reason=finish_reason(response, self._view))

    def _failed(self, event: events.ResponseFailedEvent) -> bytes:
        error = event.response.error
        self.usage = event.response.usage
        self.error = {
            "message": error.message if error else "The response failed.",
            "type": (error.type if error else None) or "server_error",
            "param": (error.param or None) if error else None,
            "code": error.code if error else "server_error",
        }
        return b""


_WRITERS: dict[type, Callable[[ChunkEncoder, Any], bytes]] = {
    events.ResponseCreatedEvent: ChunkEncoder._created,
    events.Keepalive: ChunkEncoder._keepalive,
    events.ResponseTextDeltaEvent: ChunkEncoder._text,
    events.ResponseRefusalDeltaEvent: ChunkEncoder._refusal,
    events.ResponseOutputTextAnnotationAddedEvent: ChunkEncoder._annotation,
    events.ResponseReasoningTextDeltaEvent: ChunkEncoder._thought,
    events.ResponseReasoningSummaryTextDeltaEvent: ChunkEncoder._thought,
    events.ResponseOutputItemAddedEvent: ChunkEncoder._added,
    events.ResponseOutputItemDoneEvent: ChunkEncoder._done,
    events.ResponseFunctionCallArgumentsDeltaEvent: ChunkEncoder._arguments,
    events.ResponseCustomToolCallInputDeltaEvent: ChunkEncoder._input,
    events.ResponseCompletedEvent: ChunkEncoder._ended,
    events.ResponseIncompleteEvent: ChunkEncoder._ended,
    events.ResponseFailedEvent: ChunkEncoder._failed,
}
