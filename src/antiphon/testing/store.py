"""What `antiphon.store.base.Store` promises, as a program: prove it on your own store.

    await check_store(lambda: SqliteStore.open(url))

A promise is a function here; its docstring is the sentence that is reported where the promise is broken.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress

from antiphon.errors import StoreError
from antiphon.ids import new_id
from antiphon.store.base import Store, StoredItem, StoredResponse

OpenStore = Callable[[], Store | Awaitable[Store]]
Promise = Callable[[Store], Awaitable[None]]

_LONG_AGO = 100_000  # seconds since the epoch: whatever the check saves is older, so that it can be swept away by age
_AT_ONCE = 64


async def check_store(open_store: OpenStore, *, durable: bool = True) -> None:
    """Prove every promise on the store that `open_store` opens; it is called twice, for the same place.

    Everything saved here has a new id and claims to be of 1970, and is gone afterwards; so is anything else from then.
    `durable=False` leaves out what a store in memory cannot promise: to be there after it was closed.
    Raises `AssertionError` with a line for each promise that is broken.
    """
    broken = await _each(_PROMISES, open_store)
    broken += await _closing(open_store, durable)
    if broken:
        raise AssertionError("\n".join(broken))


async def _each(promises: Iterable[Promise], open_store: OpenStore) -> list[str]:
    store = await _opened(open_store)
    try:
        return [line for promise in promises for line in await _broken(promise, promise(store))]
    finally:
        with suppress(Exception):  # what it lacks for this was reported above
            await store.expire(_LONG_AGO)
            await store.close()


async def _closing(open_store: OpenStore, durable: bool) -> list[str]:
    store = await _opened(open_store)
    begun = [_response(_items("in"), _items("out")) for _ in range(_AT_ONCE)]
    broken = await _broken(_close_finishes, _close_finishes(store, begun))
    broken += await _broken(_closed_refuses, _closed_refuses(store))
    if durable:
        store = await _opened(open_store)
        broken += await _broken(_saved_stays, _saved_stays(store, begun))
        await store.expire(_LONG_AGO)
        await store.close()
    return broken


async def _opened(open_store: OpenStore) -> Store:
    store = open_store()
    return await store if inspect.isawaitable(store) else store


async def _broken(promise: Callable[..., Awaitable[None]], kept: Awaitable[None]) -> list[str]:
    try:
        await kept
    except Exception as error:  # whatever a stranger's store raises is its answer
        return [f"{promise.__doc__} {type(error).__name__}: {error}"]
    return []


async def _comes_back_whole(store: Store) -> None:
    """What was saved comes back whole, its items in order."""
    odd = "\0 \n '\";-- \u00e9\u202e\U0001f600 \ufffe"
    for response in (
        _response(),
        _response(_items("a", "b", "c"), _items("d", "e")),
        _response([StoredItem(new_id("msg"), b"{}", "")], [StoredItem(f"{odd}{new_id('')}", odd.encode(), odd)]),
        _response(body=bytes(range(256)) * 4096, output=[StoredItem(new_id("msg"), b"x" * 1_000_000, "y" * 100_000)]),
        _response(_items(*map(str, range(1000))), previous=f"{odd}{new_id('')}"),
    ):
        await store.save(response)
        _same(await store.load(response.id), response)


async def _unknown_is_none(store: Store) -> None:
    """An id that was never saved is unknown to every method, and no error."""
    nobody = new_id("resp")
    found = await store.load(nobody), await store.history(nobody), await store.find_item(nobody)
    _hold(found == (None, None, None), f"load, history and find_item gave {found}")
    _hold(await store.delete(nobody) is False, "delete did not give False")


async def _saving_again_replaces(store: Store) -> None:
    """Saving the same id again replaces all of it: no item of the former stays, and its place in a chain is kept."""
    old = _response(_items("old 1", "old 2"), _items("old 3"))
    child = _response(_items("child"), previous=old.id)
    new = _response(_items("new"), id=old.id, status="failed", body=b"new")
    for response in (old, child, new):
        await store.save(response)
    _same(await store.load(old.id), new)
    _hold(await store.find_item(old.output[0].id) is None, "an item of the former is still found")
    _hold(await store.history(child.id) == [*new.input, *child.input], "a later turn's history is not the new one's")


async def _delete_forgets(store: Store) -> None:
    """A deleted response is unknown with its items, once; others stay, and its children still name it."""
    parent, other = _response(_items("a"), _items("b")), _response(_items("c"))
    child = _response(_items("d"), previous=parent.id)
    for response in (parent, other, child):
        await store.save(response)
    _hold(await store.delete(parent.id) is True, "delete did not give True")
    _hold(await store.delete(parent.id) is False, "delete gave True twice")
    _hold(await store.load(parent.id) is None, "it still loads")
    _hold(await store.find_item(parent.input[0].id) is None, "its item is still found")
    _hold(await store.history(child.id) is None, "its child still has a history")
    _same(await store.load(child.id), child)
    _same(await store.load(other.id), other)


async def _history_is_in_order(store: Store) -> None:
    """A history is each ancestor's input and output, oldest first, whatever the order in which they were saved."""
    chain = _chain(6)
    chain[3] = _response(id=chain[3].id, previous=chain[2].id)
    for response in (chain[i] for i in (2, 5, 0, 3, 1, 4)):
        await store.save(response)
    for length in range(1, len(chain) + 1):
        expected = [item for turn in chain[:length] for item in (*turn.input, *turn.output)]
        found = await store.history(chain[length - 1].id)
        _hold(found == expected, f"after {length} turns: {_names(found)} instead of {_names(expected)}")


