"""The event logs of background responses: frames of events, which clients replay and follow."""

from collections.abc import Sequence
from itertools import starmap

from antiphon.storage.operations.step import (
    FEW_BYTES,
    NOW,
    Operation,
    Query,
    Rows,
    announce_read,
    query_many,
    reads,
)
from antiphon.storage.records.jobs import EventFrames, Tail

FRAMES_AT_ONCE = 256
"""Maximum number of frames of a log to read in one step."""

FRAME_BYTES = 64 * 1024
"""Maximum bytes of these frames: a reader holds them in memory until its client has read them."""


@reads("tail")
def tail(tenant: str, response_id: str, after: int) -> Operation[Tail | None]:
    """Return the events of a response with numbers greater than `after`, or None if the response is
    unknown.

    The first frames can begin before `after`; frames that end before it are omitted.
    """
    now: int = yield NOW
    # Without `query_rows`, because this runs frequently.
    rows = yield Query("tail", (response_id, tenant, now))
    if not rows:
        return None
    seq, status, is_streamed, generation, item_bytes = rows[0]
    if (
        item_bytes > FEW_BYTES
    ):  # the events are as large, and SQLite reads a whole row to compare its key
        yield from announce_read(1, item_bytes)
    sizes = yield Query("event_sizes", (seq, after, FRAMES_AT_ONCE))
    frames: Rows = []
    if sizes:
        count, size = _fitting([row[0] for row in sizes])
        if size > FRAME_BYTES:
            yield from announce_read(count, size)
        frames = yield Query("events_after", (seq, after, count))
    return Tail(status, bool(is_streamed), generation, list(starmap(EventFrames, frames)))


def _fitting(sizes: Sequence[int]) -> tuple[int, int]:
    """Return how many frames to read in one step (at least one), and their bytes."""
    count = size = 0
    for each in sizes:
        if count and size + each > FRAME_BYTES:
            break
        count = count + 1
        size = size + each
    return count, size


def append(seq: int, frames: Sequence[EventFrames]) -> Operation[None]:
    """Add frames to the log of a response, by the number of its row."""
    yield from query_many("put_events", [(seq, one.first, one.last, one.body) for one in frames])


def size_of(frames: Sequence[EventFrames]) -> int:
    """Return the bytes of frames."""
    size = 0
    for one in frames:
        size += len(one.body)
    return size


def next_number(frames: Sequence[EventFrames]) -> int:
    """Return the number of the event after these frames, or 0 without any."""
    return frames[-1].last + 1 if frames else 0
