"""Decodes and encodes large stored data in slices, in threads, so that a large item does not block
the event loop.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec

import msgspec

from antiphon.protocol.json_pieces import LargeObject
from antiphon.protocol.json_slices import decode_in_slices
from antiphon.sharing.memory import Account, Memory, weight
from antiphon.sharing.offload import Offload
from antiphon.storage.records.responses import StoredItem

P = ParamSpec("P")


@dataclass(slots=True)
class Capacity:
    """What tenants share when large objects are created: threads, and memory."""

    offload: Offload
    memory: Memory


LARGE = 64 * 1024
"""Number of bytes of JSON from which it is decoded and encoded in a thread."""


async def built_object(
    capacity: Capacity,
    tenant: str,
    size: int,
    make: Callable[P, dict[str, Any]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> dict[str, Any]:
    """Return the object that `make` creates from this many bytes.

    A `LargeObject` is created in a thread.

    A large object counts as memory of its tenant until it is released. Raises the exceptions of
    `Memory.take` if not enough memory is available.
    """
    if size <= LARGE:
        return make(*args, **kwargs)
    account = Account(capacity.memory, tenant)
    account.take(weight(size))
    created = LargeObject(await capacity.offload.run(tenant, make, *args, **kwargs))
    created.account = account
    return created


def size_of(items: Sequence[StoredItem]) -> int:
    """Return the number of bytes of stored items."""
    size = 0
    for item in items:
        size += len(item.body) + len(item.sealed or "")
    return size


def decoded(body: bytes) -> Any:
    """Return decoded JSON as plain data."""
    return msgspec.json.decode(body) if len(body) <= LARGE else decode_in_slices(body)
