"""Executes the server-side tool calls of one response, in parallel.

Events go through the response's writer, which keeps the items in order. The result of a call is
durable before it is used.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from functools import partial
from typing import Any

from msgspec import UNSET

from antiphon.errors import BackendError, reportable
from antiphon.protocol.items.hosted import ImageGenerationCall
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.sources import Source
from antiphon.protocol.tool_bindings import Kind
from antiphon.recording.checkpoints import Checkpoint, ToolCallRecord
from antiphon.runs.call_records import (
    encoded_item,
    offer_of_record,
    record_of,
    record_of_item,
    restore_done,
)
from antiphon.runs.plan import RunPlan
from antiphon.runs.provenance import provenance_of
from antiphon.runs.steps import ListTools, RunTools
from antiphon.runs.tool_lists import NOT_HERE, list_tools
from antiphon.runs.tool_policy import Approved, sources_of
from antiphon.runs.tool_progress import REPORTING, as_they_end, cancel
from antiphon.sharing.offload import Offload
from antiphon.telemetry.observers import Observers, ResponseRecord, ToolUse
from antiphon.tools.base import HostedTool, ToolOutcome, Use
from antiphon.tools.registry import Toolset
from antiphon.translation.hosted_call import HostedCall, Result
from antiphon.translation.hosted_items import IN_CONTAINERS, ApprovalRequest, begin
from antiphon.translation.tool_mapping.mcp import is_repeatable, lists_in
from antiphon.translation.tool_mapping.offering import tools_of
from antiphon.translation.writer import ResponseWriter

SIDE_BY_SIDE = 32
"""Calls of one response that are executed at once; more wait."""

LARGE = 1024 * 1024
"""Characters of figures above which they are sealed in a thread."""

INTERRUPTED = (
    "The server stopped while this call was running, so its outcome is unknown: it may have been "
    "executed. It was not repeated. Check whether it took effect before you make it again."
)
UNREADABLE = HostedCall.unreadable
TOO_LATE = "The time for tools was over before the result came."
TOO_EXPENSIVE: frozenset[Kind] = frozenset({"image_generation"})
"""Tools that are too expensive to call again."""
NO_SUCH_TOOL = (
    "There is no tool of this name. Call one of those that are available, by its exact name."
)
BROKEN = "The tool failed inside this server."

CODES = {UNREADABLE: -32602, NO_SUCH_TOOL: -32602}
"""JSON-RPC's code for invalid parameters; -32603 for all other errors."""


@dataclass(slots=True)
class PendingCall:
    """A call that is being executed, and its record in the checkpoint."""

    call: HostedCall
    record: ToolCallRecord
    was_begun: bool = False
    """An earlier attempt may have executed it."""


