"""A cache of recently used values, of all tenants, limited in bytes."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

PER_ENTRY = 512
"""Bytes of an entry besides its value."""


@dataclass(slots=True)
class _Share(Generic[K, V]):
    """The entries of one tenant with their sizes, the most recently used at the end."""

    entries: OrderedDict[K, tuple[V, int]] = field(default_factory=OrderedDict)
    size: int = 0


class Recent(Generic[K, V]):
    """Values by tenant and key.

    Above `most_bytes`, the tenant that holds the most bytes loses its oldest value.

    `weigh` returns the bytes of a value.
    """

    def __init__(self, most_bytes: int, weigh: Callable[[V], int]) -> None:
        self.size = 0
        """Bytes of all entries."""
        self._most = most_bytes
        self._weigh = weigh
        self._shares: dict[str, _Share[K, V]] = {}

    def find(self, tenant: str, key: K) -> V | None:
        """Return a value, and mark it as used."""
        share = self._shares.get(tenant)
        if share is None or key not in share.entries:
            return None
        share.entries.move_to_end(key)
        return share.entries[key][0]

    def peek(self, tenant: str, key: K) -> V | None:
        """Return a value. Any thread can call this: the value is not marked as used."""
        share = self._shares.get(tenant)
        entry = None if share is None else share.entries.get(key)
        return None if entry is None else entry[0]

    def newest(self, tenant: str) -> V | None:
        """Return the value that was used last."""
        share = self._shares.get(tenant)
        return None if share is None else next(reversed(share.entries.values()))[0]

    def values(self, tenant: str) -> list[V]:
        """Return the values of a tenant, those used last at the end. Any thread can call this."""
        share = self._shares.get(tenant)
        return [] if share is None else [value for value, _ in list(share.entries.values())]

    def drop(self, is_over: Callable[[V], bool]) -> None:
        """Remove all values of which this is true."""
        for tenant, share in list(self._shares.items()):
            for key in [key for key, (value, _) in share.entries.items() if is_over(value)]:
                self._remove(tenant, share, key)

    def put(self, tenant: str, key: K, value: V) -> None:
        """Store a value, replacing the previous one."""
        share = self._shares.setdefault(tenant, _Share())
        size = PER_ENTRY + self._weigh(value)
        _, former = share.entries.pop(key, (None, 0))
        share.entries[key] = value, size
        share.size += size - former
        self.size += size - former
        while self.size > self._most:
            self._drop()

    def _drop(self) -> None:
        tenant = max(self._shares, key=lambda name: self._shares[name].size)
        share = self._shares[tenant]
        self._remove(tenant, share, next(iter(share.entries)))

    def _remove(self, tenant: str, share: _Share[K, V], key: K) -> None:
        _, size = share.entries.pop(key)
        share.size -= size
        self.size -= size
        if not share.entries:
            del self._shares[tenant]
