"""A response, its items, and pages of items, as plain values."""

from collections.abc import Sequence

from msgspec import Struct

from antiphon.storage.records.facts import Facts


class StoredItem(Struct, frozen=True):
    """One stored item.

    `body` is the item's JSON as clients see it. `sealed` is its `encrypted_content`, or None. It is
    stored separately because only clients that request it receive it. Ids contain no NUL.
    """

    id: str
    body: bytes
    sealed: str | None = None
    blob: str | None = None
    """The tenant's blob that the body refers to. It is kept as long as the item. Never read
    back.
    """
    blob_size: int = 0


class LargeItem(StoredItem, frozen=True):
    """An item that was read without its body and its sealed content, which have `size` bytes
    together.
    """

    size: int = 0


class StoredResponse(Struct, frozen=True):
    """One response with its own new input and its output, without its history.

    `body` is the response object's JSON with an empty `output`; `status` overrides the status in
    the body. `previous_response_id` is the id of its parent in the chain, or None for the first
    response.
    """

    id: str
    created_at: int
    status: str
    previous_response_id: str | None
    body: bytes
    input: Sequence[StoredItem] = ()
    output: Sequence[StoredItem] = ()
    tenant: str = ""
    conversation_id: str | None = None
    conversation_end: int | None = None
    """The position in the conversation at which its own items begin. The items before it are its
    history.
    """
    expires_at: int | None = None
    """When the response expires; None means that it is kept until it is deleted."""
    is_stored: bool = True
    """False for background responses with `store: false`. They can be polled, but no request can
    refer to them.
    """
    is_streamed: bool = False
    """Whether its events are stored, so that they can be replayed."""
    is_partial: bool = False
    """Whether it was read without its items, because they are many."""
    facts: Facts | None = None
    """Its facts for lists and timelines, stored in the same transaction. Never read back with
    it.
    """


class ChainExtent(Struct, frozen=True):
    """The number of responses in a chain, and whether one of them (only the first can) belongs to a
    conversation.

    `items` counts all items of the history, including those of the conversation, and `size` the
    bytes of their bodies and sealed contents. `is_whole` means that the measurement reached the
    head of the chain.
    """

    length: int
    is_in_conversation: bool
    items: int = 0
    size: int = 0
    is_whole: bool = False


class PageQuery(Struct, frozen=True):
    """Which items of a list to read: up to `limit` items and `most_bytes`, but at least one item.

    `after` and `before` are ids of items, in the requested order. If several items have the same
    id, the first counts.
    """

    limit: int
    after: str | None = None
    before: str | None = None
    descending: bool = False
    most_bytes: int = 8 * 1024 * 1024


class StoredConversation(Struct, frozen=True):
    """A conversation without its items. `items` is their number, and `size` their total bytes.

    `metadata` is a JSON object.
    """

    id: str
    created_at: int
    metadata: bytes
    tenant: str = ""
    next_position: int = 0
    items: int = 0
    size: int = 0


class ConversationOutline(Struct):
    """What a list shows of a conversation: the bodies of its first items, and sums over the
    responses that its newest items belong to.
    """

    items: list[bytes] = []
    model: str = ""
    """The model of the newest response; empty without a stored response."""
    cost: int | None = None
    """In nano-units; None if no response has a price."""
    responses: int = 0
    words: str = ""
    """The beginning of the input of the oldest response."""


class PurgeSize(Struct, frozen=True):
    """The size of a purge of stored responses: `expired` of about `total`.

    Counting stops once there are too many.
    """

    expired: int
    total: int
    is_too_large: bool
    """Whether the purge exceeds both the allowed fraction and the number of responses that any
    purge can delete.
    """
