"""Promises about saved views of the console."""

import asyncio

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.protocol.saved_views import Page, SavedView, SaveView
from antiphon.storage.operations import api_keys, saved_views
from antiphon.storage.records.tenants import ApiKey
from antiphon.storage.store import Store
from tests.store.making import T, hold

AMPLE = 100


async def _save(
    store: Store, owner: str, name: str, query: str = "q=a", page: Page = "responses"
) -> SavedView:
    request = SaveView(name=name, page=page, query=query)
    saved = await store.write(saved_views.save, owner, new_id("view"), request, AMPLE)
    assert saved is not None
    return saved


async def _are_their_owners(store: Store) -> None:
    """A view is listed, replaced and deleted by its owner only; the operator is one too."""
    mine, other = new_id("key"), new_id("key")
    first = await _save(store, mine, "b")
    second = await _save(store, mine, "a")
    theirs = await _save(store, other, "b", "q=theirs")
    before = list(await store.read(saved_views.of_owner, ""))
    operators = await _save(store, "", new_id("name"))
    listed = await store.read(saved_views.of_owner, mine)
    hold(listed == [second, first], f"{[second, first]} are listed as {listed}")
    hold(not await store.write(saved_views.delete, mine, theirs.id), "another's view is deleted")
    hold(await store.read(saved_views.of_owner, other) == [theirs], "another's view is changed")
    hold(await store.write(saved_views.delete, mine, first.id), "a view cannot be deleted")
    hold(not await store.write(saved_views.delete, mine, first.id), "a view is deleted twice")
    hold(await store.read(saved_views.of_owner, mine) == [second], "another view was deleted")
    await store.write(saved_views.delete, "", operators.id)
    hold(await store.read(saved_views.of_owner, "") == before, "the operator's view stays")


async def _replace_those_of_their_name(store: Store) -> None:
    """A view replaces the one of the same page with its name, and keeps its id."""
    owner = new_id("key")
    old = await _save(store, owner, "a", "q=old")
    elsewhere = await _save(store, owner, "a", "q=old", "usage")
    new = await _save(store, owner, "a", "q=new")
    hold(new == replace(old, query="q=new"), f"{old} is replaced by {new}")
    hold(
        await store.read(saved_views.of_owner, owner) == [new, elsewhere],
        "a view replaces the one of another page, or none",
    )


async def _are_bounded(store: Store) -> None:
    """An owner has a limited number of views, of which each can still be replaced."""
    owner = new_id("key")
    for name in ("a", "b"):
        await _save(store, owner, name)

    async def save(name: str) -> SavedView | None:
        request = SaveView(name=name, page="responses", query="q=new")
        return await store.write(saved_views.save, owner, new_id("view"), request, 4)

    several = await asyncio.gather(*(save(f"c{number}") for number in range(8)))
    count = sum(one is not None for one in several)
    hold(count == 2, f"{count} views were saved at once where 2 had room")

    hold(await save("c") is None, "an owner has more views than it may have")
    hold(await save("a") is not None, "a view cannot be replaced at the limit")


async def _end_with_their_key(store: Store) -> None:
    """A revoked key has no views, and other keys keep theirs."""
    key = ApiKey(new_id("key"), T, "n", new_id("digest").encode(), "sk", 1)
    other = new_id("key")
    await store.write(api_keys.put, key)
    await _save(store, key.id, "a")
    theirs = await _save(store, other, "a")
    await store.write(api_keys.put, replace(key, name="renamed"))
    hold(len(await store.read(saved_views.of_owner, key.id)) == 1, "a changed key loses its views")
    await store.write(api_keys.put, replace(key, revoked_at=2))
    hold(await store.read(saved_views.of_owner, key.id) == [], "a revoked key keeps its views")
    hold(await store.read(saved_views.of_owner, other) == [theirs], "another key lost its view")
