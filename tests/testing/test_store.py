"""`check_store` passes a store that keeps its promises, and names each promise that is broken."""

from dataclasses import replace

import pytest

from antiphon.errors import StoreError
from antiphon.store.base import StoredItem, StoredResponse
from antiphon.testing import check_store


class Kept:
    """What outlives a store's closing."""

    def __init__(self) -> None:
        self.responses: dict[str, StoredResponse] = {}


class Dictionary:
    """The smallest store that keeps every promise; each test breaks one."""

    url = "dictionary:"

    def __init__(self, kept: Kept) -> None:
        self.kept = kept.responses
        self.closed = False

    def refuse_closed(self) -> None:
        if self.closed:
            raise StoreError("The store is closed.")

    async def save(self, response: StoredResponse) -> None:
        self.refuse_closed()
        self.kept.pop(response.id, None)
        self.kept[response.id] = response

    async def load(self, response_id: str) -> StoredResponse | None:
        self.refuse_closed()
        return self.kept.get(response_id)

    async def delete(self, response_id: str) -> bool:
        self.refuse_closed()
        return self.kept.pop(response_id, None) is not None

    async def history(self, response_id: str) -> list[StoredItem] | None:
        self.refuse_closed()
        items: list[StoredItem] = []
        seen: set[str] = set()
        at: str | None = response_id
        while at is not None:
            if at not in self.kept or at in seen:
                return None
            seen.add(at)
            items += [*self.kept[at].input, *self.kept[at].output][::-1]
            at = self.kept[at].previous_response_id
        return items[::-1]

    async def find_item(self, item_id: str) -> StoredItem | None:
        self.refuse_closed()
        newest = (item for one in reversed(self.kept.values()) for item in [*one.input, *one.output][::-1])
        return next((item for item in newest if item.id == item_id), None)

    async def expire(self, before: int) -> int:
        self.refuse_closed()
        old = [one.id for one in self.kept.values() if one.created_at < before]
        for response_id in old:
            del self.kept[response_id]
        return len(old)

    async def close(self) -> None:
        self.closed = True


class NoAddress(Dictionary):
    url = ""


class ForgetsSeals(Dictionary):
    async def save(self, response: StoredResponse) -> None:
        items = [replace(item, sealed=item.sealed or None) for item in response.input]
        await super().save(replace(response, input=items))


class RaisesForTheUnknown(Dictionary):
    async def load(self, response_id: str) -> StoredResponse | None:
        self.refuse_closed()
        return self.kept[response_id]


class KeepsOldItems(Dictionary):
    async def save(self, response: StoredResponse) -> None:
        former = await self.load(response.id)
        await super().save(replace(response, input=[*(former.input if former else ()), *response.input]))


class DeletesTwice(Dictionary):
    async def delete(self, response_id: str) -> bool:
        known = await self.find(response_id)
        await super().delete(response_id)
        return known

    async def find(self, response_id: str) -> bool:
        self.refuse_closed()
        self.__dict__.setdefault("ever", set()).update(self.kept)
        return response_id in self.ever


class NewestFirst(Dictionary):
    async def history(self, response_id: str) -> list[StoredItem] | None:
        items = await super().history(response_id)
        return items and items[::-1]


class SkipsHoles(Dictionary):
    async def history(self, response_id: str) -> list[StoredItem] | None:
        response = await self.load(response_id)
        if response is None or response.previous_response_id is None or response.previous_response_id not in self.kept:
            return None if response is None else [*response.input, *response.output]
        above = await super().history(response.previous_response_id)
        return None if above is None else [*above, *response.input, *response.output]


class Quadratic(Dictionary):
    async def history(self, response_id: str) -> list[StoredItem] | None:
        items = await super().history(response_id)
        for _ in items or ():
            await super().history(response_id)
        return items


class FindsTheOldest(Dictionary):
    async def find_item(self, item_id: str) -> StoredItem | None:
        self.refuse_closed()
        items = (item for one in self.kept.values() for item in [*one.input, *one.output])
        return next((item for item in items if item.id == item_id), None)


class ExpiresOneTooMany(Dictionary):
    async def expire(self, before: int) -> int:
        return await super().expire(before + 1)


class SavesLater(Dictionary):
    """Acknowledges at once and keeps with the next save."""

    late: StoredResponse | None = None

    async def save(self, response: StoredResponse) -> None:
        self.refuse_closed()
        if self.late:
            await super().save(self.late)
        self.late = response


class AnswersWhenClosed(Dictionary):
    def refuse_closed(self) -> None:
        pass


class LosesAtClosing(Dictionary):
    async def close(self) -> None:
        await super().close()
        self.kept.clear()


async def verdict(kind: type[Dictionary], *, durable: bool = True) -> list[str]:
    kept = Kept()
    try:
        await check_store(lambda: kind(kept), durable=durable)
    except AssertionError as broken:
        return str(broken).splitlines()
    return []


async def test_a_store_that_keeps_its_promises_passes_and_is_left_empty() -> None:
    kept = Kept()
    await check_store(lambda: Dictionary(kept))

    assert kept.responses == {}


async def test_what_a_store_had_before_is_left_alone() -> None:
    kept = Kept()
    mine = StoredResponse("resp_mine", 1_700_000_000, "completed", None, b"{}")
    kept.responses[mine.id] = mine
    await check_store(lambda: Dictionary(kept))

    assert kept.responses == {mine.id: mine}


async def test_a_store_may_need_awaiting_to_open() -> None:
    kept = Kept()

    async def open_store() -> Dictionary:
        return Dictionary(kept)

    await check_store(open_store)


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (NoAddress, "`url` says where it keeps things."),
        (ForgetsSeals, "What was saved comes back whole, its items in order."),
        (RaisesForTheUnknown, "An id that was never saved is unknown to every method, and no error."),
        (KeepsOldItems, "Saving the same id again replaces all of it:"),
        (DeletesTwice, "A deleted response is unknown with its items, once;"),
        (NewestFirst, "A history is each ancestor's input and output, oldest first,"),
        (SkipsHoles, "A chain with a hole, or one that runs in a circle, has no history."),
        (Quadratic, "A history takes time linear in its length."),
        (FindsTheOldest, "An item's id may come in many responses, and twice in one;"),
        (ExpiresOneTooMany, "`expire` forgets what was created before the time,"),
        (SavesLater, "Many tasks may save, read and delete at once,"),
        (AnswersWhenClosed, "Every method of a closed store raises `StoreError`."),
        (LosesAtClosing, "What was saved is there when the store is opened again."),
    ],
)
async def test_a_broken_promise_is_named(kind: type[Dictionary], promise: str) -> None:
    assert [line for line in await verdict(kind) if line.startswith(promise)] != []


async def test_a_store_in_memory_need_not_outlive_its_closing() -> None:
    assert await verdict(LosesAtClosing, durable=False) == []
