"""Promises about what the refusals of backends taught."""

import time

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import lessons
from antiphon.storage.operations.lessons import MOST_LESSONS
from antiphon.storage.records.lessons import StoredLesson
from antiphon.storage.store import Store
from tests.store.making import hold


async def _are_stored_for_their_model(store: Store) -> None:
    """Lessons are listed as they were stored, each once, until those of their model are deleted."""
    place = f"http://{new_id('place')}/v1"
    now = int(time.time())
    first = StoredLesson(place, "a", "", "top_p", "no \u2603", now)
    others = [
        StoredLesson(place, "a", "t", "top_p", "", now + 1),
        StoredLesson(place, "b", "", "user", "", now),
    ]
    await store.write(lessons.put, [first, *others], now - 1)
    newer = StoredLesson(place, "a", "", "top_p", "never", now + 2)
    await store.write(lessons.put, [newer], now - 1)
    mine = [one for one in await store.read(lessons.every, now - 1_000) if one.place == place]
    wanted = [others[0], newer, others[1]]
    hold(mine == wanted, f"{wanted} are returned as {mine}")
    hold(
        await store.write(lessons.delete, place, "a") == 2,
        "the lessons of a model are not all deleted",
    )
    hold(await store.write(lessons.delete, place, "a") == 0, "lessons are deleted twice")
    mine = [one for one in await store.read(lessons.every, now - 1_000) if one.place == place]
    hold(mine == [others[1]], "another model's lesson was deleted, or a deleted one is listed")
    await store.write(lessons.delete, place, "b")


async def _are_deleted_one_by_one(store: Store) -> None:
    """One lesson is deleted without the others of its model, tenant and name, and only once."""
    place = f"http://{new_id('place')}/v1"
    now = int(time.time())
    one = StoredLesson(place, "a", "t", "top_p", "", now)
    others = [
        replace(one, tenant=""),
        replace(one, name="user"),
        replace(one, model="b"),
    ]
    await store.write(lessons.put, [one, *others], now - 1)
    ended = [await store.write(lessons.forget, place, "a", "t", "top_p") for _ in range(2)]
    hold(ended == [True, False], f"one lesson was deleted twice, with the answers {ended}")
    left = [found for found in await store.read(lessons.every, now - 1_000) if found.place == place]
    hold(
        len(left) == len(others) and all(other in left for other in others),
        f"after one of four lessons was deleted, {left} are listed",
    )
    for model in ("a", "b"):
        await store.write(lessons.delete, place, model)


async def _are_bounded(store: Store) -> None:
    """Old lessons about a backend are deleted when new ones are stored, and so are the oldest of
    too many.
    """
    place = f"http://{new_id('place')}/v1"
    other = f"http://{new_id('place')}/v1"
    now = int(time.time())
    await store.write(lessons.put, [StoredLesson(place, "a", "", "old", "", now - 100)], now - 200)
    await store.write(lessons.put, [StoredLesson(other, "a", "", "old", "", now - 100)], now - 200)
    new = [
        StoredLesson(place, "m", "", f"n{number:04}", "", now + number)
        for number in range(MOST_LESSONS + 2)
    ]
    await store.write(lessons.put, new[:1], now - 50)
    found = await store.read(lessons.every, now - 1_000)
    hold([one.name for one in found if one.place == place] == ["n0000"], "an old lesson is listed")
    hold(
        [one.name for one in found if one.place == other] == ["old"],
        "a lesson about another backend was deleted",
    )
    late = [one.name for one in await store.read(lessons.every, now - 50) if one.place == other]
    hold(not late, "a lesson is listed that was learned before")
    await store.write(lessons.put, new, now - 50)
    names = [one.name for one in await store.read(lessons.every, now - 1_000) if one.place == place]
    hold(
        names == [one.name for one in new[2:]],
        f"of {len(new)} lessons, {len(names)} are listed: not the newest",
    )
    for at, model in ((place, "m"), (other, "a")):
        await store.write(lessons.delete, at, model)
