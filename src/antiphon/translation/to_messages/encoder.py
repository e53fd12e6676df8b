"""Writes the events of a response as a Messages stream.

```text
stream   = message_start  { ping | block }  message_delta  message_stop
block(i) = content_block_start(i)  { content_block_delta(i) | ping }  content_block_stop(i)      i = 0, 1, 2 …
failed   = a prefix of stream, then error
```

Items of a response can be open at the same time, and blocks cannot: the events of later items wait
until the first one is done.
"""  # noqa: E501 - a table, a diagram or an example

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from antiphon.errors import AntiphonError
from antiphon.protocol import events
from antiphon.protocol.events import Event
from antiphon.protocol.messages.errors import Size, error_body, event_error
from antiphon.protocol.response import Response
from antiphon.translation.to_messages.blocks import Blocks
from antiphon.translation.to_messages.frames import (
    ENDS,
    MESSAGE_STOP,
    MOST_PADDING,
    PING,
    BlockFrames,
    frame,
)
from antiphon.translation.to_messages.message import (
    alongside,
    container_field,
    empty_message,
    ending_of,
    estimated_usage,
    usage_of,
)
from antiphon.translation.to_messages.open_items import OPEN, OpenItem, OpenMessage

_encode = msgspec.json.Encoder().encode
_TEXT_DELTA = events.ResponseTextDeltaEvent


class MessagesEncoder:
    """Encodes the events of one response, in batches of any size.

    `model` is the name that the client used, `tokens` the estimated size of the prompt,
    `request_id` that of the HTTP request, for errors. Set `stop_sequence` and `is_window_full`
    before the last event if the run knows them, and `size` for an error of a prompt that is too
    long.
    """

    def __init__(self, blocks: Blocks, model: str, tokens: int, request_id: str) -> None:
        self.stop_sequence: str | None = None
        """The stop sequence before which the run ended the text."""
        self.is_window_full = False
        """Whether the answer filled the window of the model."""
        self.size: Size | None = None
        """How long the prompt is, and how long it can be."""
        self.diagnostics: Callable[[], Mapping[str, Any] | None] | None = None
        """Returns why the prompt cache missed, if the request asks for it."""
        self.is_over = False
        """Whether the stream has ended."""
        self._blocks = blocks
        self._model = model
        self._tokens = tokens
        self._request_id = request_id
        self._frames = BlockFrames()
        self._has_started = False
        self._index = -1
        """The output index of the open item."""
        self._item: OpenItem | None = None
        self._waiting: dict[int, list[Any]] = {}
        """Events of later items, by output index."""

    def encode(self, batch: Sequence[Event]) -> bytes:
        """Return events as bytes, which can be none."""
        pending = self._frames.pending
        for event in batch:
            # A text is most of a stream, so its deltas pass through no function of ours.
            item = self._item
            if (
                type(event) is _TEXT_DELTA
                and type(item) is OpenMessage
                and item.head
                and event.output_index == self._index
            ):
                if event.delta:
                    obfuscation = event.obfuscation
                    end = ENDS[len(obfuscation) & MOST_PADDING] if obfuscation else ENDS[0]
                    pending.append(item.head + _encode(event.delta) + end)
            elif not self.is_over:
                self._feed(event)
        return self._frames.take()

    def fail(self, error: AntiphonError) -> bytes:
        """Return the `error` event that ends the stream."""
        self._end_with(error_body(error, self._request_id, self.size))
        return self._frames.take()

    def _feed(self, event: Any) -> None:
        if isinstance(event, events.ItemEvent):
            self._feed_item(event)
        elif (handle := _HANDLERS.get(type(event))) is not None:
            handle(self, event)

    # Items.

    def _feed_item(self, event: Any) -> None:
        index = event.output_index
        if self._item is None and index > self._index:
            self._open(index, event)
        elif index != self._index or self._item is None:
            self._waiting.setdefault(index, []).append(event)
            return
        item = self._item
        if item is None:
            return
        if isinstance(event, events.ResponseOutputItemDoneEvent):
            item.close(event.item)
            self._item = None
            self._resume()
        else:
            item.feed(event)

    def _open(self, index: int, event: Any) -> None:
        added = event.item if isinstance(event, events.ResponseOutputItemAddedEvent) else None
        done = event.item if isinstance(event, events.ResponseOutputItemDoneEvent) else None
        kind = OPEN.get(type(added if added is not None else done), OpenItem)
        self._index, self._item = index, kind(self._blocks, self._frames)
        if added is not None:
            self._item.begin(added)

    def _resume(self) -> None:
        """Write the events of the next item that waits, and of those after it that are complete."""
        while self._item is None and self._waiting:
            index = min(self._waiting)
            waiting = self._waiting.pop(index)
            if index <= self._index:
                continue  # an item that was done before
            for event in waiting:
                self._feed_item(event)

    # The message.

    def _start(self, event: Any) -> None:
        if self._has_started:
            return
        self._has_started = True
        response: Response = event.response
        message = {
            **empty_message(response, self._model, estimated_usage(self._tokens)),
            **({} if self.diagnostics is None else {"diagnostics": self.diagnostics()}),
            **alongside(response, self._blocks.view),
        }
        self._frames.pending += (
            frame("message_start", {"type": "message_start", "message": message}),
            PING,
        )

    def _ping(self, event: Any) -> None:
        if self._has_started:
            self._frames.pending.append(PING)

    def _finish(self, event: Any) -> None:
        response: Response = event.response
        if response.status == "cancelled":
            self._end_with(
                event_error(
                    {"message": "The response was cancelled.", "code": "server_error"},
                    self._request_id,
                )
            )
            return
        self._start(event)
        self._close_rest(response)
        view = self._blocks.view
        ending = ending_of(response, view, self.stop_sequence, is_window_full=self.is_window_full)
        value = {
            "type": "message_delta",
            "delta": {**ending.fields(), **container_field(response)},
            "usage": usage_of(response.usage, response.output),
            **alongside(response, view),
        }
        self._frames.pending += (frame("message_delta", value), MESSAGE_STOP)
        self.is_over = True

    def _close_rest(self, response: Response) -> None:
        """Close what is still open, with the items of the response: an answer can end before
        them.
        """
        while self._item is not None or self._waiting:
            if self._item is not None and self._index < len(response.output):
                self._item.close(response.output[self._index])
            self._frames.stop()
            self._item = None
            self._resume()

    def _fail_by_event(self, event: Any) -> None:
        self._end_with(event_error(event.error, self._request_id, self.size))

    def _fail(self, event: Any) -> None:
        error = event.response.error
        body = {} if error is None else {"message": error.message, "code": error.code}
        self._end_with(event_error(body, self._request_id, self.size))

    def _end_with(self, body: dict[str, Any]) -> None:
        if not self.is_over:
            self._frames.pending.append(frame("error", body))
            self.is_over = True
            self._item = None


_HANDLERS: dict[type, Callable[[MessagesEncoder, Any], None]] = {
    **dict.fromkeys(
        (events.ResponseCreatedEvent, events.ResponseQueuedEvent, events.ResponseInProgressEvent),
        MessagesEncoder._start,
    ),
    events.Keepalive: MessagesEncoder._ping,
    events.ResponseErrorEvent: MessagesEncoder._fail_by_event,
    events.ResponseFailedEvent: MessagesEncoder._fail,
    events.ResponseCompletedEvent: MessagesEncoder._finish,
    events.ResponseIncompleteEvent: MessagesEncoder._finish,
}
"""What becomes of the events that belong to no item."""
