"""The steps of a response that this server performs itself: its tools, and items and calls
that no model finished.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from antiphon.access.keyring import Keyring
from antiphon.history.decoding import WITH_STATE
from antiphon.protocol.items.messages import ID_PREFIXES
from antiphon.runs.plan import RunPlan
from antiphon.runs.steps import (
    Compact,
    EmitItem,
    ListTools,
    LoadModules,
    RunTools,
    Settle,
    SkipCompaction,
    Step,
)
from antiphon.runs.tool_calls import ToolExecutor
from antiphon.runs.turn import Turn
from antiphon.sharing.loading import load_if_installed
from antiphon.sharing.offload import Offload
from antiphon.telemetry.observers import Observers, ResponseRecord, ToolUse
from antiphon.translation.items import StreamingCompaction
from antiphon.translation.writer import ResponseWriter


class ServerSteps:
    """Performs them for one response, one after the other.

    begin(step) ──> proceed() as long as it returns True ──> close()
    """

    def __init__(
        self,
        plan: RunPlan,
        turn: Turn,
        writer: ResponseWriter,
        record: ResponseRecord,
        observers: Observers,
        keyring: Keyring,
        offload: Offload,
    ) -> None:
        self._offload = offload
        self._plan = plan
        self._turn = turn
        self._writer = writer
        self._record = record
        self._observers = observers
        self._keyring = keyring
        self._executor: ToolExecutor | None = None
        self._moments: AsyncGenerator[None, None] | None = None
        """The running server-side tools."""
        self._compaction: StreamingCompaction | None = None

    async def begin(self, step: Step) -> None:
        """Begin a step; a step that awaits nothing is completed at once."""
        if isinstance(step, LoadModules):
            for name in step.names:
                await load_if_installed(name)  # without them, answers are not repaired
            return
        if not isinstance(step, ListTools | RunTools):
            self._perform(step)
            return
        executor = self._executor = self._executor or self._new_executor()
        if isinstance(step, ListTools):
            self._moments = executor.list_tools(step)
        else:
            self._moments = executor.execute(self._record, step)
        await self.proceed()

    async def proceed(self) -> bool:
        """Continue with the tools until there may be events to send; return whether
        more work remains.
        """
        if self._moments is None:
            return False
        async for _ in self._moments:
            return True
        self._moments = None
        if self._executor is not None and self._executor.is_late:
            self._turn.is_late()
        return False

    async def close(self) -> None:
        """Cancel the tools that are still running."""
        moments = self._moments
        self._moments = None
        if moments is not None:
            await moments.aclose()

    def begin_compaction(self) -> None:
        """Announce the compaction, unless that was done: the model is summarizing now."""
        self._compaction = self._compaction or StreamingCompaction(self._writer)

    def _new_executor(self) -> ToolExecutor:
        plan = self._plan
        writer = self._writer
        items = self._plan.items
        return ToolExecutor(
            plan, writer, self._observers, lambda: [*items, *created_items(writer)], self._offload
        )

    def _perform(self, step: Step) -> None:
        """Perform the turn's decision, if it awaits nothing."""
        match step:
            case EmitItem(item):
                use = ToolUse(self._record, self._record.tenant, "tool_search", "datastore")
                for hand_over in self._observers.used:
                    hand_over(use)
                item = replace(item, id=self._writer.new_id(ID_PREFIXES[type(item)]))
                self._writer.close_item(
                    self._writer.open_item(replace(item, status="in_progress")), item
                )
                for hand_over in self._observers.returned:
                    hand_over(use)
            case Settle(retained, text, note):
                retained.settle(text)
                if note is not None:
                    self._writer.notes.append(note)
            case SkipCompaction():
                self._record.skipped_compactions += 1
            case Compact(summary):
                compaction = self._compaction or StreamingCompaction(self._writer)
                compaction.close(
                    self._keyring.seal({"summary": summary}, self._plan.context.tenant)
                )


def created_items(writer: ResponseWriter) -> Sequence[Any]:
    """Return the items of a response so far, each with its sealed content, whether or not the
    client receives that.
    """
    return [_with_state(item, writer.sealed) for item in writer.created]


def _with_state(item: Any, sealed: Mapping[str, str]) -> Any:
    """Return an item with its sealed content, whether or not the client receives that."""
    blob = sealed.get(str(item.id)) if isinstance(item, WITH_STATE) else None
    return replace(item, encrypted_content=blob) if blob else item
