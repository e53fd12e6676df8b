"""The response cache: a model's answers, kept as they were told, and given again to who asks the same.

A hit is a response like any other: with ids and numbers of its own, streamed or plain, stored and chained. What is
asked many times at once is asked of the backend once; that holds within one process.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from antiphon.access.keyring import new_key
from antiphon.cache.cached_answer import (
    KeptAnswer,
    Origin,
    from_bytes,
    is_said_by_model,
    noted,
    to_bytes,
)
from antiphon.cache.key import cache_key, digest
from antiphon.cache.semantic import Question, Similar, Similarity
from antiphon.cache.single_flight import PATIENCE, Flight, Flights, Left
from antiphon.errors import StoreError, log
from antiphon.ids import Clock
from antiphon.protocol.events import Event
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CacheParam, CreateResponse
from antiphon.protocol.response import Response
from antiphon.storage.contract import Store, StoredAnswer
from antiphon.telemetry.observers import CacheStatus
from antiphon.upstream.backend_state import Target
from antiphon.upstream.router import Router

LARGEST = 4 * 1024 * 1024
"""Characters of an answer's deltas beyond which it is not kept."""

TRIM_EVERY = 16
"""The part of the room that may be written between two looks whether all fit in it."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much is kept, and for how long."""

    ttl: int = 3600
    """Seconds."""
    longest: int = 30 * 86_400
    """Seconds that nobody may exceed."""
    most_bytes: int = 256 * 1024 * 1024
    similarity: Similarity | None = None
    """Where there is none, questions have to be the same word for word."""


class Cache:
    """All kept answers of a store."""

    def __init__(self, store: Store, router: Router, now: Clock, room: Room) -> None:
        self._store, self._now, self._room = store, now, room
        self.flights = Flights()
        self.similar = Similar(store, router, now, room.similarity) if room.similarity else None
        self._secret = b""
        self._written = room.most_bytes
        """Bytes since the last look; at first it is not known what there is."""

    def lookup(
        self, request: CreateResponse, items: Sequence[InputItem], tenant: str, targets: Sequence[Target]
    ) -> "Lookup | None":
        """Return what the cache is to a response, None where nobody wants it.

        The request says so, else what is configured for a backend that may be asked.
        """
        wish = request.antiphon.cache if request.antiphon else None
        own = {origin_of(target): target for target in targets if target.name == request.model}
        if wish is False or (wish is None and not any(target.state.options.cache for target in own.values())):
            return None
        param = wish if isinstance(wish, CacheParam) else CacheParam()
        return Lookup(self, request, items, tenant, own, param, is_asked_for=wish is not None)

    def ttl(self, param: CacheParam) -> int:
        """Return the seconds for which an answer is kept."""
        return min(param.ttl or self._room.ttl, self._room.longest)

    @property
    def longest(self) -> int:
        """Seconds for which anything is kept at most."""
        return self._room.longest

    async def digest(self, tenant: str, *parts: str) -> bytes:
        """Return the key of what is kept beside answers; the first of `parts` says what it is. Raises `StoreError`."""
        return digest(await self._key(), tenant, *parts)

    async def key(self, tenant: str, request: CreateResponse, items: Sequence[Item]) -> bytes:
        """Return the key of what is asked. Raises `StoreError`."""
        return cache_key(await self._key(), tenant, request, items)

    async def _key(self) -> bytes:
        if not self._secret:
            self._secret = await self._store.secret("cache", new_key())
        return self._secret

    async def question(self, tenant: str, request: CreateResponse, items: Sequence[Item]) -> Question | None:
        """Return what is asked as it is compared with similar questions, None where it is not."""
        return await self.similar.question(self._secret, tenant, request, items) if self.similar else None

    async def find(self, tenant: str, key: bytes) -> bytes | None:
        """Return a kept answer. Raises `StoreError`."""
        return await self._store.find_answer(tenant, key)

    async def keep(self, tenant: str, key: bytes, answer: bytes, ttl: int) -> None:
        """Keep an answer; make room where there is none. Raises `StoreError`."""
        now = int(self._now())
        await self._store.keep_answer(StoredAnswer(tenant, key, answer, now, now + ttl))
        self._written += len(answer)
        if self._written * TRIM_EVERY >= self._room.most_bytes:
            self._written = 0
            await self._store.trim_answers(self._room.most_bytes)


def origin_of(target: Target) -> Origin:
    """Return who answers, where this target does."""
    defaults = target.defaults.digest if target.defaults is not None else ""
    return Origin(target.backend.name, target.backend.url, target.model, defaults)


