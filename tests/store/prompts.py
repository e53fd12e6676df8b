"""Promises about prompts and their versions."""

import asyncio

from antiphon.ids import new_id
from antiphon.storage.operations import prompts, sizes
from antiphon.storage.records.pages import ListQuery
from antiphon.storage.records.prompts import StoredPrompt
from antiphon.storage.store import Store
from tests.store.making import T, hold

OTHER = T + "2"
MOST = 1000
TEMPLATE = b'{"instructions":"Hello {{name}} \xf0\x9f\x8e\xb6"}'
OLDEST_FIRST = ListQuery(2, descending=False)


async def new_prompt(store: Store, tenant: str = T, template: bytes = TEMPLATE) -> StoredPrompt:
    """Store a new prompt; return its first version."""
    created = await store.write(prompts.create, tenant, new_id("pmpt"), template, 1000, MOST)
    if created is None:
        raise AssertionError("a prompt is not stored")
    return created


async def _delete_all(store: Store) -> None:
    for tenant in (T, OTHER):
        while found := (await store.read(prompts.page, tenant, ListQuery(100))).data:
            for one in found:
                await store.write(prompts.delete, tenant, one.id)


async def _are_stored(store: Store) -> None:
    """A prompt is returned as it was stored until it is deleted, only to its own tenant."""
    created = await new_prompt(store)
    hold(
        (created.version, created.is_default, created.template) == (1, True, TEMPLATE),
        f"it was stored as {created}",
    )
    hold(
        await store.read(prompts.find, T, created.id) == created,
        f"it is returned as {await store.read(prompts.find, T, created.id)}",
    )
    hold(
        await store.read(prompts.find, T, created.id, 2) is None,
        "a version that was never stored is found",
    )
    hold(await store.read(prompts.find, OTHER, created.id) is None, "another tenant finds it")
    hold(
        await store.read(prompts.versions, OTHER, created.id, ListQuery(9)) is None,
        "another tenant lists its versions",
    )
    hold(
        await store.write(prompts.set_default, OTHER, created.id, 1) is None,
        "another tenant changes it",
    )
    added = await store.write(
        prompts.add_version, OTHER, created.id, b"{}", 1, MOST, is_default=True
    )
    hold(added is None, "another tenant adds a version")
    hold(not await store.write(prompts.delete, OTHER, created.id), "another tenant deletes it")
    hold(await store.write(prompts.delete, T, created.id), "it cannot be deleted")
    hold(not await store.write(prompts.delete, T, created.id), "it is deleted twice")
    hold(await store.read(prompts.find, T, created.id) is None, "it is found after it was deleted")


async def _have_versions(store: Store) -> None:
    """Each version remains as it was stored; without a number the default version is found."""
    created = await new_prompt(store)
    second = await store.write(
        prompts.add_version, T, created.id, b'{"b":1}', 2000, MOST, is_default=False
    )
    third = await store.write(
        prompts.add_version, T, created.id, b'{"c":1}', 3000, MOST, is_default=True
    )
    if second is None or third is None:
        raise AssertionError("a version is not stored")
    hold(
        (second.version, third.version) == (2, 3),
        f"the versions are {second.version} and {third.version}",
    )
    hold(await store.read(prompts.find, T, created.id) == third, "the default version is not found")
    hold(
        await store.read(prompts.find, T, created.id, 2) == second,
        "a version is not returned unchanged",
    )
    again = await store.write(prompts.set_default, T, created.id, 2)
    hold(
        again is not None and again.is_default and again.template == second.template,
        f"the default is {again}",
    )
    hold(
        await store.read(prompts.find, T, created.id) == again,
        "the new default version is not found",
    )
    for unknown in (0, 4):
        hold(
            await store.write(prompts.set_default, T, created.id, unknown) is None,
            f"version {unknown} became the default",
        )
    page = await store.read(prompts.versions, T, created.id, OLDEST_FIRST)
    hold(
        page is not None and [one.version for one in page.data] == [1, 2] and page.has_more,
        f"a page is {page}",
    )
    page = await store.read(prompts.versions, T, created.id, ListQuery(2, "2"))
    hold(
        page is not None and [one.version for one in page.data] == [1],
        f"the page after version 2 is {page}",
    )
    page = await store.read(prompts.versions, T, created.id, ListQuery(2, "4"))
    hold(page is not None and page.unknown, "an unknown version has a page after it")
    await store.write(prompts.delete, T, created.id)
    hold(
        await store.read(prompts.find, T, created.id, 2) is None,
        "a version is found after its prompt was deleted",
    )


async def _are_listed(store: Store) -> None:
    """Lists have each prompt of the tenant once, in its default version, newest first or oldest
    first.
    """
    await _delete_all(store)
    created = [await new_prompt(store) for _ in range(3)]
    foreign = await new_prompt(store, OTHER)
    second = await store.write(
        prompts.add_version, T, created[0].id, b"{}", 2000, MOST, is_default=True
    )
    page = await store.read(prompts.page, T, OLDEST_FIRST)
    hold(list(page.data) == [second, created[1]] and page.has_more, f"the first page is {page}")
    page = await store.read(prompts.page, T, ListQuery(2, created[1].id, descending=False))
    hold(list(page.data) == [created[2]] and not page.has_more, f"the second page is {page}")
    page = await store.read(prompts.page, T, ListQuery(9))
    hold(
        [one.id for one in page.data] == [one.id for one in created[::-1]],
        f"newest first is {page}",
    )
    hold(
        (await store.read(prompts.page, T, ListQuery(9, foreign.id))).unknown,
        "a list begins after a foreign prompt",
    )
    await _delete_all(store)


async def _are_bounded(store: Store) -> None:
    """A tenant has at most a certain number of versions, and their bytes count as stored."""
    await _delete_all(store)
    before = await store.read(sizes.stored_bytes, T)
    created = await new_prompt(store)
    hold(
        await store.read(sizes.stored_bytes, T) == before + len(TEMPLATE),
        "the bytes of a prompt are not counted",
    )
    hold(
        await store.write(prompts.create, T, new_id("pmpt"), b"{}", 1, 1) is None,
        "a prompt exceeds the limit",
    )
    tenant = new_id("tenant")
    several = await asyncio.gather(
        *(store.write(prompts.create, tenant, new_id("pmpt"), b"{}", 1, 3) for _ in range(8))
    )
    count = sum(one is not None for one in several)
    hold(count == 3, f"{count} concurrent prompts were stored within a limit of 3")
    for one in several:
        if one is not None:
            await store.write(prompts.delete, tenant, one.id)
    added = await store.write(prompts.add_version, T, created.id, b"{}", 1, 1, is_default=True)
    hold(added is None, "a version exceeds the limit")
    await store.write(prompts.delete, T, created.id)
    hold(
        await store.read(sizes.stored_bytes, T) == before,
        "the bytes of a deleted prompt are still counted",
    )