async def _chain_without_head_is_none(store: Store) -> None:
    """A chain with a hole, or one that runs in a circle, has no history."""
    orphan, (one, two, three) = _response(_items("a"), previous=new_id("resp")), _chain(3)
    circle = _response(_items("b"), id=one.id, previous=three.id)
    for response in (orphan, circle, two, three):
        await store.save(response)
    _hold(await store.history(orphan.id) is None, "a history with a hole was given")
    _hold(await store.history(two.id) is None, "a history in a circle was given")


async def _history_is_linear(store: Store) -> None:
    """A history takes time linear in its length."""
    chain = _chain(400)
    await asyncio.gather(*(store.save(response) for response in chain))
    short, long = [await _fastest(store, chain[length - 1].id) for length in (25, 400)]
    # 16 times the turns: 16 times as long where it is linear, 256 times where it is quadratic.
    _hold(long < 64 * short, f"400 turns take {long / short:.0f} times as long as 25")


async def _fastest(store: Store, response_id: str) -> float:
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        await store.history(response_id)
        times.append(time.perf_counter() - begun)
    return min(times)


async def _items_may_come_again(store: Store) -> None:
    """An item's id may come in many responses, and twice in one; each keeps its own, and the newest is found."""
    first, again, last = (StoredItem(item_id, body) for item_id in [new_id("msg")] for body in (b"1", b"2", b"3"))
    older, newer = _response([first]), _response([again], [last])
    for response in (older, newer):
        await store.save(response)
    _same(await store.load(older.id), older)
    _same(await store.load(newer.id), newer)
    _hold(await store.find_item(first.id) == last, "not the newest item was found")
    await store.delete(newer.id)
    _hold(await store.find_item(first.id) == first, "the older item is lost with the newer")


async def _expire_goes_by_age(store: Store) -> None:
    """`expire` forgets what was created before the time, nothing else, and says how many that were."""
    await store.expire(_LONG_AGO)
    early, late = ([_response(_items("a"), at=at) for _ in range(3)] for at in (100, 200))
    for response in (*early, *late):
        await store.save(response)
    for before, count in ((100, 0), (200, 3), (200, 0)):
        found = await store.expire(before)
        _hold(found == count, f"expire({before}) gave {found} instead of {count}")
    _hold(await store.load(early[0].id) is None, "one that expired still loads")
    _hold(await store.find_item(early[0].input[0].id) is None, "an item of one that expired is still found")
    for response in late:
        _same(await store.load(response.id), response)


async def _tasks_may_come_together(store: Store) -> None:
    """Many tasks may save, read and delete at once, and each sees what it has finished."""

    async def use(parent: StoredResponse) -> None:
        child = _response(_items("c"), _items("d"), previous=parent.id)
        await store.save(parent)
        _same(await store.load(parent.id), parent)
        await store.save(child)
        expected = [*parent.input, *parent.output, *child.input, *child.output]
        _hold(await store.history(child.id) == expected, "a history lacks what its task had saved")
        _hold(await store.find_item(child.output[0].id) == child.output[0], "an item is lost that its task had saved")
        _hold(await store.delete(parent.id), "a task's own response was not there to delete")
        _hold(await store.load(parent.id) is None, "a task's deleted response still loads")

    await asyncio.gather(*(use(_response(_items("a"), _items("b"))) for _ in range(_AT_ONCE)))


