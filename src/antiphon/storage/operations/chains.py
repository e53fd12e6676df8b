"""Measures the length of a chain, without walking up parts of it that were measured before.

The ancestors of a response change only when a response is deleted or expires. Each deletion changes
the tenant's mark in the database, in the same transaction. So a measurement is valid while the mark
is the same and no measured response has expired. Replicas need not notify each other of deletions.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from antiphon.storage.operations.step import (
    FEW_ITEMS,
    NOW,
    Operation,
    announce_read,
    first,
    query_rows,
    reads,
)
from antiphon.storage.records.responses import ChainExtent

STEPS = (2, 32)
"""Responses to read at the end of the chain, first and second try: other servers may have run some
of the turns.
"""

MOST_KNOWN = 20_000
"""Maximum number of responses with known ancestors. If there are more, all measurements are
dropped.
"""


class KnownChain(NamedTuple):
    """The measurement of a response's ancestors, or a lower bound, for a chain that began outside
    conversations.
    """

    above: ChainExtent
    until: float
    """When the first of these responses expires."""
    mark: int


Measured = dict[tuple[str, str], KnownChain]
"""The measurements, by tenant and response."""


class _Step(NamedTuple):
    """A response of a chain, with the tenant's mark."""

    id: str
    parent_id: str | None
    conversation_id: str | None
    conversation_end: int | None
    expires_at: int | None
    items: int
    size: int
    mark: int


NOTHING = ChainExtent(0, False, is_whole=True)
"""The measurement of the ancestors of a chain's first response."""


@reads("measure_chain")
def measure_chain(
    tenant: str, response_id: str, most: int, measured: Measured
) -> Operation[ChainExtent]:
    """Measure a chain. Earlier measurements in `measured` shorten the walk; the new one is added to
    it.
    """
    now: int = yield NOW
    steps: Sequence[_Step] = ()
    known = None
    for count in STEPS:
        steps = [
            _Step(*row)
            for row in (yield from query_rows("steps_up", response_id, tenant, now, count))
        ]
        if not steps:
            return ChainExtent(0, False)
        known = _add_up(tenant, steps, now, measured)
        if known is not None:
            break
    if known is None or not _is_enough(known.above, most):
        known = yield from _walk(tenant, steps[0], now, most - 1)
    if _is_enough(known.above, most) and not known.above.is_in_conversation:
        if len(measured) >= MOST_KNOWN:
            measured.clear()
        measured[tenant, response_id] = known
    extent = _below(known.above, steps[:1])
    return extent if extent.length <= most else replace(extent, length=most, is_whole=False)


def _is_enough(above: ChainExtent, most: int) -> bool:
    """Return whether a chain is measured up to its head, or up to the maximum length."""
    return above.is_whole or above.length >= most - 1


def _add_up(tenant: str, steps: Sequence[_Step], now: int, measured: Measured) -> KnownChain | None:
    """Return the measurement above the first of these responses, or None if the known measurements
    do not cover it.
    """
    mark = steps[0].mark
    for place, step in enumerate(steps):
        is_head = step.parent_id is None and step.conversation_id is None
        known = KnownChain(NOTHING, math.inf, mark) if is_head else measured.get((tenant, step.id))
        if known is not None and known.mark == mark and known.until > now:
            above = steps[1 : place + 1]
            return KnownChain(
                _below(known.above, above),
                min([known.until, *(_end(one.expires_at) for one in above)]),
                mark,
            )
    return None


def _walk(tenant: str, last: _Step, now: int, most: int) -> Operation[KnownChain]:
    """Measure the ancestors of a response, up to `most`."""
    if last.parent_id is None:
        before = yield from _measure_before(tenant, last.conversation_id, last.conversation_end)
        return KnownChain(ChainExtent(0, True, *before, True), math.inf, last.mark)
    (row,) = yield from query_rows(
        "measure_chain", last.parent_id, tenant, now, min(most, FEW_ITEMS)
    )
    if row[0] == FEW_ITEMS < most:
        yield from announce_read(most)
        (row,) = yield from query_rows("measure_chain", last.parent_id, tenant, now, most)
    length, conversation_id, conversation_end, expires_at, with_parent, items, size = row
    if conversation_id is not None:
        more_items, more_size = yield from _measure_before(
            tenant, conversation_id, conversation_end
        )
        items = items + more_items
        size = size + more_size
    is_whole = bool(length) and length == with_parent + 1
    extent = ChainExtent(length, conversation_id is not None, items, size, is_whole)
    return KnownChain(extent, _end(expires_at), last.mark)


def _measure_before(
    tenant: str, conversation_id: str | None, end: int | None
) -> Operation[tuple[int, int]]:
    """Return the number of a conversation's items before a position, and their bytes."""
    row = yield from first("load_conversation", conversation_id, tenant)
    if row is None:
        return 0, 0
    yield from announce_read(row[5])
    ((items, size),) = yield from query_rows("before_extent", conversation_id, end)
    return items, size


def _below(above: ChainExtent, steps: Sequence[_Step]) -> ChainExtent:
    """Return the measurement of a chain that these responses continue."""
    return ChainExtent(
        above.length + len(steps),
        above.is_in_conversation,
        above.items + sum(step.items for step in steps),
        above.size + sum(step.size for step in steps),
        above.is_whole,
    )


def _end(expires_at: int | None) -> float:
    return math.inf if expires_at is None else expires_at
