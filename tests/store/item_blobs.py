"""Promises about blobs that items refer to: the images of `image_generation_call` items."""

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import conversations, files, item_blobs, jobs, responses, sizes
from antiphon.storage.records.responses import StoredConversation, StoredItem
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from tests.store.files import HOLD, stale
from tests.store.making import T, hold, new_response

SIZE = 1000


async def new_image(store: Store, tenant: str = T) -> StoredItem:
    """Return an item with a blob, which was begun."""
    blob = new_id("row")
    await store.write(files.begin, tenant, blob, HOLD)
    return StoredItem(new_id("ig"), b'{"result":"kept"}', None, blob, SIZE)


async def _lives_with_its_responses(store: Store) -> None:
    """A blob is stale once the last response with an item that refers to it is deleted."""
    tenant = new_id("tenant")
    item = await new_image(store, tenant)
    first = replace(new_response((), [item]), tenant=tenant)
    second = replace(new_response([item]), tenant=tenant)
    for response in (first, second, second):
        await store.save(response)
    hold(
        await store.read(sizes.stored_bytes, tenant) >= 2 * SIZE,
        "the bytes of blobs are not counted as stored",
    )
    await store.write(responses.delete, tenant, first.id)
    hold(await stale(store, str(item.blob)) == set(), "it is stale while a response has it")
    hold(await store.read(item_blobs.owns, tenant, str(item.blob)), "it is unknown to its tenant")
    hold(not await store.read(item_blobs.owns, T, str(item.blob)), "it is known to another tenant")
    await store.write(responses.delete, tenant, second.id)
    hold(
        await store.read(sizes.stored_bytes, tenant) == 0,
        "the bytes of nothing are counted as stored",
    )
    hold(await stale(store, str(item.blob)) == {item.blob}, "it is not stale without a response")
    hold(
        not await store.read(item_blobs.owns, tenant, str(item.blob)),
        "it is known after it was deleted",
    )


async def _expires(store: Store) -> None:
    """A blob is stale once its response has expired and was purged."""
    item = await new_image(store)
    await store.save(new_response((), [item], until=1))
    await purge(store)
    hold(await stale(store, str(item.blob)) == {item.blob}, "it is not stale")


async def _lives_with_its_conversation(store: Store) -> None:
    """A blob remains until no conversation has an item that refers to it."""
    tenant = new_id("tenant")
    first = await new_image(store, tenant)
    second = await new_image(store, tenant)
    conversation = StoredConversation(new_id("conv"), 1000, b"{}", tenant)
    await store.write(conversations.create, conversation, [first])
    await store.write(conversations.add, tenant, conversation.id, [second])
    blobs = str(first.blob), str(second.blob)
    hold(await stale(store, *blobs) == set(), "one is stale while the conversation has it")
    await store.write(conversations.delete_item, tenant, conversation.id, first.id)
    hold(await stale(store, *blobs) == {first.blob}, "the blob of a deleted item is not stale")
    await store.write(conversations.delete, tenant, conversation.id)
    hold(
        await stale(store, *blobs) == {second.blob},
        "the blob of a deleted conversation is not stale",
    )
    hold(
        await store.read(sizes.stored_bytes, tenant) == 0,
        "the bytes of nothing are counted as stored",
    )


async def _lives_with_its_job(store: Store) -> None:
    """A blob that background work created remains when the work ends, and is deleted with its
    response.
    """
    item = await new_image(store)
    queued = new_response(status="queued")
    await store.write(jobs.enqueue, queued, b"{}", [])
    job = await store.read(jobs.find_job, T, queued.id)
    if job is None:
        raise AssertionError("a queued response has no job")
    await store.write(jobs.finish, job, replace(queued, status="completed", output=[item]), [])
    hold(await stale(store, str(item.blob)) == set(), "it is stale while the response has it")
    await store.write(responses.delete, T, queued.id)
    hold(await stale(store, str(item.blob)) == {item.blob}, "it is not stale without the response")


async def _are_the_tenants_own(store: Store) -> None:
    """An item that names a blob of another tenant, or an unknown blob, keeps nothing."""
    item = await new_image(store, new_id("tenant"))
    unknown = replace(item, id=new_id("ig"), blob=new_id("row"))
    response = new_response((), [item, unknown])
    await store.save(response)
    hold(await stale(store, str(item.blob)) == set(), "a blob in its time is stale")
    await store.write(responses.delete, T, response.id)
    hold(await stale(store, str(item.blob)) == set(), "another tenant's response makes it stale")
