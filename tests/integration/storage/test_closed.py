"""A store that was closed performs nothing more, and says why."""

from collections.abc import Awaitable, Callable

import pytest

from antiphon.errors import StoreError
from antiphon.storage.open import open_store
from antiphon.storage.operations import leases, responses
from antiphon.storage.store import Store
from tests.store.making import T, new_response

CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "a save": lambda store: store.save(new_response()),
    "a write": lambda store: store.write(leases.beat, "w"),
    "a read": lambda store: store.read(responses.load, T, "resp_1"),
    "a look at the clock": lambda store: store.clock_skew(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_every_call_of_a_closed_store_fails(
    store_url: str, call: Callable[[Store], Awaitable[object]]
) -> None:
    store = await open_store(store_url)
    await store.close()

    with pytest.raises(StoreError, match=r"^The store is closed\.$"):
        await call(store)
