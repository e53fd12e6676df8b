"""Large stored data, decoded and encoded in threads, in slices: one call for a large item would stop the event loop."""

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol

import msgspec

from antiphon.access.keyring import Keyring
from antiphon.protocol.json_pieces import LargeObject
from antiphon.protocol.json_slices import decode_in_slices
from antiphon.sharing.memory import Account, Memory, weight
from antiphon.sharing.offload import Offload
from antiphon.storage.contract import FileReader, Store, StoredItem

P = ParamSpec("P")


class Shared(Protocol):
    """What the tenants share that read stored data; an `Engine` has it."""

    offload: Offload
    memory: Memory
    keyring: Keyring
    store: Store

    @property
    def files(self) -> FileReader:
        """Reads what items keep in blobs."""
        ...


LARGE = 64 * 1024
"""Bytes of JSON from which on it is decoded and encoded in a thread."""


async def shown(
    shared: Shared | None,
    tenant: str,
    size: int,
    make: Callable[P, dict[str, Any]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> dict[str, Any]:
    """Return the object that `make` makes of so many bytes; a `LargeObject`, made in a thread, where they are many.

    A large object counts as memory of its tenant until nothing refers to it. Raises as `Memory.take` where that is not
    free. Without `shared` the object is made here: for a program that has no other clients meanwhile.
    """
    if size <= LARGE or shared is None:
        return make(*args, **kwargs)
    account = Account(shared.memory, tenant)
    account.take(weight(size))
    made = LargeObject(await shared.offload.run(tenant, make, *args, **kwargs))
    made.account = account
    return made


def size_of(items: Sequence[StoredItem]) -> int:
    """Return the bytes of stored items."""
    size = 0
    for item in items:
        size += len(item.body) + len(item.sealed or "")
    return size


def decoded(body: bytes) -> Any:
    """Return stored JSON as plain data."""
    return msgspec.json.decode(body) if len(body) <= LARGE else decode_in_slices(body)
