"""Blobs that items refer to. A blob is kept as long as a response or a conversation has an item
that refers to it.
"""

from antiphon.storage.operations.step import Operation, query_rows, reads
from antiphon.storage.records.responses import StoredItem


def use_by_response(seq: int, tenant: str, item: StoredItem) -> Operation[None]:
    """Keep the blob of a response's item until the response is deleted."""
    yield from query_rows("use_blob_by_response", item.blob, tenant, item.blob_size, seq, item.id)


def use_by_conversation(conversation_id: str, tenant: str, item: StoredItem) -> Operation[None]:
    """Keep the blob of a new conversation item until the item is deleted."""
    yield from query_rows(
        "use_blob_by_conversation", item.blob, tenant, item.blob_size, conversation_id, item.id
    )


def drop(conversation_id: str, item_id: str) -> Operation[None]:
    """Release the blob of an item that is removed from its conversation."""
    yield from query_rows("drop_blob_of_conversation", conversation_id, item_id)


@reads("owns_blob")
def owns(tenant: str, blob: str) -> Operation[bool]:
    """Return whether a blob exists and belongs to the tenant."""
    return bool((yield from query_rows("owns_blob", blob, tenant)))
