"""Keeps the profiles of models and the lessons about them up to date: reads them from the store,
and starts probes.

`poll_once` runs every half minute, so a server uses the results of `antiphon models probe` and of
other processes. The store announces changes of lessons, which are followed within seconds. A
profile is no longer used once its model has another digest. With `probe = "auto"` a model that is
in use and has no profile is probed while its backend is idle.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from antiphon.errors import BackendError, StoreError, log
from antiphon.ids import Clock
from antiphon.jobs.lessons import store_new, synchronise
from antiphon.periodic import Periodic
from antiphon.storage.changes import LESSONS
from antiphon.storage.operations import profiles
from antiphon.storage.records.profiles import StoredProfile
from antiphon.storage.store import Store
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.upstream.backend import Backend, place_of
from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.probing.measurement import Measurement, decode, summary
from antiphon.upstream.registry import ModelRegistry

POLL_INTERVAL = 30.0
"""Seconds between two reads of the store."""

FOLLOW_AFTER = 1.0
"""Seconds from a change of the lessons in the store until they are read: several are read at once.
"""

CHECK_EVERY = 300.0
"""Seconds between two checks whether a model has changed since it was probed."""

LONGEST_PROBE = 3600
"""Seconds after which another process's probing counts as abandoned."""

TRY_AGAIN = 600.0
"""Seconds after which a probing that failed, or found its backend busy, is retried."""

Key = tuple[str, str]
"""The name of a backend, and its name for the model."""


async def store_measurement(
    store: Store, backend: Backend, model: str, found: Measurement, now: Clock
) -> None:
    """Store the findings about a model. Raises `StoreError`."""
    await store.write(
        profiles.put,
        StoredProfile(place_of(backend), model, found.digest, found.encode(), int(now())),
    )


def measured(records: Sequence[StoredProfile], backend: Backend) -> dict[str, Measurement]:
    """Return the findings about a backend's models, by the backend's names."""
    place = place_of(backend)
    found = {one.model: decode(one.body) for one in records if one.place == place and one.body}
    return {model: one for model, one in found.items() if one is not None}


class ProfileKeeper(Periodic):
    """Updates the profiles of one server's models, from `start` to `close`; with `probes` it
    also probes models.
    """

    def __init__(
        self, store: Store, registry: ModelRegistry, now: Clock, *, probes: bool = False
    ) -> None:
        super().__init__(POLL_INTERVAL, "Cannot update the profiles of models")
        self._store = store
        self._registry = registry
        self._now = now
        self._probes = probes
        self._stale: dict[Key, str] = {}
        """By changed model: the digest in its profile."""
        self._next: dict[Key, float] = {}
        """When a model is checked again, by the registry's clock."""
        self._soon: asyncio.TimerHandle | None = None
        self._following: asyncio.Future[None] | None = None
        """The last reading of the lessons because of a change."""

    async def load(self) -> Sequence[StoredProfile]:
        """Use the profiles and lessons that are in the store, and store new lessons.

        Raises `StoreError`.
        """
        await synchronise(self._store, self._registry.backends, self._now())
        records = await self._store.read(profiles.every)
        for state in self._registry.backends:
            self._use(state, records)
        return records

    async def poll_once(self) -> None:
        """Use the profiles in the store, then check each model that is in use.

        Raises `StoreError`.
        """
        records = {(one.place, one.model): one for one in await self.load()}
        if not (records or self._probes):
            return
        for state in list(self._registry.backends):
            for model in sorted({target.model for target in state.targets.values()}):
                await self._inspect(state, model, records.get((place_of(state.backend), model)))

    def start(self) -> None:
        """Begin; also follow lessons that other processes store or delete, within seconds."""
        super().start()
        self._store.on_change(self._receive)

    def _receive(self, what: str) -> None:
        """Read the lessons soon after a change.

        An unknown change is one of them only if there is a lesson to forget.
        """
        is_relevant = what == LESSONS or (
            not what and any(state.lessons for state in self._registry.backends)
        )
        if is_relevant and self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(FOLLOW_AFTER, self._follow)

    def _follow(self) -> None:
        self._soon = None
        self._following = asyncio.ensure_future(self._synchronise())

    async def _synchronise(self) -> None:
        with suppress(StoreError):  # the next poll comes
            await synchronise(self._store, self._registry.backends, self._now())

    async def close(self) -> None:
        """Stop, and store new lessons."""
        if self._soon is not None:
            self._soon.cancel()
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
        await super().close()
        with suppress(StoreError):  # they are learned again
            await store_new(self._store, self._registry.backends, self._now())

    def _use(self, state: BackendState, records: Sequence[StoredProfile]) -> None:
        place = place_of(state.backend)
        known: dict[str, ModelProfile] = {
            model: found.profile
            for model, found in measured(records, state.backend).items()
            if self._stale.get((place, model)) != found.digest or not found.digest
        }
        if known != state.measured:
            state.update(measured=known)

    async def _inspect(self, state: BackendState, model: str, record: StoredProfile | None) -> None:
        """Check whether a model has changed since it was probed, and probe it if
        that is enabled.
        """
        key = place_of(state.backend), model
        clock = self._registry.clock
        if clock() < self._next.get(key, 0.0) or (record is None and not self._probes):
            return
        self._next[key] = clock() + CHECK_EVERY
        from antiphon.upstream.probing.interview import stated  # noqa: PLC0415 - for servers with profiles alone

        described, is_remote = await stated(state, model)
        if record is not None and record.body:
            if not (described.digest and record.digest and described.digest != record.digest):
                self._stale.pop(key, None)
                return
            self._forget(state, key, record.digest)
        if self._probes and not is_remote and not self._is_under_way(record):
            await self._probe(state, model)

    def _forget(self, state: BackendState, key: Key, digest: str) -> None:
        """Stop using the profile of a model that has changed."""
        if self._stale.get(key) == digest:
            return
        self._stale[key] = digest
        state.update(
            measured={name: profile for name, profile in state.measured.items() if name != key[1]}
        )
        log.warning(
            "The model '%s' at the backend '%s' has changed since it was probed; "
            "its profile is no longer used. %s",
            key[1],
            state.name,
            "It is probed again." if self._probes else f"Run `antiphon models probe {key[1]}`.",
        )

    def _is_under_way(self, record: StoredProfile | None) -> bool:
        """Whether another process probes the model now."""
        return (
            record is not None
            and not record.body
            and self._now() - record.probed_at < LONGEST_PROBE
        )

    async def _probe(self, state: BackendState, model: str) -> None:
        from antiphon.upstream.probing.consent import is_free  # noqa: PLC0415 - for servers that probe alone
        from antiphon.upstream.probing.idle import BackendBusyError, WhenIdle  # noqa: PLC0415
        from antiphon.upstream.probing.interview import Interview  # noqa: PLC0415

        backend = state.backend
        place = place_of(state.backend)
        if not is_free(backend.url, state.dialect.name):
            return
        await self._store.write(
            profiles.put, StoredProfile(place, model, "", b"", int(self._now()))
        )
        is_done = False
        try:
            found = await Interview(state, model, WhenIdle(state)).run()
            await store_measurement(self._store, backend, model, found, self._now)
            is_done = True
        except (BackendBusyError, BackendError) as error:
            log.info(
                "The model '%s' at '%s' was not probed: %s",
                model,
                state.name,
                str(error) or "it is busy",
            )
            self._next[place, model] = self._registry.clock() + TRY_AGAIN
            return
        finally:
            if not is_done:
                await self._store.write(profiles.delete, place, model)
        await self.load()
        log.info("Probed the model '%s' at '%s': %s.", model, state.name, summary(found.profile))
