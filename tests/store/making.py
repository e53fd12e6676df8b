"""Data for the checks: responses and items that are new every time, and messages for broken
promises.
"""

import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.records.responses import StoredItem, StoredResponse
from antiphon.storage.records.tenants import ApiKey
from antiphon.storage.store import Store

T = "check_store"
"""The tenant that owns everything saved here."""

SOON = -1
"""Ten minutes from now."""

Promise = Callable[[Store], Awaitable[None]]
"""Its docstring is reported if it is broken."""


def new_response(
    input: Sequence[StoredItem] = (),
    output: Sequence[StoredItem] = (),
    *,
    id: str = "",
    previous: str | None = None,
    status: str = "completed",
    body: bytes = b"{}",
    until: int | None = SOON,
) -> StoredResponse:
    """Return a response with a new id, and an end."""
    soon = int(time.time()) + 600 if until == SOON else until
    return StoredResponse(
        id or new_id("resp"), 1000, status, previous, body, input, output, tenant=T, expires_at=soon
    )


def new_items(*names: str) -> list[StoredItem]:
    """Return items with new ids, every second one with sealed content."""
    return [
        StoredItem(new_id("msg"), name.encode(), f"sealed {name}" if i % 2 else None)
        for i, name in enumerate(names)
    ]


def chain_of(turns: int) -> list[StoredResponse]:
    """Return responses each of which follows the one before."""
    chain: list[StoredResponse] = []
    for turn in range(turns):
        previous = chain[-1].id if chain else None
        chain.append(
            new_response(
                new_items(f"question {turn}"),
                new_items(f"thought {turn}", f"said {turn}"),
                previous=previous,
            )
        )
    return chain


def plain(response: StoredResponse) -> dict[str, object]:
    """Return the fields in comparable form: a store can return its items in any sequence type."""
    fields = {name: getattr(response, name) for name in StoredResponse.__slots__}
    return {**fields, "input": list(response.input), "output": list(response.output)}


def same(found: StoredResponse | None, expected: StoredResponse) -> None:
    """Raise unless the result equals what was saved."""
    if found is None:
        raise AssertionError("a saved response is unknown")
    one = plain(found)
    for name, other in plain(expected).items():
        hold(one[name] == other, f"{name} is {one[name]!r:.200} instead of {other!r:.200}")


def hold(condition: bool, otherwise: str) -> None:
    """Raise if the condition is false."""
    if not condition:
        raise AssertionError(otherwise)


def names(items: Iterable[StoredItem] | None) -> list[str] | None:
    """Return what identifies items, for messages."""
    return None if items is None else [item.body.decode(errors="replace")[:40] for item in items]


def size_of(items: Iterable[StoredItem]) -> int:
    """Return the bytes of items, and of their sealed content."""
    return sum(len(item.body) + len((item.sealed or "").encode()) for item in items)


def new_key(tenant: str = "", **fields: object) -> ApiKey:
    """Return a new key that expires soon."""
    soon = int(time.time()) + 600
    created = ApiKey(
        new_id("key"), tenant or new_id("tenant"), "n", os.urandom(32), "sk-…1234", 1000, soon
    )
    return replace(created, **fields)  # type: ignore[arg-type]
