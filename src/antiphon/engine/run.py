"""Performs what `turn.py` decides: awaits the backend and the store, and hands out events as they are made.

A streamed request, a plain one and an embedded call all go through `Run.events`; a plain request is a stream whose
events nobody looks at, so the two cannot disagree.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins
from msgspec.structs import replace

from antiphon.engine.asking import ModelCaller
from antiphon.engine.caching.cache import Lookup, Outcome
from antiphon.engine.caching.kept import retell
from antiphon.engine.called import Called, Work
from antiphon.engine.history import WITH_STATE, Context, store_item
from antiphon.engine.hosted import settled
from antiphon.engine.keeping import Keeper, stored_output
from antiphon.engine.observers import Call, ToolUse
from antiphon.engine.opening import opener
from antiphon.engine.response import open_response, view_of
from antiphon.engine.routing.backend_state import Target
from antiphon.engine.routing.router import Route
from antiphon.engine.sealer import mark_of
from antiphon.engine.steps import AskAside, CallModel, Compact, Finish, ListTools, RunTools, Settle, Step, Tell
from antiphon.engine.turn import Turn
from antiphon.engine.using import Using
from antiphon.errors import AntiphonError, reportable
from antiphon.protocol.events import Event
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import ID_PREFIXES
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response, Usage
from antiphon.protocol.validation.call_rules import open_calls
from antiphon.storage.contract import StoredItem
from antiphon.translation.from_chat.answer import conclude
from antiphon.translation.from_chat.reader import Ending
from antiphon.translation.items import StreamingCompaction
from antiphon.translation.to_chat.estimate import asked_tokens, tokens_of
from antiphon.translation.writer import ResponseWriter

if TYPE_CHECKING:
    from antiphon.engine.engine import Engine


class Steered(Exception):  # noqa: N818 - the client wants to say something; nothing went wrong
    """The response stops short, for another to follow it (specification section 8)."""


@dataclass(frozen=True, slots=True)
class TakenUp:
    """What there is already of a response that was begun elsewhere, or queued."""

    created_at: int
    kept: Sequence[Item]
    sealed: Mapping[str, str]
    next_number: int
    begins: bool
    """Nobody was told yet that it is in progress."""
    work: Work = field(default_factory=Work)
    """How far it had come with this server's tools."""

    @property
    def stands(self) -> bool:
        """Whether all that was made stands, up to the end of an answer, and the model is not asked for it again."""
        return bool(self.work.calls) and self.work.calls[-1].index + 1 >= len(self.kept)

    @property
    def settled(self) -> int:
        """How many of the items are not made again."""
        return len(self.kept) if self.stands else settled(self.kept)

    @property
    def left(self) -> Sequence[Called] | None:
        """What is still to be told of that answer; None where it is not at that."""
        return [one for one in self.work.calls if one.index >= len(self.kept)] if self.stands else None


