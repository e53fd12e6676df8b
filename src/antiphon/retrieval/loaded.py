"""Signatures of vectors in memory: those of recently searched stores, within a limit that tenants
share.
"""

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from sys import getsizeof

from antiphon.sharing.scheduler import SchedulerUsage

MEBIBYTE = 1024 * 1024

MOST = 128 * MEBIBYTE
"""Bytes of memory for all stores together: a million signatures of 384 numbers."""

PER_STORE, PER_FILE, PER_CHUNK = 1024, 128, 48
"""Bytes besides the signatures: names and lists, the number of a file, the number of a chunk."""


@dataclass(frozen=True)
class Loaded:
    """The signatures of one revision of a store, and in the same order the numbers of their
    chunks.
    """

    revision: int
    files: frozenset[int]
    numbers: list[int]
    signatures: list[int]

    @cached_property
    def size(self) -> int:
        """Bytes of memory. All vectors of a store are from one model, so all signatures are as
        large as the first.
        """
        each = PER_CHUNK + getsizeof(self.signatures[0]) if self.signatures else 0
        return PER_STORE + PER_FILE * len(self.files) + each * len(self.signatures)


class LoadedStores:
    """Holds loaded stores. Above the limit, the tenant with the most loses its least recently used
    store.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._tenants: dict[str, OrderedDict[str, Loaded]] = {}
        self._sizes: dict[str, int] = {}

    @property
    def usage(self) -> SchedulerUsage:
        """The memory in use, in MiB."""
        return SchedulerUsage(
            round(sum(self._sizes.values()) / MEBIBYTE), self._most // MEBIBYTE, 0, 0
        )

    def get(self, tenant: str, store_id: str) -> Loaded | None:
        """Return the loaded data of a store, and mark it as used."""
        stores = self._tenants.get(tenant)
        if stores is None or store_id not in stores:
            return None
        stores.move_to_end(store_id)
        return stores[store_id]

    def put(self, tenant: str, store_id: str, loaded: Loaded) -> None:
        """Add a store, marked as used; it is not evicted now, however large."""
        self.drop(tenant, store_id)
        self._tenants.setdefault(tenant, OrderedDict())[store_id] = loaded
        self._sizes[tenant] = self._sizes.get(tenant, 0) + loaded.size
        while sum(self._sizes.values()) > self._most:
            others = [
                name for name, stores in self._tenants.items() if len(stores) > (name == tenant)
            ]
            if not others:
                break
            largest = max(others, key=self._sizes.__getitem__)
            self.drop(largest, next(iter(self._tenants[largest])))

    def drop(self, tenant: str, store_id: str) -> None:
        """Remove a store."""
        stores = self._tenants.get(tenant)
        if stores is None or store_id not in stores:
            return
        self._sizes[tenant] -= stores.pop(store_id).size
        if not stores:
            del self._tenants[tenant], self._sizes[tenant]
