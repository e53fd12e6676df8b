"""Facts about responses: stored with the response or alone, and read in pages."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from antiphon.storage.operations.figures import add_late
from antiphon.storage.operations.step import (
    NOW,
    Operation,
    first,
    query_many,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.records.facts import LATE, SUMMED, Facts
from antiphon.storage.records.responses import StoredResponse

COLUMNS = Facts.__struct_fields__
"""The columns of `facts` in the order of `put_facts`."""

LISTED = COLUMNS[:-2]
"""The columns that lists read: all except the spans and the bodies."""

TEXTS = [place for place, name in enumerate(COLUMNS) if Facts.__annotations__[name] is str]
"""The indexes of the columns that contain text."""


def put(facts: Facts | None) -> Operation[None]:
    """Store the facts of a response, if it has any."""
    if facts is not None:
        yield from put_all([facts])


@writes("put_facts", is_of_all=True)
def put_new(facts: Sequence[Facts]) -> Operation[None]:
    """Store facts. They replace earlier facts with the same id.

    Facts of a response that began long ago add themselves to the sums: `figures.sum_up` only adds
    later ones.
    """
    late = 1000 * (yield NOW) - LATE
    yield from put_all(
        [one if one.began > late or one.ended is None else _summed(one) for one in facts]
    )


def _summed(facts: Facts) -> Facts:
    return replace(facts, flags=facts.flags | SUMMED)


def put_all(facts: Sequence[Facts]) -> Operation[None]:
    """Store facts. They replace earlier facts with the same id."""
    known = set[str]()
    for one in facts:
        if one.flags & SUMMED:
            known.update(row[0] for row in (yield from query_rows("ended_facts", one.id)))
    yield from query_many("put_facts", [facts_row(one) for one in facts])
    yield from add_late([one for one in facts if one.id not in known])


def forget_words(tenant: str, response_id: str) -> Operation[None]:
    """Delete all facts of a deleted response except its numbers."""
    yield from query_rows("forget_words", response_id, tenant, b"")


def facts_of(responses: Sequence[StoredResponse]) -> list[Facts]:
    """Return the facts of these responses."""
    return [response.facts for response in responses if response.facts is not None]


def facts_row(facts: Facts) -> tuple[Any, ...]:
    """Return the columns in the order of `put_facts`, without characters that PostgreSQL's text
    does not accept.
    """
    row = [getattr(facts, name) for name in COLUMNS]
    for place in TEXTS:
        if "\0" in row[place]:
            row[place] = row[place].replace("\0", "\ufffd")
    return tuple(row)


@reads("spans")
def spans(tenant: str, response_id: str) -> Operation[bytes | None]:
    """Return the spans of a response as they were stored, or None."""
    row = yield from first("load_spans", response_id, tenant)
    return row[0] or None if row else None


@reads("bodies")
def bodies(tenant: str, response_id: str) -> Operation[bytes | None]:
    """Return the stored requests that backends received for a response, or None if they were not
    stored.
    """
    row = yield from first("load_bodies", response_id, tenant)
    return row[0] or None if row else None