class Run:
    """One response being made. Iterate `events`, or await `result`; once, and one of the two."""

    def __init__(
        self,
        engine: "Engine",
        request: CreateResponse,
        context: Context,
        route: Route,
        keeper: Keeper,
        response_id: str,
        taken_up: TakenUp | None = None,
        ignored: Sequence[str] = (),
        lookup: Lookup | None = None,
    ) -> None:
        self._engine = engine
        self._keeper = keeper
        self._lookup = lookup
        self.context = context
        self.is_background = taken_up is not None
        self.is_resumed = taken_up is not None and not taken_up.begins
        self.is_stream = bool(request.stream)
        self.ignored_tools = ignored
        """Types of tools that the model is not offered, since only a server can run them."""
        self._is_started = False
        self._is_over = False
        self._is_handed_on = False
        """It was left before its end, and is to be made by another."""
        self._task: asyncio.Task[Any] | None = None
        self._is_stopped = False
        """The task that iterates was cancelled from here."""
        self._stopped: AntiphonError | None = None
        self._is_steered = False
        self._is_told = False
        """What was made is being told, by who iterates: this task does not wait for anything here."""
        created_at = taken_up.created_at if taken_up else int(engine.now())
        self._writer = ResponseWriter(
            response=open_response(request, response_id, created_at),
            new_id=engine.new_id,
            now=engine.now,
            seal=lambda state: engine.keyring.seal({**mark_of(route.target), **state}, context.tenant),
            view=view_of(request),
        )
        self._equip(engine, request, route, taken_up)
        self._compaction: StreamingCompaction | None = None
        if taken_up is not None:
            self._take_up(taken_up)

    def _equip(self, engine: "Engine", request: CreateResponse, route: Route, taken_up: TakenUp | None) -> None:
        """Give it who decides, who asks, and who uses this server's tools.

        Nothing of these refers back to the run: all of a request is gone when it ends, without the collector.
        """
        context, writer, toolset, observers = self.context, self._writer, engine.toolset, engine.observers
        unseal = opener(engine.keyring, context.tenant, refuses=engine.strict_seals)
        items = context.items
        left, work = (taken_up.left, taken_up.work) if taken_up else (None, None)

        def made() -> list[Any]:
            return [_with_state(item, writer.sealed) for item in writer.made]

        def seen() -> list[Any]:
            return [*items, *made()]

        self._turn = Turn(request, context, route.target, made, unseal, toolset, left, work)
        self._using = Using(request, context.tenant, toolset, writer, self._keeper, observers, seen, unseal)
        self._asking = ModelCaller(request, context, self._turn, writer, route, observers, toolset.served)

    def _take_up(self, taken_up: TakenUp) -> None:
        self._is_started = True
        self._writer.resume(taken_up.kept, taken_up.next_number, taken_up.settled)
        self._writer.sealed.update(taken_up.sealed)
        if taken_up.begins:
            self._writer.begin()

    @property
    def sealed(self) -> Mapping[str, str]:
        """Each reasoning item's `encrypted_content` so far, by the item's id."""
        return self._writer.sealed

    @property
    def output(self) -> Sequence[Item]:
        """The items that are done."""
        return self._writer.output

    @property
    def response(self) -> Response:
        """The response as it stands."""
        return self._writer.response

    async def result(self) -> Response:
        """Make the response and return it. Raises `AntiphonError` where it failed."""
        self._writer.is_heard = self.is_stream or self._lookup is not None
        async with aclosing(self.events()) as batches:
            async for _ in batches:
                pass
        return self._writer.response

    def pulse(self) -> list[Event]:
        """Return what to send when the stream was silent for a while: that it began, or that it lives."""
        if self._is_over:
            return []
        if not self._start():
            self._writer.keepalive()
        return self._told()

    @property
    def model(self) -> str:
        """The model that is asked, by the name that clients know."""
        return self._target.name

    @property
    def backend(self) -> str:
        """What clients are told of the backend that is asked, or that answered."""
        return self.target.state.label

    @property
    def cache(self) -> Outcome | None:
        """What the cache was to this response; None where it has no part in it, or is still being asked."""
        return self._lookup.outcome if self._lookup else None

    @property
    def similarity(self) -> float | None:
        """How much the question that was answered is like this one (cosine), where it is not the same."""
        return self._lookup.similarity if self._lookup else None

    @property
    def target(self) -> Target:
        """Where the model is that is asked, or that answered."""
        return (self._lookup.target if self._lookup else None) or self._target

    @property
    def _target(self) -> Target:
        return self._asking.target

    def spent(self) -> tuple[int, int]:
        """Return the tokens in and out that it took: as they were reported, else as many as the texts look like."""
        usage = self._turn.own_usage or Usage()
        output = 0 if self._turn.own_usage else tokens_of({"messages": to_builtins(self._writer.output)}, priming=0)
        unreported = self._asking.uncounted
        if not unreported:
            return usage.input_tokens, usage.output_tokens
        return usage.input_tokens + sum(map(asked_tokens, unreported)), usage.output_tokens + output

    @property
    def is_over(self) -> bool:
        """Whether it is decided how the response ends."""
        return self._is_over

    @property
    def outcome(self) -> str:
        """What became of it, once that is over: its status, `queued` where it is to be made by another.

        `refused` where the client got an error in its place.
        """
        if self._is_handed_on:
            return "queued"
        status = self._writer.response.status
        return "refused" if status == "in_progress" else status

    @property
    def legacy(self) -> list[StoredItem]:
        """Everything that a response which follows this one begins with, as it is kept."""
        return [*map(store_item, self.context.items), *stored_output(self._writer.response, self._writer.sealed)]

    def tell(self, event: Event) -> list[Event]:
        """Put an event of who asked for the response into its stream; return what to send now."""
        self._writer.emit(event)
        return self._told()

    def leave_out_error(self) -> None:
        """Tell a failure by `response.failed` alone."""
        self._writer.tells_error = False

    def warm_up(self) -> None:
        """Ask no model: the response ends at once."""
        self._start()
        self._turn.answered(Ending("completed", None))

    def steer(self) -> None:
        """Stop short as soon as nothing is torn: at once in a text or in reasoning, not at all once a call began."""
        self._is_steered = True
        if not (self._is_told or self._is_over or self._has_calls):
            self._cancel()

    def stop(self, error: AntiphonError) -> None:
        """Have the response fail with this error, as soon as possible."""
        self._stopped = error
        self._cancel()

    def _cancel(self) -> None:
        if self._task is not None:
            self._is_stopped = True
            self._task.cancel()

    async def events(self) -> AsyncGenerator[list[Event], None]:
        """Make the response; give its events in batches as they come. The last batch is given once it is durable.

        Raises `AntiphonError` as long as no event was given, afterwards every failure is told by events. A plain
        request gives no event before it is known to succeed. Closing the iterator early ends the backend's work.
        """
        self._task = asyncio.current_task()
        self._engine.runs.add(self)
        self._engine.observers.began(self)
        try:
            try:
                if self._writer.has_pending:
                    self._is_told = True
                    yield self._told()
                    self._is_told = False
                if (found := await self._find()) is None:
                    self._asking.choose()
                while not isinstance(step := found or self._turn.next(), Finish):
                    if not isinstance(step, CallModel | AskAside | ListTools | RunTools):
                        self._perform(step)
                        yield self._told()
                        continue
                    work = self._ask(step) if isinstance(step, CallModel | AskAside) else self._use(step)
                    async with aclosing(work) as batches:
                        async for batch in batches:
                            self._is_told = True
                            yield batch
                            self._is_told = False
            except asyncio.CancelledError:
                if not self._is_stopped or self._task is None or self._task.uncancel():
                    raise
                self._fail(self._stopped) if self._stopped else self._cut()
            except Steered:
                self._cut()
            except Exception as error:
                self._fail(error)
            else:
                self._conclude(step)
            yield await self._end()
        finally:
            self._engine.runs.discard(self)
            if self._lookup is not None:
                self._lookup.leave()
            try:
                if not self._is_over:
                    await self._give_up()
            finally:
                self._turn.close()
                self._engine.observers.ended(self)

    def _told(self) -> list[Event]:
        """Return the events that go out now."""
        batch = self._taken()
        self._keeper.see(batch)
        return batch

    def _taken(self) -> list[Event]:
        batch = self._writer.take()
        if self._lookup is not None:
            self._lookup.see(batch)
        return batch

    async def _find(self) -> Finish | None:
        """Tell the answer that is kept, where there is one: then that was all."""
        kept = await self._lookup.find() if self._lookup else None
        if kept is None:
            return None
        self.ignored_tools = kept.ignored_tools
        if self.is_stream:
            self._start()
        retell(kept, self._writer)
        return Finish(Ending("completed", kept.usage))

    def _cut(self) -> None:
        """What was open is closed as incomplete already."""
        self._start()
        conclude(self._writer, Ending("steered", self._turn.usage))

    @property
    def _has_calls(self) -> bool:
        return self._asking.has_calls or bool(self._writer.waiting or open_calls(self._writer.output))

    def _check_steered(self) -> None:
        if self._is_steered and not self._has_calls:
            raise Steered

    def _fail(self, error: Exception) -> None:
        if not self._is_started:
            raise error
        self._writer.fail(reportable(error), self._turn.usage)

    def _perform(self, step: Step) -> None:
        """Do what the turn decided, where no model is asked."""
        match step:
            case Tell(item):
                use = ToolUse(self, "tool_search", "datastore")
                self._engine.observers.used(use)
                item = replace(item, id=self._writer.new_id(ID_PREFIXES[type(item)]))
                self._writer.close_item(self._writer.open_item(replace(item, status="in_progress")), item)
                self._engine.observers.returned(use)
            case Settle(call, text):
                call.settle(text)
            case Compact(summary):
                self._end_compaction(summary)

    def _end_compaction(self, summary: str) -> None:
        compaction = self._compaction or StreamingCompaction(self._writer)
        compaction.close(self._engine.keyring.seal({"summary": summary}, self.context.tenant))

    async def _ask(self, step: CallModel | AskAside) -> AsyncGenerator[list[Event], None]:
        """Have the backend asked; give what there is to tell meanwhile."""
        try:
            answer = await self._asking.open(step, partial(Call, self))
            if answer is not None:
                self.ignored_tools = answer.ignored_tools
                self._answering(step)
            while answer is not None:
                if self._writer.has_pending:
                    yield self._told()
                self._check_steered()
                answer = await self._asking.read(answer)
        finally:
            await self._asking.close()

    async def _use(self, step: ListTools | RunTools) -> AsyncGenerator[list[Event], None]:
        """Have this server's own tools used; give what there is to tell meanwhile."""
        if self.is_stream:
            self._start()
        work = self._using.look(step) if isinstance(step, ListTools) else self._using.carry_out(self, step)
        async with aclosing(work) as moments:
            async for _ in moments:
                if self._writer.has_pending:
                    yield self._told()
        if self._using.is_late:
            self._turn.is_late()

    def _answering(self, step: CallModel | AskAside) -> None:
        """A backend is at it: from now on a stream is a stream, and what is folded away is being so."""
        if self.is_stream:
            self._start()
        if isinstance(step, AskAside) and step.compacts:
            self._compaction = self._compaction or StreamingCompaction(self._writer)

    def _start(self) -> bool:
        """Say that the response began, unless that was said; return whether it was said now."""
        if self._is_started:
            return False
        self._is_started = True
        self._writer.start()
        return True

    def _conclude(self, step: Finish) -> None:
        if step.ending.error is not None and not (self.is_stream or self._is_started):
            raise step.ending.error
        conclude(self._writer, step.ending)

    async def _end(self) -> list[Event]:
        """Make the response durable, then tell its end."""
        self._is_over = True  # from now on nothing comes between
        before, number = self._taken(), self._writer.next_number
        self._writer.end()
        batch = before + self._writer.take()
        try:
            await self._keeper.keep(self._writer.response, self._writer.sealed, batch)
        except AntiphonError as error:
            await self._keeper.drop()
            if not self._is_started:
                raise
            self._writer.rewind(number)
            self._writer.fail(error, self._writer.response.usage)
            self._writer.end()
            return before + self._writer.take()
        if self._lookup is not None:
            await self._lookup.end(self._writer.response, self._writer.sealed, self._target, self.ignored_tools)
        return batch

    async def _give_up(self) -> None:
        """The client went away, or nothing came of it: keep what there is, as cancelled."""
        self._is_over = True
        if not self._is_started or self._writer.response.status != "in_progress":
            await self._keeper.drop()
            return
        self._writer.cancel(self._turn.usage)
        self._is_handed_on = not await self._keeper.leave(self._writer.response, self._writer.sealed)


def _with_state(item: Item, sealed: Mapping[str, str]) -> Item:
    """Return an item with what is sealed with it, whether or not the client sees that."""
    blob = sealed.get(str(item.id)) if isinstance(item, WITH_STATE) else None
    return replace(item, encrypted_content=blob) if blob else item
