"""Creates large objects in threads, so that a large item does not block the event loop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec

from antiphon.protocol.json_pieces import LargeObject
from antiphon.sharing.memory import Account, Memory, weight
from antiphon.sharing.offload import Offload
from antiphon.sizes import LARGE
from antiphon.storage.records.responses import StoredItem

P = ParamSpec("P")


@dataclass(slots=True)
class Capacity:
    """What tenants share when large objects are created: threads, and memory."""

    offload: Offload
    memory: Memory


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
    created = LargeObject(await capacity.offload.in_thread(tenant, make, *args, **kwargs))
    created.account = account
    return created


def size_of(items: Sequence[StoredItem]) -> int:
    """Return the number of bytes of stored items."""
    size = 0
    for item in items:
        size += len(item.body) + len(item.sealed or "")
    return size