class ToolExecutor:
    """Executes all tool calls of one response. `seen` returns the conversation so far."""

    def __init__(
        self,
        plan: RunPlan,
        writer: ResponseWriter,
        observers: Observers,
        seen: Callable[[], Sequence[InputItem]],
        offload: Offload | None = None,
    ) -> None:
        self._offload = offload
        self._request = plan.request
        self._tenant = plan.context.tenant
        self._toolset = plan.tools or Toolset()
        self._writer = writer
        self._recorder = plan.recorder
        self._observers = observers
        self._seen = seen
        self._unseal = plan.unseal
        # The time limit is for all tools of the response together, and begins with the first.
        self._until: float | None = None
        self._sources: dict[str, Source] = {}
        self._window = plan.route.target.window
        self._checkpoint = Checkpoint()
        self._turns: dict[str, asyncio.Lock] = {}
        """Calls in one container run one after the other, in the model's order."""
        self._progress = asyncio.Event()
        """Set when a running call has reported progress."""

    @property
    def is_late(self) -> bool:
        """Whether the time limit for tools has passed."""
        return self._until is not None and asyncio.get_running_loop().time() >= self._until

    async def list_tools(self, step: ListTools) -> AsyncGenerator[None, None]:
        """List the tools of the servers, all in parallel; yield whenever there may be
        events to send.
        """
        self._begin()
        lists = list_tools(step, self._toolset, self._tenant, self._writer)
        async with aclosing(lists):
            async for _ in lists:
                yield

    async def execute(
        self, telemetry: ResponseRecord, step: RunTools
    ) -> AsyncGenerator[None, None]:
        """Execute calls in parallel; yield whenever one has ended."""
        self._begin()
        # All items are opened before any call runs: their order in the output is that of the
        # model's calls, and not that of their results.
        running = [
            *map(self._pending, step.retained),
            *(self._pending(self._approved(one)) for one in step.approved),
            *self._restored(step.remaining),
        ]
        # The checkpoint has the rest of the answer, from its first unfinished call, also items that
        # are finished: a worker that continues emits them again.
        checkpoint = self._checkpoint = Checkpoint(
            calls=self._records_of(running), usage=step.usage, rounds=step.rounds
        )
        calls = [one for one in running if not one.record.is_done]
        # The events of the open items must be in the log before the checkpoint that names them.
        yield
        if not calls:
            return
        # Before the first request is sent: whatever runs when a worker dies, the next one knows
        # that it may have run.
        await self._save(checkpoint)
        self._sources = sources_of(self._seen(), self._unseal)
        # What the conversation contains before these calls: no call can extend what another
        # one may do.
        was_provided = provenance_of(self._request, self._seen(), self._unseal)
        places = asyncio.Semaphore(SIDE_BY_SIDE)
        tasks = [
            asyncio.ensure_future(self._run(telemetry, one, was_provided, places)) for one in calls
        ]
        try:
            # No task has started yet, since nothing was awaited: these events precede every result.
            # Calls that will be rejected are marked, too: that is only decided with their result.
            for one in calls:
                one.call.run()
            yield
            reports = any(one.record.kind in REPORTING for one in calls)
            # A result is durable before its event is sent, and so before a client or the model
            # can use it.
            async for is_ended in as_they_end(tasks, self._progress if reports else None):
                if is_ended:
                    await self._save(checkpoint)
                yield
        finally:
            await cancel(tasks)

    async def _save(self, checkpoint: Checkpoint) -> None:
        """Save the progress of the calls, so that a crash repeats none that can
        do harm.
        """
        if self._recorder is not None:
            await self._recorder.save_checkpoint(checkpoint)

    def _begin(self) -> None:
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + self._toolset.seconds

    # Starting calls.

    def _pending(self, call: HostedCall) -> PendingCall:
        call.joins_next = any(
            _is_call(item) for _, item in self._writer.since(call.output_index + 1)
        )
        running = PendingCall(call, record_of(call))
        if isinstance(call, ApprovalRequest):
            self._end(running, Result())
        return running

    def _approved(self, approved: Approved) -> HostedCall:
        """Begin a call that the client approved; request approval again if the tool
        has changed since.
        """
        return begin(self._writer, approved.call_id, approved.offer, approved.arguments)

    def _restored(self, remaining: Sequence[ToolCallRecord]) -> list[PendingCall]:
        """Emit the finished calls of an earlier attempt; return those that had not finished."""
        return [
            PendingCall(call, record, was_begun=True)
            for record in remaining
            if (call := self._restore(record)) is not None
        ]

    def _restore(self, record: ToolCallRecord) -> HostedCall | None:
        if not record.is_done:
            offer = offer_of_record(record, tools_of(self._request, self._seen()))
            call = begin(self._writer, record.call_id, offer, record.arguments)
            call.joins_next = record.joins_next
            return call
        restore_done(self._writer, record)
        return None

    def _records_of(self, running: Sequence[PendingCall]) -> list[ToolCallRecord]:
        """Return the records of the answer that contained these calls:
        those that were not emitted completely.
        """
        records = {one.record.index: one.record for one in running}
        first = min(records, default=0)
        for index, item in self._writer.since(first):
            if item is not None and index not in records:
                records[index] = record_of_item(self._writer, index, item)
        return [records[index] for index in sorted(records)]

    # Executing calls.

    async def _run(
        self,
        telemetry: ResponseRecord,
        one: PendingCall,
        was_provided: Callable[[str], bool],
        places: asyncio.Semaphore,
    ) -> None:
        record = one.record
        use = ToolUse(
            telemetry,
            self._tenant,
            record.name,
            "extension",
            one.call.call_id,
            record.namespace if record.kind == "mcp" else "",
            record.kind,
        )
        async with self._turn_in(one.call.container_id), places:
            for hand_over in self._observers.used:
                hand_over(use)
            try:
                result = await self._sealed_apart(one, await self._result(one, was_provided))
                use.error = BackendError("The tool failed.") if result.is_failed else None
                use.is_over = True
                use.cpu = result.cpu
                use.paused = result.paused
            finally:
                for hand_over in self._observers.returned:
                    hand_over(use)
            self._end(one, result)

    def _turn_in(self, container_id: str) -> AbstractAsyncContextManager[None]:
        """Return a context that waits until no other call of this response runs
        in the container.
        """
        return (
            self._turns.setdefault(container_id, asyncio.Lock()) if container_id else nullcontext()
        )

    async def _sealed_apart(self, one: PendingCall, result: Result) -> Result:
        """Seal large outputs in a thread."""
        apart = one.call.apart(result.fields)
        if (
            self._offload is None
            or sum(len(str(each.get("url", ""))) for each in apart.get("outputs", ())) < LARGE
        ):
            return result
        return replace_fields(
            result, apart=await self._offload.in_thread(self._tenant, self._writer.seal, apart)
        )

    def _end(self, one: PendingCall, result: Result) -> None:
        item = one.call.end(result)
        one.record.item = encoded_item(item)
        one.record.sealed = self._writer.sealed.get(str(item.id))
        one.record.is_done = True
        self._checkpoint.calls += [
            record_of_item(self._writer, index, output) for index, output in one.call.outputs
        ]

    async def _result(self, one: PendingCall, was_provided: Callable[[str], bool]) -> Result:
        kind = one.record.kind
        # At most once: a call with side effects that a dead worker may have sent is not repeated.
        if one.was_begun and not self._is_repeatable(one.record):
            return result_of(failure(kind, INTERRUPTED))
        # From here on, every failure is a result: the model reads it and can react,
        # and the response continues.
        arguments = one.call.use()
        if arguments is None:
            return result_of(failure(kind, one.call.unreadable))
        tool = one.call.offer.tool
        behind = self._toolset.of(kind)
        if tool is None or behind is None:
            # A tool that was offered before, or an invention of the model:
            # only the latter can correct itself.
            was_there = one.was_begun or one.call.offer.approval_request_id
            return result_of(failure(kind, NOT_HERE if was_there else NO_SUCH_TOOL))
        use = Use(
            tool,
            one.record.name,
            arguments,
            self._tenant,
            was_provided,
            self._sources,
            self._window,
            one.call.container_id,
            self._seen,
        )
        # Only tools that report progress read the conversation, which takes time to collect.
        if kind in REPORTING:
            use = replace_fields(
                use,
                conversation=partial(self._before, one.call),
                report=partial(self._report, one.call),
                is_stored=self._recorder is not None,
            )
        outcome = await executed(behind, kind, use, self._until)
        # The numbers by which a model cites grow with each result, so a number never
        # changes its meaning.
        first = len(self._sources)
        self._sources.update(outcome.sources)
        return result_of(outcome, first)

    def _before(self, call: HostedCall) -> Sequence[InputItem]:
        """Return the items before a call; images that are still being generated have
        no result yet.
        """
        place = call.output_index
        earlier = [
            one.index
            for one in self._checkpoint.calls
            if one.kind in REPORTING and one.index < place
        ]
        created = dict(self._writer.since(min([*earlier, place])))
        apart = {
            item.id
            for index, item in created.items()
            if item and (index in earlier or index >= place)
        }
        before = [item for item in self._seen() if getattr(item, "id", None) not in apart]
        return [*before, *(created[index] or ImageGenerationCall() for index in earlier)]  # type: ignore[list-item]

    def _report(self, call: HostedCall, fields: Mapping[str, Any]) -> None:
        call.report(fields)
        self._progress.set()

    def _is_repeatable(self, record: ToolCallRecord) -> bool:
        """Whether a call that may have been executed can safely be repeated."""
        if record.kind in TOO_EXPENSIVE:
            return False
        if record.kind != "mcp":
            return record.kind not in IN_CONTAINERS  # its code may have changed files
        listed = lists_in(self._seen()).get(record.namespace)
        return is_repeatable(
            next((each for each in listed.tools if each["name"] == record.name), None)
            if listed
            else None
        )


