"""The event log of a response: which statements read a part of it, and which reads are announced as
large.
"""

import pytest

from antiphon.storage.operations import event_log
from antiphon.storage.operations.event_log import FRAME_BYTES, FRAMES_AT_ONCE
from antiphon.storage.operations.step import FEW_BYTES, Query, ReadSize
from antiphon.storage.records.jobs import EventFrames, Tail
from tests.store.making import T
from tests.support.statements import statements_of

EVENTS = [(5, 5, b"x")]


@pytest.mark.parametrize("size", [FEW_BYTES, FEW_BYTES + 1])
def test_the_events_of_a_large_response_are_announced(size: int) -> None:
    tail = statements_of(event_log.tail(T, "resp_1", 4), 1000)

    assert next(tail) == Query("tail", ("resp_1", T, 1000))
    step = tail.send([(7, "in_progress", 1, 3, size)])
    if size > FEW_BYTES:
        assert step == ReadSize(1, size)
        step = next(tail)
    assert step == Query("event_sizes", (7, 4, FRAMES_AT_ONCE))
    with pytest.raises(StopIteration) as ended:
        tail.send([])
    assert ended.value.value == Tail("in_progress", True, 3, [])


@pytest.mark.parametrize(
    ("sizes", "count", "announced"),
    [
        ([1], 1, None),
        ([FRAME_BYTES], 1, None),
        ([1, FRAME_BYTES - 1, 1], 2, None),
        ([FRAME_BYTES, 1], 1, None),
        ([FRAME_BYTES + 1, 1], 1, FRAME_BYTES + 1),
        ([1, 2, 3], 3, None),
    ],
)
def test_so_many_events_are_read_as_fit_and_one_at_least(
    sizes: list[int], count: int, announced: int | None
) -> None:
    tail = statements_of(event_log.tail(T, "resp_1", 4), 1000)
    next(tail)
    tail.send([(7, "in_progress", 0, 3, 1)])
    step = tail.send([(size,) for size in sizes])
    if announced is not None:
        assert step == ReadSize(1, announced)
        step = next(tail)

    assert step == Query("events_after", (7, 4, count))
    with pytest.raises(StopIteration) as ended:
        tail.send(EVENTS)
    assert ended.value.value == Tail("in_progress", False, 3, [EventFrames(5, 5, b"x")])
