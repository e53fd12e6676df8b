"""How long a chain is, found without a walk up all of it where its upper part was measured before.

What stands above a response changes only when a response is deleted or expires. Each deletion changes the tenant's mark
in the database, in the same transaction. So what was measured holds as long as the mark is the same and none of it has
expired. Replicas need no notification of each other's deletions for that.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from antiphon.storage.operations.step import FEW_ITEMS, Operation, announce_read, ask, first
from antiphon.storage.records import ChainExtent

STEPS = (2, 32)
"""Responses that are read at the chain's end, at first and then: others may have made some turns elsewhere."""

MOST_KNOWN = 20_000
"""Responses of which it is known what stands above them. All are forgotten where there are more."""


class Known(NamedTuple):
    """What stands above a response, or at least stands there, of a chain that began in no conversation."""

    above: ChainExtent
    until: float
    """The time at which the first of it expires."""
    mark: int


Measured = dict[tuple[str, str], Known]
"""What is known, by tenant and response."""


class _Step(NamedTuple):
    """A response of a chain, and the tenant's mark."""

    id: str
    parent_id: str | None
    conversation_id: str | None
    conversation_end: int | None
    expires_at: int | None
    items: int
    size: int
    mark: int


NOTHING = ChainExtent(0, False, is_whole=True)
"""What stands above a head."""


def measure_chain(tenant: str, response_id: str, now: int, most: int, measured: Measured) -> Operation[ChainExtent]:
    """Measure a chain; what was `measured` of its upper part spares the walk up, and what is found is added to it."""
    steps: Sequence[_Step] = ()
    known = None
    for count in STEPS:
        steps = [_Step(*row) for row in (yield from ask("steps_up", response_id, tenant, now, count))]
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
    """Whether a chain is known up to its head, or as far as it is counted."""
    return above.is_whole or above.length >= most - 1


def _add_up(tenant: str, steps: Sequence[_Step], now: int, measured: Measured) -> Known | None:
    """Return what stands above the first of these responses, None where that does not follow from what is known."""
    mark = steps[0].mark
    for place, step in enumerate(steps):
        is_head = step.parent_id is None and step.conversation_id is None
        known = Known(NOTHING, math.inf, mark) if is_head else measured.get((tenant, step.id))
        if known is not None and known.mark == mark and known.until > now:
            above = steps[1 : place + 1]
            return Known(_below(known.above, above), min([known.until, *(_end(one.expires_at) for one in above)]), mark)
    return None


def _walk(tenant: str, last: _Step, now: int, most: int) -> Operation[Known]:
    """Measure what stands above a response, at most so many of them."""
    if last.parent_id is None:
        before = yield from _measure_before(tenant, last.conversation_id, last.conversation_end)
        return Known(ChainExtent(0, True, *before, True), math.inf, last.mark)
    (row,) = yield from ask("measure_chain", last.parent_id, tenant, now, min(most, FEW_ITEMS))
    if row[0] == FEW_ITEMS < most:
        yield from announce_read(most)
        (row,) = yield from ask("measure_chain", last.parent_id, tenant, now, most)
    length, conversation_id, conversation_end, expires_at, with_parent, items, size = row
    if conversation_id is not None:
        more_items, more_size = yield from _measure_before(tenant, conversation_id, conversation_end)
        items, size = items + more_items, size + more_size
    is_whole = bool(length) and length == with_parent + 1
    extent = ChainExtent(length, conversation_id is not None, items, size, is_whole)
    return Known(extent, _end(expires_at), last.mark)


def _measure_before(tenant: str, conversation_id: str | None, end: int | None) -> Operation[tuple[int, int]]:
    """Count what stood in a conversation before a place, and its bytes."""
    row = yield from first("load_conversation", conversation_id, tenant)
    if row is None:
        return 0, 0
    yield from announce_read(row[5])
    ((items, size),) = yield from ask("before_extent", conversation_id, end)
    return items, size


def _below(above: ChainExtent, steps: Sequence[_Step]) -> ChainExtent:
    """Return the extent of a chain that continues with these responses."""
    return ChainExtent(
        above.length + len(steps),
        above.is_in_conversation,
        above.items + sum(step.items for step in steps),
        above.size + sum(step.size for step in steps),
        above.is_whole,
    )


def _end(expires_at: int | None) -> float:
    return math.inf if expires_at is None else expires_at
