"""What a handler emits: messages, reasoning and items, each once over all attempts.

Items open one after the other, as rule 3 of the stream demands: a second message waits for the
first. An item that an earlier attempt closed is in the journal, and is not sent again; one that was
open when the attempt died is sent again, at the same output index.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from antiphon.agents.errors import over
from antiphon.agents.item_order import ItemOrder
from antiphon.agents.journal import Journal
from antiphon.agents.keys import here
from antiphon.agents.pause import ClientQuestion, RunPause
from antiphon.agents.results import checked_text, digest_of, encoded
from antiphon.history.decoding import load_item
from antiphon.history.encoding import store_item
from antiphon.ids import NewId
from antiphon.protocol.events import Event
from antiphon.protocol.items.content import Item, Status
from antiphon.protocol.tool_bindings import Offer
from antiphon.storage.records.steps import Step, StepState
from antiphon.translation.from_chat.annotations import INDEXES
from antiphon.translation.from_chat.reasoning import ReasoningState
from antiphon.translation.hosted_call import HostedCall, Result
from antiphon.translation.hosted_items import begin
from antiphon.translation.items import StreamingMessage, StreamingReasoning
from antiphon.translation.writer import ResponseWriter

MOST_WAITING = 1024 * 1024
"""Characters that a handler can write before they are stored."""

PREFIXES = {"message": "msg", "reasoning": "rs", "mcp_call": "mcp"}
"""The beginnings of ids, by the types of items."""


class MessageWriter:
    """Writes one message or one reasoning item while it is open."""

    def __init__(
        self, output: "AgentOutput", item: StreamingMessage | StreamingReasoning | None
    ) -> None:
        self._output = output
        self._item = item
        self.is_closed = False

    async def write(self, delta: str) -> None:
        """Append text. Waits while much of the response is not stored yet.

        Raises `TypeError` if it is not a text, `ValueError` if it is not valid Unicode, and
        `RuntimeError` after the end of the block or of the response.
        """
        self._check_open()
        if not checked_text(delta, "What is written") or self._item is None:
            return
        if isinstance(self._item, StreamingMessage):
            self._item.add_text(delta)
        else:
            self._item.add(delta)
        await self._output.sent(len(delta))

    async def cite(self, annotation: dict[str, Any]) -> None:
        """Annotate the text, with an annotation of the API such as a `url_citation`.

        Raises `TypeError` for reasoning, which has no annotations, and for what is no annotation;
        `RuntimeError` as `write`.
        """
        self._check_open()
        _check_annotation(annotation)
        if isinstance(self._item, StreamingReasoning):
            raise TypeError("Reasoning has no annotations.")
        if self._item is not None:
            self._item.annotate(annotation)
            await self._output.sent(0)

    def _check_open(self) -> None:
        self._output.check_open()
        if self.is_closed:
            raise RuntimeError("The item is closed: write in the block that opened it.")


class AgentOutput:
    """The output of one response.

    `announce` is called when there are events to take; `add` takes the journal's steps that are
    stored together with an item; `store` stores everything so far; `is_over` is whether the attempt
    ends, so that a later one opens its open items again; `load` returns an item of an earlier
    response.
    """

    def __init__(
        self,
        writer: ResponseWriter,
        journal: Journal,
        new_id: NewId,
        now: Callable[[], int],
        announce: Callable[[], None],
        add: Callable[[int, Sequence[str]], None],
        store: Callable[[], Awaitable[None]],
        is_over: Callable[[], bool],
        pause: RunPause,
        load: Callable[[str, int], Awaitable[Item]],
    ) -> None:
        self.is_over = is_over
        self._pause = pause
        self._load = load
        self._writer = writer
        self._journal = journal
        self._new_id = new_id
        self._now = now
        self._announce = announce
        self._add = add
        self._store = store
        self.order = ItemOrder()
        self._waiting = 0

    @asynccontextmanager
    async def message(self, key: str) -> AsyncIterator[MessageWriter]:
        """Open a message."""
        async with self._open("message", key, StreamingMessage) as opened:
            yield opened

    @asynccontextmanager
    async def reasoning(self, key: str) -> AsyncIterator[MessageWriter]:
        """Open a reasoning item."""
        async with self._open("reasoning", key, StreamingReasoning) as opened:
            yield opened

    async def emit(self, item: Item, key: str) -> Item:
        """Emit a whole item, with an id of this server; return it as it is in the response."""
        kind = str(getattr(item, "type", "message"))
        step_key, digest, found = self._find(kind, key)
        if found is not None:
            return await self._committed(found)
        async with self.order.alone():
            self._pause.check()
            own = replace(item, id=self._new_id(PREFIXES.get(kind, "item")))
            self._writer.add_item(own)
            self._close(step_key, digest)
        await self.sent(0)
        return own

    @asynccontextmanager
    async def _open(
        self, kind: str, key: str, opens: type[StreamingMessage] | type[StreamingReasoning]
    ) -> AsyncIterator[MessageWriter]:
        step_key, digest, found = self._find(kind, key)
        if found is not None:
            async with _closing(MessageWriter(self, None)) as opened:
                yield opened
            return
        await self._pause.admit()
        async with self.order.alone():
            with self._pause.working():
                item: StreamingMessage | StreamingReasoning | None = opens(self._writer)
                self._announce()
                status: Status = "completed"
                try:
                    async with _closing(MessageWriter(self, item)) as opened:
                        yield opened
                except BaseException as error:
                    status = "incomplete"
                    if self._stays_open(error):
                        item = None
                    raise
                finally:
                    if item is not None:
                        if isinstance(item, StreamingMessage):
                            item.close(status)
                        else:
                            item.close(status, ReasoningState())
                        self._close(step_key, digest)
                        self._announce()

    def emit_question(
        self, question: ClientQuestion, note: Callable[[ClientQuestion], Step]
    ) -> None:
        """Emit the item of a question, with its step."""
        self._writer.add_item(question.item)
        self._add(self._writer.newest, [note(question).key])

    # Items of a model's answer: their events are those of its own response.

    async def emit_whole(self, item: Item, key: str, sealed: str | None) -> None:
        """Emit an item that an earlier attempt received, unless that attempt emitted it."""
        digest = _digest_of(item)
        if self._journal.find(key, digest) is not None:
            return
        async with self.order.alone():
            self._seal(item, sealed)
            self._writer.add_item(item)
            self._close(key, digest)
        await self.sent(0)

    async def open_item(self, item: Item) -> int:
        """Open an item as its model's response has it; return its output index. No other item opens
        before `close_item`.
        """
        await self.order.acquire()
        index = self._writer.open_item(item)
        self._announce()
        return index

    async def pass_on(self, event: Event, output_index: int) -> None:
        """Emit an event within an item that is emitted."""
        forwarded: Any = event
        forwarded.output_index = output_index
        self._writer.emit(forwarded)
        await self.sent(len(getattr(event, "delta", "")))

    def close_item(
        self, output_index: int, item: Item, key: str, sealed: str | None, also: str
    ) -> None:
        """Close an item that is emitted; the step with the key `also` is stored with it."""
        self._seal(item, sealed)
        self._writer.close_item(output_index, item)
        now, body = self._now(), str(output_index).encode()
        self._journal.put(key, _digest_of(item), StepState.ITEM, body, now, now)
        self._add(output_index, [key, also])
        self.order.release()
        self._announce()

    # Calls: see `displayed_steps.py`.

    def open_call(self, offer: Offer, call_id: str, arguments: str) -> HostedCall:
        """Open the item of a call, within `order.with_calls`."""
        call = begin(self._writer, call_id, offer, arguments)
        call.run()
        self._announce()
        return call

    def close_call(self, call: HostedCall, key: str, result: Result | None) -> None:
        """Close the item of a call with its result; without one it was not completed."""
        if result is None:
            call.drop()
        else:
            call.end(result)
        index = max([call.output_index, *(index for index, _ in call.outputs)])
        self._note(index, key, digest_of({"kind": call.item_type}))
        self._announce()

    def is_emitted(self, key: str, kind: str) -> bool:
        """Whether an earlier attempt emitted the item of a call."""
        return self._journal.find(key, digest_of({"kind": kind})) is not None

    def _seal(self, item: Item, sealed: str | None) -> None:
        if sealed is not None:
            self._writer.sealed[str(getattr(item, "id", ""))] = sealed

    def _find(self, kind: str, key: str) -> tuple[str, bytes, Step | None]:
        step_key = here().key(key or kind)
        digest = digest_of({"kind": kind})
        return step_key, digest, self._journal.find(step_key, digest)

    def _close(self, key: str, digest: bytes) -> None:
        """Note the newest item in the journal, stored in the same transaction as the item."""
        self._note(self._writer.newest, key, digest)

    def _note(self, index: int, key: str, digest: bytes) -> None:
        now, body = self._now(), str(index).encode()
        self._journal.put(key, digest, StepState.ITEM, body, now, now)
        self._add(index, [key])

    async def _committed(self, step: Step) -> Item:
        index = int(step.body)
        owner = self._journal.owner_of(step)
        return await self._load(owner, index) if owner else self._writer.output[index]

    def _stays_open(self, error: BaseException) -> bool:
        """Whether a later attempt opens the item again that an error leaves."""
        is_stopped = self.is_over() and not isinstance(error, Exception)
        return is_stopped or self._journal.is_closed

    def check_open(self) -> None:
        """Raise `RuntimeError` after the end of the attempt."""
        if self._journal.is_closed:
            raise over()

    async def sent(self, characters: int) -> None:
        """Announce events; wait for the store if it is far behind."""
        self._announce()
        self._waiting += characters
        if self._waiting > MOST_WAITING:
            self._waiting = 0
            await self._store()


def _check_annotation(annotation: Any) -> None:
    encoded(annotation, "the annotation")
    fields = annotation if isinstance(annotation, dict) else {INDEXES[0]: None}
    if any(type(fields.get(name, 0)) is not int for name in INDEXES):
        raise TypeError(
            "An annotation is a dictionary such as a url_citation, with whole numbers as indexes."
        )


@asynccontextmanager
async def _closing(writer: MessageWriter) -> AsyncIterator[MessageWriter]:
    try:
        yield writer
    finally:
        writer.is_closed = True


def checked_item(item: Item) -> None:
    """Raise `TypeError` or `ValueError` for an item that could not be read again."""
    encoded(item, "the item")
    try:
        load_item(store_item(item))
    except msgspec.ValidationError as error:
        raise ValueError(f"The item is invalid: {error}.") from None


def _digest_of(item: Item) -> bytes:
    return digest_of({"kind": str(getattr(item, "type", "message"))})