@dataclass(slots=True)
class Lookup:
    """What the cache is to one response: its answer comes from there, or goes there.

    `find` before a model is asked; where there is nothing, `see` what is told, then `end`; `leave` in any case. An
    answer counts as long as the backend that gave it still serves the model by that name. The cache's own trouble is
    logged and nobody else's.
    """

    _cache: Cache
    _request: CreateResponse
    _items: Sequence[Item]
    _tenant: str
    _targets: Mapping[Origin, Target]
    """Where the very model that is asked for is served."""
    _param: CacheParam
    is_asked_for: bool
    """The request itself asks for the cache, not the configuration alone."""
    kept: KeptAnswer | None = None
    """The answer that was found."""
    outcome: CacheStatus | None = None
    """None as long as it is not known."""
    similarity: float | None = None
    """How much the question that was answered is like this one, where it is not the same."""
    _question: Question | None = None
    _key: bytes = b""
    _flight: Flight | None = None
    _told: list[Event] | None = None
    """What was told so far; None where it is not to be given again."""
    _size: int = 0

    @property
    def target(self) -> Target | None:
        """Who gave the answer that was found."""
        return self._targets[self.kept.origin] if self.kept else None

    async def find(self) -> KeptAnswer | None:
        """Return the kept answer to this question, waiting for one that is on its way; None: the model is asked."""
        try:
            self._key = await self._cache.key(self._tenant, self._request, self._items)
            self.kept = None if self._param.refresh else await self._found()
        except StoreError as error:
            log.warning("The cache was not asked: %s", error)
        self.outcome = "hit" if self.kept else "miss"
        self._told = [] if self._key and not self.kept else None
        return self.kept

    def see(self, batch: Sequence[Event]) -> None:
        """Take note of what is told."""
        if self._told is None:
            return
        if self._flight is not None:
            self._flight.move()
        self._size += sum(len(getattr(event, "delta", "")) for event in batch)
        self._told += batch
        if self._size > LARGEST or not all(map(is_said_by_model, batch)):
            self._told = None
            self._land(None)

    async def end(
        self, response: Response, sealed: dict[str, str], target: Target, ignored_tools: Sequence[str]
    ) -> None:
        """The response has ended: its answer may be given again, at once to those who wait for it."""
        if response.status == "failed":
            return
        answer = self._answer(response, sealed, target, ignored_tools)
        try:
            if answer is not None and self._may_be_stored(target):
                await self._keep(answer)
        except StoreError as error:
            log.warning("An answer was not kept in the cache: %s", error)
        finally:
            self._land(answer)

    async def _keep(self, answer: bytes) -> None:
        ttl = self._cache.ttl(self._param)
        await self._cache.keep(self._tenant, self._key, answer, ttl)
        if self._question is not None and self._cache.similar is not None:
            await self._cache.similar.note(self._question, self._key, ttl)

    def leave(self) -> None:
        """Nothing came of it here: one of those who wait for it asks."""
        flight, self._flight = self._flight, None
        if flight is not None:
            self._cache.flights.leave(self._key, flight)

    def _land(self, answer: bytes | None) -> None:
        flight, self._flight = self._flight, None
        if flight is not None:
            self._cache.flights.land(self._key, flight, answer)

    def _answer(
        self, response: Response, sealed: dict[str, str], target: Target, ignored_tools: Sequence[str]
    ) -> bytes | None:
        """Return what may be given again: a whole answer, of the very model that was asked for."""
        # As it was when it was asked: by now the backend's name may be another's (SIGHUP).
        origin = next((origin for origin, known in self._targets.items() if known is target), None)
        if self._told is None or response.status != "completed" or origin is None:
            return None
        answer = noted(self._told, origin, response.usage, sealed, ignored_tools)
        return to_bytes(answer) if answer else None

    def _may_be_stored(self, target: Target) -> bool:
        """With `store: false` nothing is kept of an answer, unless the same request asks for just that."""
        return self.is_asked_for or (target.state.options.cache and self._request.store is not False)

    async def _found(self) -> KeptAnswer | None:
        flights, until = self._cache.flights, asyncio.get_running_loop().time() + PATIENCE
        while True:
            if (flight := flights.find(self._key)) is not None:
                try:
                    return self._valid(await flight.wait())
                except Left:
                    if asyncio.get_running_loop().time() > until:
                        return None  # whoever asks fails, and slowly: no need to do so one after the other
                    continue
            if (answer := self._valid(await self._cache.find(self._tenant, self._key))) is not None:
                return answer
            if flights.find(self._key) is None:
                self._flight = flights.begin(self._key)
                return await self._similar()

    async def _similar(self) -> KeptAnswer | None:
        """Return the answer to a question that means the same; those who wait for this one get it too."""
        similar = self._cache.similar
        self._question = await self._cache.question(self._tenant, self._request, self._items)
        near = await similar.find(self._question) if similar and self._question else None
        answer = await self._cache.find(self._tenant, near[0]) if near else None
        if (found := self._valid(answer)) is not None and near is not None:
            self.similarity = near[1]
            self._land(answer)
        return found

    def _valid(self, answer: bytes | None) -> KeptAnswer | None:
        found = from_bytes(answer) if answer else None
        return found if found and found.origin in self._targets else None
