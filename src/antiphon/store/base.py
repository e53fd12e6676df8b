"""What the engine asks of a store: keep responses and their items, give them back, walk a chain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredItem:
    """One item as it is kept.

    `body` is the item's JSON as a client sees it. `sealed` is its `encrypted_content`, kept apart because only
    clients that ask for it see it; None where there is none.
    """

    id: str
    body: bytes
    sealed: str | None = None


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """One response with its own new input and its output, never its history.

    `body` is the response object's JSON with an empty `output`. `created_at` is in seconds since the epoch.
    `previous_response_id` names the parent in the chain, None at its head.
    """

    id: str
    created_at: int
    status: str
    previous_response_id: str | None
    body: bytes
    input: Sequence[StoredItem] = ()
    output: Sequence[StoredItem] = ()


class Store(Protocol):
    """Keeps responses. Every method raises `StoreError` where the storage itself fails.

    Guarantees: what `save` returned from is durable, whole or not at all; reads see every finished `save` and `delete`
    of this store; calls may run concurrently from many tasks of one event loop.
    """

    url: str
    """Where it keeps things, as the operator wrote it."""

    async def save(self, response: StoredResponse) -> None:
        """Keep the response with its items, durable before this returns; the same id again replaces all of it."""
        ...

    async def load(self, response_id: str) -> StoredResponse | None:
        """Return the response with its input and output in order, or None where it is unknown."""
        ...

    async def delete(self, response_id: str) -> bool:
        """Forget the response and its items; False where it is unknown. Its children keep naming it as their parent."""
        ...

    async def history(self, response_id: str) -> list[StoredItem] | None:
        """Return every item of the chain that ends in this response, oldest first.

        The order is each ancestor's input, then its output, down to this response's own input and output. None where
        this response or any ancestor is unknown, or is its own ancestor: a chain without a head is no chain. Linear in
        the length of the chain.
        """
        ...

    async def find_item(self, item_id: str) -> StoredItem | None:
        """Return the newest stored item of that id, or None."""
        ...

    async def expire(self, before: int) -> int:
        """Forget responses created before this time (seconds since the epoch); return how many."""
        ...

    async def close(self) -> None:
        """Finish pending writes and release the storage.

        Every other method raises `StoreError` from then on; closing again does nothing.
        """
        ...
