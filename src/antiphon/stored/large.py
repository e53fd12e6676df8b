"""Decodes and encodes large stored data in slices, in threads, so that a large item does not block the event loop."""

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol

import msgspec

from antiphon.access.keyring import Keyring
from antiphon.protocol.json_pieces import LargeObject
from antiphon.protocol.json_slices import decode_in_slices
from antiphon.sharing.lazy import Lazy
from antiphon.sharing.memory import Account, Memory, weight
from antiphon.sharing.offload import Offload
from antiphon.storage.contract import FileReader, Store
from antiphon.storage.records.responses import StoredItem

P = ParamSpec("P")


class Shared(Protocol):
    """The parts that tenants share when they read stored data."""

    offload: Offload
    memory: Memory
    keyring: Keyring
    store: Store

    @property
    def files(self) -> Lazy[FileReader]:
        """Reads the blobs of items."""
        ...


LARGE = 64 * 1024
"""Number of bytes of JSON from which it is decoded and encoded in a thread."""


async def shown(
    shared: Shared | None,
    tenant: str,
    size: int,
    make: Callable[P, dict[str, Any]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> dict[str, Any]:
    """Return the object that `make` creates from this many bytes. A `LargeObject` is created in a thread.

    A large object counts as memory of its tenant until it is released. Raises the exceptions of `Memory.take` if not
    enough memory is available. Without `shared`, the object is created directly, for programs without other clients.
    """
    if size <= LARGE or shared is None:
        return make(*args, **kwargs)
    account = Account(shared.memory, tenant)
    account.take(weight(size))
    made = LargeObject(await shared.offload.run(tenant, make, *args, **kwargs))
    made.account = account
    return made


def size_of(items: Sequence[StoredItem]) -> int:
    """Return the number of bytes of stored items."""
    size = 0
    for item in items:
        size += len(item.body) + len(item.sealed or "")
    return size


def decoded(body: bytes) -> Any:
    """Return decoded JSON as plain data."""
    return msgspec.json.decode(body) if len(body) <= LARGE else decode_in_slices(body)
