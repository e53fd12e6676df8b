"""Stored chat completions: single ones and pages. Pages of their messages are in `pages.py`."""

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from antiphon.storage.operations.step import (
    NOW,
    SHIFT,
    UNKNOWN_ITEMS,
    Operation,
    Row,
    announce_read,
    first,
    query_many,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.records.chat_completions import CompletionQuery, StoredCompletion
from antiphon.storage.records.pages import Page

BEFORE_ALL = 0
BEHIND_ALL = 2**63 - 1
"""A number that is greater than that of any completion."""


@writes("save_completion")
def save(completion: StoredCompletion) -> Operation[None]:
    """Store a new completion with its messages. It is durable when this returns."""
    size = sum(map(len, completion.messages))
    expires_at = completion.expires_at + (yield SHIFT)
    values = completion.id, completion.tenant, expires_at, *map(_text, completion.models)
    tags = _tags(msgspec.json.decode(completion.metadata))
    ((seq,),) = yield from query_rows(
        "put_completion", *values, tags, size, completion.metadata, completion.body
    )
    rows = [(seq, position, body) for position, body in enumerate(completion.messages)]
    yield from query_many("put_completion_message", rows)


@reads("load_completion")
def load(tenant: str, completion_id: str) -> Operation[StoredCompletion | None]:
    """Return the completion without its messages, or None if it is unknown."""
    now: int = yield NOW
    size = yield from first("completion_size", completion_id, tenant, now)
    if size is None:
        return None
    yield from announce_read(1, size[0])
    row = yield from first("load_completion", completion_id, tenant, now)
    return _completion(row) if row else None


@writes("update_completion")
def update(tenant: str, completion_id: str, metadata: bytes) -> Operation[StoredCompletion | None]:
    """Replace the metadata, a JSON object of strings; return the completion without its messages,
    or None.
    """
    now: int = yield NOW
    tags = _tags(msgspec.json.decode(metadata))
    yield from query_rows("update_completion", completion_id, tenant, now, metadata, tags)
    return (yield from load(tenant, completion_id))


@writes("delete_completion", frees=True)
def delete(tenant: str, completion_id: str) -> Operation[bool]:
    """Delete the completion and its messages; return False if it is unknown."""
    now: int = yield NOW
    return bool((yield from query_rows("delete_completion", completion_id, tenant, now)))


@reads("completion_page")
def page(tenant: str, query: CompletionQuery) -> Operation[Page[StoredCompletion]]:
    """Return one page of the tenant's completions, without their messages."""
    now: int = yield NOW
    place = BEHIND_ALL if query.descending else BEFORE_ALL
    if query.after is not None:
        row = yield from first("completion_place", query.after, tenant, now)
        if row is None:
            return Page(unknown="after")
        place = row[0]
    if query.model is not None or query.metadata:
        yield from announce_read(UNKNOWN_ITEMS)  # it may compare all completions of the tenant
    name = "completions_down" if query.descending else "completions_up"
    model = None if query.model is None else _text(query.model)
    wanted = tenant, place, now, model, _pattern(query.metadata)
    sizes = [row[0] for row in (yield from query_rows(f"{name}_sizes", *wanted, query.limit + 1))]
    count = size = 0
    while count < min(len(sizes), query.limit) and (
        not count or size + sizes[count] <= query.most_bytes
    ):
        size += sizes[count]
        count += 1
    yield from announce_read(count, size)
    rows = (yield from query_rows(name, *wanted, count)) if count else ()
    return Page([_completion(row) for row in rows], count < len(sizes))


def _completion(row: Row) -> StoredCompletion:
    key, body, model, requested_model, metadata, tenant, expires_at = row
    return StoredCompletion(key, body, (model, requested_model), metadata, (), tenant, expires_at)


def _text(name: str) -> str:
    """Remove NULs, which a backend may have sent but PostgreSQL's text does not accept."""
    return name.replace("\0", "\ufffd")


def _tags(metadata: Mapping[str, str]) -> str:
    """Return a digest of each pair, sorted, so that one pattern can find any combination of
    them.
    """
    return ",".join(
        sorted(sha256(msgspec.json.encode(pair)).hexdigest()[:32] for pair in metadata.items())
    )


def _pattern(metadata: Mapping[str, str]) -> str:
    """Return an SQL pattern for `tags` that contain these pairs."""
    return f"%{_tags(metadata).replace(',', '%')}%"
