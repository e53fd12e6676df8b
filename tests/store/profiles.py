"""Promises about the results of probing models."""

import time

from antiphon.ids import new_id
from antiphon.storage.operations import profiles
from antiphon.storage.records.profiles import StoredProfile
from antiphon.storage.store import Store
from tests.store.making import hold


async def _is_stored_for_its_model(store: Store) -> None:
    """A profile is listed as it was stored, only the newest of a model at a backend, until it is
    deleted.
    """
    place = f"http://{new_id('place')}/v1"
    now = int(time.time())
    first = StoredProfile(place, "a", "d1", b'{"old": true}\0', now)
    others = [
        StoredProfile(place, "b", "", b"", now),
        StoredProfile(place + "2", "a", "d1", b"{}", now),
    ]
    for one in (first, *others):
        await store.write(profiles.put, one)
    newest = StoredProfile(place, "a", "d2", b"{}", now + 1)
    await store.write(profiles.put, newest)
    mine = [one for one in await store.read(profiles.every) if one.place.startswith(place)]
    hold(mine == [newest, *others], f"{[newest, *others]} are returned as {mine}")
    hold(await store.write(profiles.delete, place, "a"), "a known profile cannot be deleted")
    hold(not await store.write(profiles.delete, place, "a"), "a profile is deleted twice")
    mine = [one for one in await store.read(profiles.every) if one.place.startswith(place)]
    hold(mine == others, "another profile was deleted, or a deleted one is listed")
    for one in others:
        await store.write(profiles.delete, one.place, one.model)
