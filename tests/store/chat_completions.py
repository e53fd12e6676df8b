"""Promises about chat completions and the messages of their requests."""

import time

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import chat_completions, pages
from antiphon.storage.operations import sizes as stored_sizes
from antiphon.storage.records.chat_completions import CompletionQuery, StoredCompletion
from antiphon.storage.records.responses import PageQuery, StoredItem
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.making import T, hold

OTHER = T + "2"


def _new(
    tenant: str = T, metadata: bytes = b"{}", models: tuple[str, str] = ("m-1", "m")
) -> StoredCompletion:
    messages = [b'{"role":"system"}', b'{"role":"user"}', b'{"role":"assistant"}']
    until = int(time.time()) + 600
    return StoredCompletion(
        new_id("chatcmpl"), b'{"a":"\\u0000"}', models, metadata, messages, tenant, until
    )


def _read(completion: StoredCompletion) -> StoredCompletion:
    """Return a completion as it is read: without its messages."""
    return replace(completion, messages=())


async def _listed(store: Store, tenant: str, query: CompletionQuery) -> list[str]:
    return [one.id for one in (await store.read(chat_completions.page, tenant, query)).data]


async def _is_stored(store: Store) -> None:
    """A chat completion is returned with its metadata, which can be replaced, until it is
    deleted.
    """
    one = _new(metadata=b'{"a":"b"}')
    await store.write(chat_completions.save, one)
    found = await store.read(chat_completions.load, T, one.id)
    hold(found is not None and _read(found) == _read(one), f"it is returned as {found}")
    changed = await store.write(chat_completions.update, T, one.id, b'{"c":"d"}')
    hold(changed is not None and changed.metadata == b'{"c":"d"}', f"changed, it is {changed}")
    hold(
        await store.read(chat_completions.load, T, one.id) == changed,
        "its new metadata is not stored",
    )
    hold(await store.write(chat_completions.delete, T, one.id), "it was not deleted")
    hold(await store.read(chat_completions.load, T, one.id) is None, "a deleted one is found")
    hold(
        await store.read(pages.completion_messages, T, one.id, PageQuery(2)) is None,
        "a deleted one has messages",
    )
    hold(
        await store.write(chat_completions.update, T, one.id, b"{}") is None,
        "a deleted one was changed",
    )
    hold(not await store.write(chat_completions.delete, T, one.id), "it was deleted twice")


async def _is_its_tenants(store: Store) -> None:
    """A chat completion is unknown to other tenants, in each method."""
    one = _new()
    await store.write(chat_completions.save, one)
    found = [
        await store.read(chat_completions.load, OTHER, one.id),
        await store.write(chat_completions.update, OTHER, one.id, b'{"x":"y"}'),
        await store.read(pages.completion_messages, OTHER, one.id, PageQuery(2)),
    ]
    hold(found == [None] * 3, f"another tenant receives {found}")
    hold(not await store.write(chat_completions.delete, OTHER, one.id), "another tenant deleted it")
    hold(
        one.id not in await _listed(store, OTHER, CompletionQuery(100)),
        "it is listed for another tenant",
    )
    behind = await store.read(chat_completions.page, OTHER, CompletionQuery(1, one.id))
    hold(behind.unknown, "another tenant can list what follows it")
    hold(
        await store.read(chat_completions.load, T, one.id) == _read(one),
        "another tenant changed it",
    )
    await store.write(chat_completions.delete, T, one.id)


async def _messages_are_paged(store: Store) -> None:
    """The messages of a completion are listed in both directions, starting after any of them, up to
    a limit.
    """
    one = _new()
    await store.write(chat_completions.save, one)
    items = [StoredItem(f"{one.id}-{place}", body) for place, body in enumerate(one.messages)]
    for descending in (False, True):
        order = items[::-1] if descending else items
        for start in range(3):
            after = order[start - 1].id if start else None
            page = await store.read(
                pages.completion_messages, T, one.id, PageQuery(2, after, descending=descending)
            )
            if page is None:
                raise AssertionError("a completion has no messages")
            hold(list(page.data) == order[start : start + 2], f"after {after} are {page.data}")
            hold(page.has_more is (start == 0), f"after {after} there are more: {page.has_more}")
    for unknown in (f"{one.id}-3", f"{one.id}-01", f"{one.id}-", "msg_1", f"{one.id}--1"):
        page = await store.read(pages.completion_messages, T, one.id, PageQuery(2, unknown))
        hold(
            page is not None and page.unknown == "after",
            f"after {unknown}, which is not the id of a message, is {page}",
        )
    await store.write(chat_completions.delete, T, one.id)


