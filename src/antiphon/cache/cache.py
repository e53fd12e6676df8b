"""The response cache: stores a model's answers as they were emitted, and returns them to requests
that are the same.

A hit is a response like any other: with its own ids and numbers, streamed or not, stored and
chained. Concurrent equal requests are sent to the backend once, within one process.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from antiphon.access.keyring import new_key
from antiphon.cache.cached_answer import (
    AnswerOrigin,
    CachedAnswer,
    from_bytes,
    is_model_output,
    noted,
    to_bytes,
)
from antiphon.cache.key import cache_key, digest
from antiphon.cache.semantic import Similar, Similarity, TenantQuestion
from antiphon.cache.single_flight import PATIENCE, Flight, Flights, Left
from antiphon.errors import StoreError, log
from antiphon.ids import Clock
from antiphon.protocol.events import Event
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CacheParam, CreateResponse
from antiphon.protocol.response import Response
from antiphon.storage.answers import find_answer
from antiphon.storage.operations import answers, secrets
from antiphon.storage.records.tenants import StoredAnswer
from antiphon.storage.store import Store
from antiphon.storage.upkeep import trim_answers
from antiphon.telemetry.observers import CacheStatus
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.router import Router

LARGEST = 4 * 1024 * 1024
"""Characters of an answer's deltas beyond which it is not stored."""

TRIM_EVERY = 16
"""The part of the size limit that can be written between two checks of the total size."""


@dataclass(frozen=True, slots=True)
class CacheRoom:
    """Size and lifetime of the cache."""

    ttl: int = 3600
    """Seconds."""
    longest: int = 30 * 86_400
    """The highest lifetime in seconds."""
    most_bytes: int = 256 * 1024 * 1024
    similarity: Similarity | None = None
    """Without it, questions must match word for word."""


class AnswerCache:
    """All cached answers of a store."""

    def __init__(self, store: Store, router: Router, now: Clock, room: CacheRoom) -> None:
        self._store = store
        self._now = now
        self._room = room
        self.flights = Flights()
        self.similar = Similar(store, router, now, room.similarity) if room.similarity else None
        self._secret = b""
        self._written = room.most_bytes
        """Bytes written since the last check; at first the total is unknown."""

    def lookup(
        self,
        request: CreateResponse,
        items: Sequence[InputItem],
        tenant: str,
        targets: Sequence[ModelTarget],
    ) -> "Lookup | None":
        """Return the cache for a response, None if it is not requested.

        The request decides, otherwise the configuration of a backend that can serve it.
        """
        wish = request.antiphon.cache if request.antiphon else None
        own = {origin_of(target): target for target in targets if target.name == request.model}
        if wish is False or (
            wish is None and not any(target.state.options.cache for target in own.values())
        ):
            return None
        param = wish if isinstance(wish, CacheParam) else CacheParam()
        return Lookup(self, request, items, tenant, own, param, is_requested=wish is not None)

    def ttl(self, param: CacheParam) -> int:
        """Return the seconds for which an answer is stored."""
        return min(param.ttl or self._room.ttl, self._room.longest)

    @property
    def longest(self) -> int:
        """The longest lifetime of any entry in seconds."""
        return self._room.longest

    async def digest(self, tenant: str, *parts: str) -> bytes:
        """Return the key of an entry other than an answer; the first of `parts` names its kind.

        Raises `StoreError`.
        """
        return digest(await self._key(), tenant, *parts)

    async def key(self, tenant: str, request: CreateResponse, items: Sequence[Item]) -> bytes:
        """Return the key of a request. Raises `StoreError`."""
        return cache_key(await self._key(), tenant, request, items)

    async def _key(self) -> bytes:
        if not self._secret:
            self._secret = await self._store.write(secrets.agree, "cache", new_key())
        return self._secret

    async def question(
        self, tenant: str, request: CreateResponse, items: Sequence[Item]
    ) -> TenantQuestion | None:
        """Return the request in the form in which it is compared with similar ones, None if it is
        not compared.
        """
        return (
            await self.similar.question(self._secret, tenant, request, items)
            if self.similar
            else None
        )

    async def find(self, tenant: str, key: bytes) -> bytes | None:
        """Return a cached answer. Raises `StoreError`."""
        return await find_answer(self._store, tenant, key)

    async def save(self, tenant: str, key: bytes, answer: bytes, ttl: int) -> None:
        """Store an answer; make room if the size limit is reached. Raises `StoreError`."""
        now = int(self._now())
        await self._store.write(answers.put, StoredAnswer(tenant, key, answer, now, now + ttl))
        self._written += len(answer)
        if self._written * TRIM_EVERY >= self._room.most_bytes:
            self._written = 0
            await trim_answers(self._store, self._room.most_bytes)


def origin_of(target: ModelTarget) -> AnswerOrigin:
    """Return what answers at this target, if it can."""
    defaults = target.defaults.digest if target.defaults is not None else ""
    return AnswerOrigin(target.backend.name, target.backend.url, target.model, defaults)


