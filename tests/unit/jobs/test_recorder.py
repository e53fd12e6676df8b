"""How the events of a background response are kept for replay."""

import pytest

from antiphon.jobs.recorder import LARGE, frames_of
from antiphon.protocol.events import ResponseTextDeltaEvent


def delta(number: int, size: int) -> ResponseTextDeltaEvent:
    return ResponseTextDeltaEvent(
        sequence_number=number,
        output_index=0,
        content_index=0,
        item_id="msg_1",
        delta="x" * size,
        obfuscation="",
    )


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1, 1, 1], [(0, 2)]),
        ([LARGE], [(0, 0)]),
        ([1, LARGE, 1], [(0, 0), (1, 1), (2, 2)]),
    ],
)
def test_small_events_are_stored_together_and_separately_next_to_a_large_one(
    sizes: list[int], expected: list[tuple[int, int]]
) -> None:
    events = [delta(number, size) for number, size in enumerate(sizes)]
    frames = frames_of(events)

    assert [(one.first, one.last) for one in frames] == expected
    assert b"".join(one.body for one in frames).count(
        b"event: response.output_text.delta\n"
    ) == len(sizes)