def _is_call(item: Any) -> bool:
    """Whether a held item is followed by a call, which is then of the same answer;
    an open item is.
    """
    return (
        item is None
        or getattr(item, "call_id", UNSET) is not UNSET
        or hasattr(item, "approval_request_id")
    )


async def executed(behind: HostedTool, kind: Kind, use: Use, until: float | None) -> ToolOutcome:
    """Execute a call, until a time of the event loop at most; every failure is a result."""
    limit = asyncio.timeout_at(until)
    try:
        async with limit:
            return await behind.run(use)
    except Exception as error:
        if limit.expired():
            return failure(kind, TOO_LATE)
        reportable(error)  # logs it; the response continues
        return failure(kind, BROKEN)


def failure(kind: Kind, message: str) -> ToolOutcome:
    """Return a result that is an error (specification section 5, MCP errors)."""
    fields: dict[str, Any] = {}
    if kind == "mcp":
        fields["error"] = {
            "type": "mcp_protocol_error",
            "code": CODES.get(message, -32603),
            "message": message,
        }
    elif kind == "image_generation":
        fields["error"] = {"type": "server_error", "message": message}
    return ToolOutcome(f"Error: {message}", fields, is_failed=True)


def result_of(outcome: ToolOutcome, first: int = 0) -> Result:
    """Return what the item of a call shows, after this many sources that can be cited."""
    return Result(
        *(outcome.fields, outcome.stated, outcome.sources, first, outcome.is_failed),
        files=outcome.files,
        cpu=outcome.cpu,
        paused=outcome.paused,
    )
