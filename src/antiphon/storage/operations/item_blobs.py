"""What items keep in blobs, as acts: a blob stays as long as a response or a conversation has an item with it."""

from collections.abc import Sequence

from antiphon.storage.operations.step import Operation, ask, ask_many
from antiphon.storage.records import StoredItem, StoredResponse


def has_blobs(response: StoredResponse) -> bool:
    """Whether an item of a response refers to a blob."""
    for items in (response.input, response.output):
        for item in items:
            if item.blob is not None:
                return True
    return False


def use_by_response(seq: int, tenant: str, items: Sequence[StoredItem]) -> Operation[None]:
    """Keep the blobs of a response's items as long as the response."""
    rows = [(item.blob, tenant, item.blob_size, seq, item.id) for item in items if item.blob is not None]
    yield from ask_many("use_blob_by_response", rows)


def use_by_conversation(conversation_id: str, tenant: str, items: Sequence[StoredItem]) -> Operation[None]:
    """Keep the blobs of a conversation's new items as long as these."""
    rows = [(item.blob, tenant, item.blob_size, conversation_id, item.id) for item in items if item.blob is not None]
    yield from ask_many("use_blob_by_conversation", rows)


def drop(conversation_id: str, item_id: str) -> Operation[None]:
    """Release the blob of an item that leaves its conversation."""
    yield from ask("drop_blob_of_conversation", conversation_id, item_id)


def owns(tenant: str, blob: str) -> Operation[bool]:
    """Whether a blob is there, and the tenant's."""
    return bool((yield from ask("owns_blob", blob, tenant)))