async def _is_paged(store: Store) -> None:
    """Completions are listed in the order of storage or in reverse, starting after any of them, up
    to a limit.
    """
    tenant = new_id("tenant")
    all_ = [_new(tenant) for _ in range(5)]
    for one in all_:
        await store.write(chat_completions.save, one)
    for descending in (False, True):
        order = [one.id for one in (all_[::-1] if descending else all_)]
        for start in (0, 1, 4, 5):
            query = CompletionQuery(2, order[start - 1] if start else None, descending)
            page = await store.read(chat_completions.page, tenant, query)
            found = [one.id for one in page.data]
            hold(
                found == order[start : start + 2],
                f"after {start} are {found}, descending is {descending}",
            )
            hold(page.has_more is (start + 2 < 5), f"after {start} there are more: {page.has_more}")
    few = await store.read(chat_completions.page, tenant, CompletionQuery(5, most_bytes=40))
    hold(0 < len(few.data) < 5 and few.has_more, "a page exceeds its limit of bytes")
    one_at_least = await store.read(chat_completions.page, tenant, CompletionQuery(5, most_bytes=1))
    hold(
        [one.id for one in one_at_least.data] == [all_[0].id],
        "a large completion is never listed",
    )
    for one in all_:
        await store.write(chat_completions.delete, tenant, one.id)


async def _is_filtered(store: Store) -> None:
    """A list has the completions of a model, by either name, and those with each requested pair of
    metadata.
    """
    tenant = new_id("tenant")
    first = _new(tenant, b'{"a":"1","b":"2","c":"3"}')
    second = _new(tenant, b'{"a":"1","b":"%","A":"2"}', ("m-2", "m"))
    third = _new(tenant, models=("other", "o\0"))
    for one in (first, second, third):
        await store.write(chat_completions.save, one)
    await store.write(
        chat_completions.update, tenant, third.id, '{"a":"ü\\u0000","a=1":""}'.encode()
    )
    for model, metadata, answer in (
        (None, {}, [first, second, third]),
        ("m", {}, [first, second]),
        ("m-2", {}, [second]),
        ("o\0", {}, [third]),
        ("M", {}, []),
        (None, {"a": "1"}, [first, second]),
        (None, {"c": "3", "a": "1"}, [first]),
        (None, {"b": "%"}, [second]),
        (None, {"a": "2"}, []),
        (None, {"a": "ü\0", "a=1": ""}, [third]),
        ("m-1", {"a": "1"}, [first]),
    ):
        found = await _listed(store, tenant, CompletionQuery(10, model=model, metadata=metadata))
        hold(
            found == [one.id for one in answer],
            f"by model {model} and metadata {metadata} there are {found}",
        )
    behind = await _listed(store, tenant, CompletionQuery(1, first.id, metadata={"a": "1"}))
    hold(behind == [second.id], f"after the first match is {behind}")
    for one in (first, second, third):
        await store.write(chat_completions.delete, tenant, one.id)


async def _expires(store: Store) -> None:
    """A chat completion that has expired is unknown, and `purge` deletes it."""
    tenant = new_id("tenant")
    old = replace(_new(tenant), expires_at=int(time.time()) - 1)
    await store.write(chat_completions.save, old)
    found = [
        await store.read(chat_completions.load, tenant, old.id),
        await store.write(chat_completions.update, tenant, old.id, b"{}"),
    ]
    hold(found == [None, None], f"of an expired one there is {found}")
    hold(await _listed(store, tenant, CompletionQuery(10)) == [], "an expired one is listed")
    hold(
        await store.read(pages.completion_messages, tenant, old.id, PageQuery(2)) is None,
        "an expired one has messages",
    )
    hold(
        (await purge(store, dry_run=True))["chat_completions"] >= 1, "an expired one is not counted"
    )
    hold((await purge(store))["chat_completions"] >= 1, "an expired one is not deleted")
    hold((await purge(store))["chat_completions"] == 0, "an expired one still exists")


async def _bytes_are_exact(store: Store) -> None:
    """The bytes of chat completions, their metadata and messages count as stored by their tenant,
    exactly.
    """
    tenant = new_id("tenant")
    one = _new(tenant, b'{"a":"b"}')
    rest = len(one.body) + sum(map(len, one.messages))
    sizes = []
    await store.write(chat_completions.save, one)
    sizes.append(await store.read(stored_sizes.stored_bytes, tenant) - rest)
    await store.write(chat_completions.update, tenant, one.id, b"{}")
    sizes.append(await store.read(stored_sizes.stored_bytes, tenant) - rest)
    await store.write(chat_completions.delete, tenant, one.id)
    sizes.append(await store.read(stored_sizes.stored_bytes, tenant))
    await store.write(chat_completions.save, replace(one, expires_at=1))
    await purge(store)
    sizes.append(await store.read(stored_sizes.stored_bytes, tenant))
    hold(
        sizes == [9, 2, 0, 0],
        f"stored, changed, deleted and purged it counts {sizes} instead of 9, 2, 0 and 0",
    )
