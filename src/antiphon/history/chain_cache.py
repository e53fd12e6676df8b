"""A cache of the chains used recently: a new turn reads and translates only its own items.

Before each use the store counts the responses of the chain, so a deleted or expired response is
reported as missing even if it is cached. A response that can be continued does not change any more.
"""

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from antiphon.history.decoding import FEW, FEW_BYTES, UNSHARED, in_slices, load_few
from antiphon.protocol.items.messages import InputItem
from antiphon.sharing.offload import Offload
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.operations import responses
from antiphon.storage.records.responses import ChainExtent, StoredItem, StoredResponse
from antiphon.storage.store import Store
from antiphon.translation.to_chat_completions.prefix import ChainLog, Prefix

MOST_STEPS = 8
"""Responses between a new one and a cached one that are read one by one; beyond that the whole
chain is read.
"""

PER_ITEM = 2048
"""Bytes of memory that an item needs besides its text, as a value and as a message."""

PER_ENTRY = 1024
"""Bytes of memory that a response needs besides its items."""

PER_BYTE = 4
"""Copies of the text in memory: as a value, which its messages share, and as JSON in two dialects,
with room.
"""

WIDEST = 4
"""Maximum bytes of a character."""

LONGEST = 1_000_000
"""Responses of a chain that are counted at most: a circular chain has no end."""

Key = tuple[str, str]
"""A tenant, and the id of a response."""


class Intake(Protocol):
    """Decides whether a history can be loaded; both of its methods can raise, or wait."""

    @property
    def most(self) -> int:
        """Responses of a chain that are counted: a chain with more is not admitted."""
        ...

    async def measured(self, extent: ChainExtent) -> None:
        """Admit a chain of this extent before most of it is read."""

    async def read(self, stored: Sequence[StoredItem]) -> None:
        """Admit items that were read and are not decoded yet."""


class Unlimited:
    """Admits everything."""

    most = LONGEST

    async def measured(self, extent: ChainExtent) -> None:
        """See `Intake.measured`."""

    async def read(self, stored: Sequence[StoredItem]) -> None:
        """See `Intake.read`."""


UNLIMITED = Unlimited()


@dataclass(frozen=True, slots=True)
class _Known:
    """The cached data of a response: all items up to its own, and the extent of their chain."""

    prefix: Prefix
    extent: ChainExtent


