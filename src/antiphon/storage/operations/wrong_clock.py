"""Sums after a clock that was ahead.

`figures.sum_up` has then added responses of a time that is still to come, and all responses that
began before the end of the sums are missing from figures. `move_back` moves that end to the
present.
"""

from antiphon.storage.operations.step import Operation, first, query_rows

AT_ONCE = 2_000
"""Maximum number of responses that one step marks."""


def move_back(until: int, now: int) -> Operation[bool]:
    """Move the end of the sums from `until` back to `now` (seconds) or earlier; return whether more
    steps remain.

    What began from there on while the clock was ahead is in the sums already: it is marked, so that
    it is not added again.
    """
    ahead = yield from first("newest_ahead", now * 1000)
    last = (ahead and ahead[0]) or 0
    # Rows are numbered in the order in which they were written, so later ones have the right time.
    # Without any that is ahead, no row shows since when the clock is right.
    right = (yield from first("first_after", last)) if last else None
    begin = min(now * 1000, right[0] if right and right[0] is not None else now * 1000)
    marked = yield from query_rows("mark_summed", begin, until * 1000, last, AT_ONCE)
    if len(marked) == AT_ONCE:
        return True
    yield from query_rows("set_summed", begin // 1000)
    return False
