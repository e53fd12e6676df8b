"""A response, its items, and the pages of them, as plain values."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from antiphon.storage.records.facts import Facts


@dataclass(frozen=True, slots=True)
class StoredItem:
    """One item as it is kept.

    `body` is the item's JSON as a client sees it. `sealed` is its `encrypted_content`, kept apart because only
    clients that request it see it; None if it has none. An id contains no NUL.
    """

    id: str
    body: bytes
    sealed: str | None = None
    blob: str | None = field(default=None, compare=False)
    """The blob of the tenant to which the body refers, so that it is kept as long as the item. Never read back."""
    blob_size: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class LargeItem(StoredItem):
    """An item that was read without its body and what is sealed with it, which are `size` bytes."""

    size: int = 0


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """One response with its own new input and its output, never its history.

    `body` is the response object's JSON with an empty `output`; `status` overrides the one in it.
    `previous_response_id` names the parent in the chain, None at its head.
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
    """The position in its conversation at which its own items begin: what stands before is its history."""
    expires_at: int | None = None
    """From when on it is unknown; None keeps it until it is deleted."""
    is_stored: bool = True
    """False for unstored background work, which is kept for polling alone: nothing can refer to it."""
    is_streamed: bool = False
    """Its events are kept, and can be replayed."""
    is_partial: bool = False
    """It was read without its items, which are many."""
    facts: Facts | None = field(default=None, compare=False)
    """What is kept of it for lists and timelines, in the same step. Never read back with it."""


@dataclass(frozen=True, slots=True)
class ChainExtent:
    """The number of responses in a chain, and whether one of them belongs to a conversation, as its head may.

    `items` are all that its history has, those of the conversation included, and `size` the bytes of their bodies and
    of what is sealed with them. Where it `is_whole`, its head was found.
    """

    length: int
    is_in_conversation: bool
    items: int = 0
    size: int = 0
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class PageQuery:
    """Which part of a list of items to read: at most `limit` items and `most_bytes`, but at least one item.

    `after` and `before` are ids of items, in the requested order; of items with the same id, the first counts.
    """

    limit: int
    after: str | None = None
    before: str | None = None
    descending: bool = False
    most_bytes: int = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ItemPage:
    """A part of a list. `unknown` is `after` or `before` where that names no item of it; then there is no part."""

    items: Sequence[StoredItem] = ()
    has_more: bool = False
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation without its items, of which `items` counts how many there are, `size` their bytes.

    `metadata` is a JSON object.
    """

    id: str
    created_at: int
    metadata: bytes
    tenant: str = ""
    next_position: int = 0
    items: int = field(default=0, compare=False)
    size: int = field(default=0, compare=False)


class PurgeSize(Struct, frozen=True):
    """What a purge would delete of stored responses: `expired` of about `total`; counted no further than too many."""

    expired: int
    total: int
    is_too_large: bool
    """More than the fraction that one purge may delete, and more than a small store's purge ever is."""
