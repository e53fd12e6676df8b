"""The promises of the store as code.

    await check_store(lambda: SqliteStore.open(url))

Each promise is a function; its docstring is reported if the promise is broken.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from antiphon.errors import StoreError
from antiphon.ids import new_id
from antiphon.storage.operations import chat_completions as stored_chat_completions
from antiphon.storage.operations import responses as stored_responses
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.making import Promise, T, hold, new_items, new_response, same
from tests.support.waiting import let_others_run

OpenStore = Callable[[], Store | Awaitable[Store]]

_AT_ONCE = 64


async def check_store(open_store: OpenStore, *, durable: bool = True) -> None:
    """Check every promise on the store that `open_store` opens; it is called a few times, for the
    same place.

    Everything saved here has a new id and its own tenant, and expires soon after. Data that had
    expired before is purged. `durable=False` skips what a store in memory cannot promise: that data
    persists after it was closed. Raises `AssertionError` with a line for each broken promise.
    """
    broken = await _each(PROMISES, open_store)
    broken += await _closing(open_store, durable)
    if broken:
        raise AssertionError("\n".join(broken))


async def _each(promises: Iterable[Promise], open_store: OpenStore) -> list[str]:
    store = await _opened(open_store)
    try:
        return [line for promise in promises for line in await _broken(promise, promise(store))]
    finally:
        with suppress(Exception):  # its failures here were reported above
            await store.close()


async def _closing(open_store: OpenStore, durable: bool) -> list[str]:
    store = await _opened(open_store)
    begun = [new_response(new_items("in"), new_items("out")) for _ in range(_AT_ONCE)]
    broken = await _broken(_close_finishes, _close_finishes(store, begun))
    broken += await _broken(_closed_refuses, _closed_refuses(store))
    if durable:
        store = await _opened(open_store)
        broken += await _broken(_saved_stays, _saved_stays(store, begun))
        await store.close()
    return broken


async def _opened(open_store: OpenStore) -> Store:
    store = open_store()
    return await store if inspect.isawaitable(store) else store


async def _broken(promise: Callable[..., Awaitable[None]], stored: Awaitable[None]) -> list[str]:
    try:
        await stored
    except Exception as error:  # any exception of the store is a result
        return [f"{promise.__doc__} {type(error).__name__}: {error}"]
    return []


async def _has_an_address(store: Store) -> None:
    """`url` names the place of the data."""
    hold(isinstance(store.url, str) and store.url != "", f"url is {store.url!r}")


async def _can_be_written(store: Store) -> None:
    """`check_writable` writes something, as often as it is called."""
    await store.check_writable()
    await store.check_writable()


async def _close_finishes(store: Store, begun: Sequence[StoredResponse]) -> None:
    """`close` finishes the saves in progress, and can be called again."""
    saves = [asyncio.ensure_future(store.save(response)) for response in begun]
    await let_others_run()
    await store.close()
    await asyncio.gather(*saves)
    await store.close()


async def _closed_refuses(store: Store) -> None:
    """Every method of a closed store raises `StoreError`."""
    no_one = new_id("resp")
    calls = {
        "save": store.save(new_response()),
        "load": store.read(stored_responses.load, T, no_one),
        "delete": store.write(stored_responses.delete, T, no_one),
        "history": store.read(stored_responses.history, T, no_one),
        "find_item": store.read(stored_responses.find_item, T, no_one),
        "load_completion": store.read(stored_chat_completions.load, T, no_one),
        "measure_chain": store.measure_chain(T, no_one, 1),
        "purge": purge(store),
        "check_writable": store.check_writable(),
    }
    answers = await asyncio.gather(*calls.values(), return_exceptions=True)
    for name, answer in zip(calls, answers, strict=True):
        hold(isinstance(answer, StoreError), f"{name} returned {answer!r}")


async def _saved_stays(store: Store, saved: Sequence[StoredResponse]) -> None:
    """Saved data still exists when the store is opened again."""
    for response in saved:
        same(await store.read(stored_responses.load, T, response.id), response)


def promises_of(name: str) -> Iterator[Promise]:
    """Yield the promises in a module of this folder: each coroutine function with a docstring that
    takes a store alone.
    """
    module = import_module(f"{__package__}.{name}")
    for found in vars(module).values():
        is_own = inspect.iscoroutinefunction(found) and found.__module__ == module.__name__
        if is_own and found.__doc__ and [*inspect.signature(found).parameters] == ["store"]:
            yield found


AREAS = sorted(
    path.stem
    for path in Path(__file__).parent.glob("[a-z]*.py")
    if path.stem not in {"check", "making"}
)

PROMISES: tuple[Promise, ...] = (
    _has_an_address,
    _can_be_written,
    *(promise for name in AREAS for promise in promises_of(name)),
)
