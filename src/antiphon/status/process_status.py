"""The status of this process, and of all processes of a port with the store that they share."""

from collections.abc import Callable, Sequence, Sized
from typing import Any

from msgspec.structs import replace

from antiphon.history.bounds import Bounds
from antiphon.sharing.resources import SharedResources
from antiphon.status.code_status import CodeStatus
from antiphon.status.status import Status, profiles_of, status_of, together
from antiphon.status.storage_status import agents_status, running_containers, storage_status
from antiphon.status.upkeep import Upkeep
from antiphon.storage.store import Store
from antiphon.upstream.registry import ModelRegistry

CODE_FIELDS = frozenset(CodeStatus.__struct_fields__) - {"containers"}
"""The fields that the state of a sandbox has too."""


class ProcessStatus:
    """The state of this process.

    `runs` has its running responses; `code_state` returns the state of its sandbox.
    """

    def __init__(
        self,
        models: ModelRegistry,
        runs: Sized,
        shared: SharedResources,
        upkeep: Upkeep,
        code_state: Callable[[], object | None],
        store: Store,
        bounds: Bounds,
    ) -> None:
        self._models = models
        self._runs = runs
        self._shared = shared
        self._upkeep = upkeep
        self._code_state = code_state
        self._store = store
        self._bounds = bounds

    def here(self) -> Status:
        """Return the state of this process's backends and shared resources."""
        return status_of(
            self._models,
            len(self._runs),
            self._shared.usage(),
            self._upkeep.clock_skew,
            self._upkeep.purge_held,
            disk_full=self._upkeep.is_disk_full,
            older_failovers=self._upkeep.older_failovers,
            code=self.code(),
        )

    async def of_all(self, others: Sequence[Status]) -> Status:
        """Return the state of this process and of others as one, with the store that they share."""
        storage = await storage_status(self._store, self._bounds)
        status = together([self.here(), *others])
        code = status.code and replace(
            status.code, containers=await running_containers(self._store)
        )
        agents = await agents_status(self._store)
        return replace(status, storage=storage, code=code, agents=agents)

    def profiles(self) -> list[dict[str, Any]]:
        """Return the known facts about each model at each backend."""
        return profiles_of(self._models)

    def code(self) -> CodeStatus | None:
        """Return the state of this process's sandbox; None if none is configured."""
        state = self._code_state()
        return (
            None
            if state is None
            else CodeStatus(**{name: getattr(state, name) for name in CODE_FIELDS})
        )