async def _reads_are_never_torn(store: Store) -> None:
    """Who reads while a response is replaced gets all of the old or all of the new."""
    old = _response(_items(*map(str, range(8))), body=b"old")
    new = _response(output=_items("8", "9"), id=old.id, body=b"new")
    await store.save(old)
    wholes = [_plain(old), _plain(new)]
    histories = [[*old.input], [*new.output]]

    async def read() -> None:
        response, history = await store.load(old.id), await store.history(old.id)
        _hold(response is not None and _plain(response) in wholes, "a response was neither the old nor the new")
        _hold(history in histories, f"a history was neither the old nor the new: {_names(history)}")

    await asyncio.gather(*(task for _ in range(20) for task in (store.save(new), read(), store.save(old), read())))


async def _cancelling_tears_nothing(store: Store) -> None:
    """A save whose caller is cancelled is done whole or not at all, and nobody else notices."""
    left, kept = ([_response(_items("a"), _items("b")) for _ in range(20)] for _ in range(2))
    saves = [asyncio.ensure_future(store.save(response)) for pair in zip(left, kept, strict=True) for response in pair]
    await asyncio.sleep(0)
    for save in saves[::2]:
        save.cancel()
    await asyncio.gather(*saves[::2], return_exceptions=True)
    await asyncio.gather(*saves[1::2])
    for response in kept:
        _same(await store.load(response.id), response)
    for response in left:
        found = await store.load(response.id)
        if found is not None:
            _same(found, response)


async def _has_an_address(store: Store) -> None:
    """`url` says where it keeps things."""
    _hold(isinstance(store.url, str) and store.url != "", f"url is {store.url!r}")


async def _close_finishes(store: Store, begun: Sequence[StoredResponse]) -> None:
    """`close` finishes the saves that were begun, and may be called again."""
    saves = [asyncio.ensure_future(store.save(response)) for response in begun]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*saves)
    await store.close()


async def _closed_refuses(store: Store) -> None:
    """Every method of a closed store raises `StoreError`."""
    nobody = new_id("resp")
    calls = {
        "save": store.save(_response()),
        "load": store.load(nobody),
        "delete": store.delete(nobody),
        "history": store.history(nobody),
        "find_item": store.find_item(nobody),
        "expire": store.expire(0),
    }
    answers = await asyncio.gather(*calls.values(), return_exceptions=True)
    for name, answer in zip(calls, answers, strict=True):
        _hold(isinstance(answer, StoreError), f"{name} gave {answer!r}")


async def _saved_stays(store: Store, saved: Sequence[StoredResponse]) -> None:
    """What was saved is there when the store is opened again."""
    for response in saved:
        _same(await store.load(response.id), response)


_PROMISES: tuple[Promise, ...] = (
    _has_an_address,
    _comes_back_whole,
    _unknown_is_none,
    _saving_again_replaces,
    _delete_forgets,
    _history_is_in_order,
    _chain_without_head_is_none,
    _history_is_linear,
    _items_may_come_again,
    _tasks_may_come_together,
    _reads_are_never_torn,
    _cancelling_tears_nothing,
    _expire_goes_by_age,
)


def _response(
    input: Sequence[StoredItem] = (),
    output: Sequence[StoredItem] = (),
    *,
    id: str = "",
    previous: str | None = None,
    status: str = "completed",
    body: bytes = b"{}",
    at: int = 1000,
) -> StoredResponse:
    return StoredResponse(id or new_id("resp"), at, status, previous, body, input, output)


def _items(*names: str) -> list[StoredItem]:
    return [
        StoredItem(new_id("msg"), name.encode(), f"sealed {name}" if i % 2 else None) for i, name in enumerate(names)
    ]


def _chain(turns: int) -> list[StoredResponse]:
    chain: list[StoredResponse] = []
    for turn in range(turns):
        previous = chain[-1].id if chain else None
        chain.append(_response(_items(f"asked {turn}"), _items(f"thought {turn}", f"said {turn}"), previous=previous))
    return chain


def _plain(response: StoredResponse) -> tuple[object, ...]:
    """The fields as they compare: a store may give its items in any sequence."""
    head = response.id, response.created_at, response.status, response.previous_response_id, response.body
    return *head, list(response.input), list(response.output)


def _same(found: StoredResponse | None, expected: StoredResponse) -> None:
    if found is None:
        raise AssertionError("a saved response is unknown")
    for name, one, other in zip(StoredResponse.__slots__, _plain(found), _plain(expected), strict=True):
        _hold(one == other, f"{name} is {one!r:.200} instead of {other!r:.200}")


def _hold(condition: bool, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)


def _names(items: Iterable[StoredItem] | None) -> list[str] | None:
    return None if items is None else [item.body.decode(errors="replace")[:40] for item in items]
