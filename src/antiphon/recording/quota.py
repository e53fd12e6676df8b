"""Checks the storage quota of a tenant before a request is processed, also for many
requests at once.

A response's size is known only when it is stored. So each request reserves an estimate, and a
request is admitted if the stored bytes plus the reservations of earlier requests here are below the
quota. A tenant can therefore exceed the quota by one request, plus the part of its responses in
progress above their reservations. Other processes do not know of these reservations.
"""

from types import TracebackType
from typing import Self

from antiphon.history.bounds import Bounds
from antiphon.storage.operations import sizes
from antiphon.storage.store import Store

COPIES = 2
"""Copies of a request in the store: with the response, and with its conversation or its job."""

OUTPUT = 32 * 1024
"""Bytes that are reserved for an output, of some 8,000 tokens."""


class StorageReservation:
    """Bytes of a tenant's quota that are reserved for one request, until `release`
    or the end of `with`.
    """

    def __init__(self, reserved: dict[str, int], tenant: str, size: int) -> None:
        self._reserved = reserved
        self._tenant = tenant
        self._size = size
        reserved[tenant] = reserved.get(tenant, 0) + size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Release the bytes: they are stored, or will not be. A second release does nothing."""
        size = self._size
        self._size = 0
        left = self._reserved.get(self._tenant, 0) - size
        if left > 0:
            self._reserved[self._tenant] = left
        else:
            self._reserved.pop(self._tenant, None)


class StorageQuota:
    """Enforces the storage limit of tenants, `Bounds.stored_bytes`."""

    def __init__(self, store: Store, bounds: Bounds) -> None:
        self._store = store
        self.bounds = bounds
        self._reserved: dict[str, int] = {}
        """Reserved bytes of the requests in progress here, by tenant."""

    async def reserve(self, tenant: str, size: int = 0) -> StorageReservation:
        """Reserve storage for a request of `size` bytes.

        Raises `ClientError` (429) if the quota is exhausted.
        """
        if not self.bounds.stored_bytes:
            return StorageReservation(self._reserved, tenant, 0)
        # Earlier requests can be stored meanwhile and then count twice:
        # never counting them would be worse.
        before = self._reserved.get(tenant, 0)
        reservation = StorageReservation(self._reserved, tenant, COPIES * size + OUTPUT)
        try:
            self.bounds.check_stored(await self._store.read(sizes.stored_bytes, tenant), before)
        except BaseException:
            reservation.release()
            raise
        return reservation