@dataclass(slots=True)
class ChainCache:
    """Caches chains; the least recently used are evicted first."""

    most_bytes: int = 64 * 1024 * 1024
    most_entries: int = 100_000
    size: int = 0
    """Estimated bytes of the cache."""
    _known: dict[Key, _Known] = field(default_factory=dict)
    _logs: OrderedDict[ChainLog, list[Key]] = field(default_factory=OrderedDict)
    """The responses that share each log, the most recently used log at the end."""

    async def prefix(
        self,
        store: Store,
        response: StoredResponse,
        reads: FairScheduler = UNSHARED,
        intake: Intake = UNLIMITED,
        offload: Offload | None = None,
    ) -> Prefix | None:
        """Return all items up to those of this response, which was just read; None if its chain is
        incomplete.

        `intake` admits the chain by its extent before most of it is read, and its items before they
        are decoded. `reads` shares the decoding of large histories fairly between tenants;
        `offload` decodes large items.
        """
        way = await self._way(store, response)
        if way is None:
            return await self._read(store, response, reads, intake, offload)
        new, known = way
        known = known or _Known(Prefix(), ChainExtent(0, False))
        depth = len(new) + known.extent.length
        if depth > 1:
            extent = await store.measure_chain(response.tenant, response.id, depth + 1)
            if extent.length != depth:
                self._forget(known)
                return await self._read(store, response, reads, intake, offload)
        else:
            extent = _with_response(known.extent, response) if new else known.extent
        await intake.measured(extent)
        for one in new:
            await intake.read([*one.input, *one.output])
        return await self._remember(new, known, offload)

    def __len__(self) -> int:
        return len(self._known)

    async def _way(
        self, store: Store, response: StoredResponse
    ) -> tuple[list[StoredResponse], _Known | None] | None:
        """Return the responses after the nearest cached one, newest first, and the cached data of
        that one.

        For a short chain the list is the whole chain. None if the distance is long, or the chain is
        incomplete.
        """
        way: list[StoredResponse] = []
        at: StoredResponse | None = response
        key = _key(response)
        while (known := self._known.get(key)) is None:
            at = at or await store.read(responses.load, *key, few=True)
            if (
                at is None
                or at.is_partial
                or at.conversation_id is not None
                or len(way) == MOST_STEPS
            ):
                return None
            way.append(at)
            if at.previous_response_id is None:
                break
            key = (at.tenant, at.previous_response_id)
            at = None
        return way, known

    async def _read(
        self,
        store: Store,
        response: StoredResponse,
        reads: FairScheduler,
        intake: Intake,
        offload: Offload | None,
    ) -> Prefix | None:
        """Read the whole chain. A chain that begins in a conversation is not cached: the
        conversation can change.
        """
        # Measured first: a chain that is read completely afterwards was complete at that time.
        extent = await store.measure_chain(response.tenant, response.id, intake.most)
        await intake.measured(extent)
        stored = await store.read(responses.history, response.tenant, response.id, extent)
        if stored is None:
            return None
        await intake.read(stored)
        prefix = Prefix()
        size = PER_ENTRY
        async for part in in_slices(stored, reads, response.tenant):
            part_size = sum(map(_size, part))
            items = await load_few(part, offload, response.tenant)
            prefix = prefix.extended(items, part_size)
            size = size + part_size
        if extent.is_in_conversation:
            return prefix
        known = self._known.get(_key(response))
        return (known or self._put(_key(response), _Known(prefix, extent), size)).prefix

    async def _remember(
        self, way: Sequence[StoredResponse], known: _Known, offload: Offload | None
    ) -> Prefix:
        for response in reversed(way):
            key = _key(response)
            if key not in self._known:
                items = await load_few(
                    [*response.input, *response.output], offload, response.tenant
                )
                known = self._known.get(key) or self._added(key, response, items, known)
            else:
                known = self._known[key]
            if len(response.input) > FEW:
                await asyncio.sleep(0)
        if known.prefix.log in self._logs:
            self._logs.move_to_end(known.prefix.log)
        return known.prefix

    def _added(
        self, key: Key, response: StoredResponse, items: Sequence[InputItem], before: _Known
    ) -> _Known:
        """Add the items of a response that follows a cached one, or the first of a chain."""
        stored = [*response.input, *response.output]
        size = PER_ENTRY + sum(map(_size, stored))
        counted = before.prefix.log.size if before.prefix.log in self._logs else 0
        known = _Known(before.prefix.extended(items, size), _with_response(before.extent, response))
        log = known.prefix.log
        return self._put(key, known, log.size - (counted if log is before.prefix.log else 0))

    def _put(self, key: Key, known: _Known, size: int) -> _Known:
        """Cache a response that needs this many more bytes; evict others if the cache is too
        large.
        """
        log = known.prefix.log
        self.size += size
        self._known[key] = known
        self._logs.setdefault(log, []).append(key)
        self._logs.move_to_end(log)
        while self.size > self.most_bytes or len(self._known) > self.most_entries:
            self._drop(next(iter(self._logs)))
        return known

    def _forget(self, known: _Known) -> None:
        if known.prefix.log in self._logs:
            self._drop(known.prefix.log)

    def _drop(self, log: ChainLog) -> None:
        self.size -= log.size
        for key in self._logs.pop(log):
            self._known.pop(key, None)


def _with_response(extent: ChainExtent, response: StoredResponse) -> ChainExtent:
    """Return the extent of a chain after one more response."""
    items = [*response.input, *response.output]
    size = sum(len(item.body) + len(item.sealed or "") for item in items)
    return ChainExtent(extent.length + 1, False, extent.items + len(items), extent.size + size)


def _size(item: StoredItem) -> int:
    """Return the estimated bytes of an item.

    One wide character makes all of a text as wide, up to four bytes.
    """
    body = item.body
    if body.isascii():
        wide = 0
    elif len(body) > FEW_BYTES:  # examining it is slow
        wide = WIDEST * len(body)
    else:
        wide = sys.getsizeof(body.decode("utf-8", "surrogatepass"))
    return PER_ITEM + PER_BYTE * (len(body) + len(item.sealed or "")) + wide


def _key(response: StoredResponse) -> Key:
    return response.tenant, response.id
