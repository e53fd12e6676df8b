"""Checkpoints of a graph in the journal of a response.

A response has few checkpoints, so they are in memory too: what is written is what LangGraph passes,
and a later attempt passes it again. Values of channels are written with the checkpoint that
changed them.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from antiphon.agents.records import Record, Records

THREAD = "response"
CONFIG: dict[str, Any] = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}
"""The one thread of a response."""


Saved = Callable[[Mapping[str, Any]], Awaitable[None]]


class JournalSaver(InMemorySaver):
    """The checkpoints of one response. `saved` is called with the changed values of each
    checkpoint of the graph itself, when it is stored.
    """

    def __init__(self, records: Records, saved: Saved) -> None:
        super().__init__()
        self._records = records
        self._saved = saved

    def begin_with(self, state: Record) -> Mapping[str, Any]:
        """Begin with the state of the last response in the chain; return its values."""
        checkpoint, metadata = self.serde.loads_typed((state.format, state.data))
        self.put(CONFIG, checkpoint, metadata, checkpoint["channel_versions"])
        values: Mapping[str, Any] = checkpoint["channel_values"]
        return values

    async def restore(self) -> bool:
        """Take the checkpoints of earlier attempts; return whether there were any."""
        found = await self._records.load()
        for record in found:
            kind, *values = self.serde.loads_typed((record.format, record.data))
            if kind == "writes":
                self.put_writes(*values)
            else:
                config, checkpoint, *_ = values
                self.put(*values)
                await self._report(config, checkpoint["channel_values"])
        return bool(found)

    def state(self) -> Record:
        """Return the newest checkpoint, for the next response in the chain."""
        newest = self.get_tuple(CONFIG)
        assert newest is not None  # noqa: S101 - a graph that ran has one
        return Record(*self.serde.dumps_typed((newest.checkpoint, newest.metadata)))

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """See `BaseCheckpointSaver`."""
        values = checkpoint["channel_values"]
        changed = {name: values[name] for name in new_versions if name in values}
        small = {**checkpoint, "channel_values": changed}
        place = self.put(config, checkpoint, metadata, new_versions)
        await self._record("checkpoint", _place(config), small, dict(metadata), dict(new_versions))
        await self._report(config, changed)
        return place

    async def aput_writes(
        self, config: Any, writes: Any, task_id: str, task_path: str = ""
    ) -> None:
        """See `BaseCheckpointSaver`."""
        self.put_writes(config, writes, task_id, task_path)
        await self._record("writes", _place(config), list(writes), task_id, task_path)

    async def _report(self, config: Any, changed: Mapping[str, Any]) -> None:
        if not config["configurable"].get("checkpoint_ns"):  # that of a graph within it
            await self._saved(changed)

    async def _record(self, *values: Any) -> None:
        await self._records.add(Record(*self.serde.dumps_typed(list(values))))


def _place(config: Any) -> dict[str, Any]:
    """Return what a checkpoint needs of a configuration; the rest is objects of a run."""
    names = ("thread_id", "checkpoint_ns", "checkpoint_id")
    found = config["configurable"]
    return {"configurable": {name: found[name] for name in names if name in found}}