@dataclass(slots=True)
class Lookup:
    """The cache of one response: its answer comes from the cache, or goes into it.

    Call `find` before a model is called; without a result, `see` the events, then `end`; `leave` in
    any case. An answer is valid while the backend that sent it still serves the model by that name.
    Errors of the cache are logged, and never fail a response.
    """

    _cache: AnswerCache
    _request: CreateResponse
    _items: Sequence[Item]
    _tenant: str
    _targets: Mapping[AnswerOrigin, ModelTarget]
    """Whether the requested model itself is served here."""
    _param: CacheParam
    is_requested: bool
    """Whether the request itself enables the cache, not only the configuration."""
    stored: CachedAnswer | None = None
    """The answer that was found."""
    outcome: CacheStatus | None = None
    """None while it is unknown."""
    similarity: float | None = None
    """The similarity of the question that was answered, if it is not the same."""
    _question: TenantQuestion | None = None
    _key: bytes = b""
    _flight: Flight | None = None
    _reported: list[Event] | None = None
    """The events so far; None if they must not be cached."""
    _size: int = 0

    @property
    def target(self) -> ModelTarget | None:
        """The origin of the answer that was found."""
        return self._targets[self.stored.origin] if self.stored else None

    async def find(self) -> CachedAnswer | None:
        """Return the cached answer to this request, waiting for one in progress; None: call the
        model.
        """
        try:
            self._key = await self._cache.key(self._tenant, self._request, self._items)
            self.stored = None if self._param.refresh else await self._found()
        except StoreError as error:
            log.warning("The cache was not read: %s", error)
        self.outcome = "hit" if self.stored else "miss"
        self._reported = [] if self._key and not self.stored else None
        return self.stored

    def see(self, batch: Sequence[Event]) -> None:
        """Record events."""
        if self._reported is None:
            return
        if self._flight is not None:
            self._flight.move()
        self._size += sum(len(getattr(event, "delta", "")) for event in batch)
        self._reported += batch
        if self._size > LARGEST or not all(map(is_model_output, batch)):
            self._reported = None
            self._land(None)

    async def end(
        self,
        response: Response,
        sealed: dict[str, str],
        target: ModelTarget,
        ignored_tools: Sequence[str],
        adjusted: Sequence[str],
    ) -> None:
        """Mark the response as ended: its answer can be returned again, at once to the requests
        that wait for it.
        """
        if response.status == "failed":
            return
        answer = self._answer(response, sealed, target, ignored_tools, adjusted)
        try:
            if answer is not None and self._may_be_stored(target):
                await self._save(answer)
        except StoreError as error:
            log.warning("An answer was not stored in the cache: %s", error)
        finally:
            self._land(answer)

    async def _save(self, answer: bytes) -> None:
        ttl = self._cache.ttl(self._param)
        await self._cache.save(self._tenant, self._key, answer, ttl)
        if self._question is not None and self._cache.similar is not None:
            await self._cache.similar.note(self._question, self._key, ttl)

    def leave(self) -> None:
        """Mark the response as without a result: one of the waiting requests calls the model."""
        flight = self._flight
        self._flight = None
        if flight is not None:
            self._cache.flights.leave(self._key, flight)

    def _land(self, answer: bytes | None) -> None:
        flight = self._flight
        self._flight = None
        if flight is not None:
            self._cache.flights.land(self._key, flight, answer)

    def _answer(
        self,
        response: Response,
        sealed: dict[str, str],
        target: ModelTarget,
        ignored_tools: Sequence[str],
        adjusted: Sequence[str],
    ) -> bytes | None:
        """Return the answer if it can be cached: a complete answer of the requested model."""
        # As it was at the time of the request: since then the backend's name can
        # have changed (SIGHUP).
        origin = next((origin for origin, known in self._targets.items() if known is target), None)
        if self._reported is None or response.status != "completed" or origin is None:
            return None
        effort = response.reasoning.get("effort") if adjusted and response.reasoning else None
        answer = noted(
            self._reported, origin, response.usage, sealed, ignored_tools, adjusted, effort
        )
        return to_bytes(answer) if answer else None

    def _may_be_stored(self, target: ModelTarget) -> bool:
        """With `store: false` no answer is stored, unless the same request enables the cache
        itself.
        """
        return self.is_requested or (
            target.state.options.cache and self._request.store is not False
        )

    async def _found(self) -> CachedAnswer | None:
        flights = self._cache.flights
        until = asyncio.get_running_loop().time() + PATIENCE
        while True:
            if (flight := flights.find(self._key)) is not None:
                try:
                    return self._valid(await flight.wait())
                except Left:
                    if asyncio.get_running_loop().time() > until:
                        # every request would fail, and slowly: not necessary one after the other
                        return None
                    continue
            if (answer := self._valid(await self._cache.find(self._tenant, self._key))) is not None:
                return answer
            if flights.find(self._key) is None:
                self._flight = flights.begin(self._key)
                return await self._similar()

    async def _similar(self) -> CachedAnswer | None:
        """Return the answer to a similar question; the requests that wait for this one receive it
        too.
        """
        similar = self._cache.similar
        self._question = await self._cache.question(self._tenant, self._request, self._items)
        near = await similar.find(self._question) if similar and self._question else None
        answer = await self._cache.find(self._tenant, near[0]) if near else None
        if (found := self._valid(answer)) is not None and near is not None:
            self.similarity = near[1]
            self._land(answer)
        return found

    def _valid(self, answer: bytes | None) -> CachedAnswer | None:
        found = from_bytes(answer) if answer else None
        return found if found and found.origin in self._targets else None
