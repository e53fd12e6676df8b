"""The log of a background response is read in parts of a bounded size, and what is large waits for
its turn.
"""

from collections.abc import AsyncIterator, Sequence

import pytest

from antiphon.errors import StoreError
from antiphon.sharing.scheduler import FairScheduler
from antiphon.storage.operations import event_log, jobs
from antiphon.storage.operations.event_log import FRAME_BYTES, FRAMES_AT_ONCE
from antiphon.storage.operations.step import FEW_BYTES
from antiphon.storage.records.jobs import EventFrames
from antiphon.storage.records.responses import StoredItem
from antiphon.storage.store import Store
from tests.store.making import T, new_response
from tests.support.stores import opened


@pytest.fixture
def reads() -> FairScheduler:
    """Large reads: one at once, and none waits."""
    return FairScheduler(1, 0)


@pytest.fixture
async def store(store_url: str, reads: FairScheduler) -> AsyncIterator[Store]:
    async with opened(store_url, reads=reads) as one:
        yield one


async def logged(store: Store, sizes: Sequence[int], item_bytes: int = 2) -> str:
    """Queue a response with one item, and with a log of frames of these sizes; return its id."""
    response = new_response([StoredItem("msg_1", b"x" * item_bytes)])
    await store.write(
        jobs.enqueue,
        response,
        b"",
        [EventFrames(place, place, b"x" * size) for place, size in enumerate(sizes)],
    )
    return response.id


async def parts(store: Store, response_id: str) -> list[int]:
    """Return how many frames each read of a log returns, until there are no more."""
    after = -1
    found = []
    while (tail := await store.read(event_log.tail, T, response_id, after)) and tail.frames:
        found.append(len(tail.frames))
        after = tail.frames[-1].last
    return found


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([FRAME_BYTES // 2] * 3, [2, 1]),
        ([FRAME_BYTES, 1, 1], [1, 2]),
        ([FRAME_BYTES + 1, FRAME_BYTES + 1], [1, 1]),
        ([1, FRAME_BYTES, 1], [1, 1, 1]),
        ([1] * (FRAMES_AT_ONCE + 1), [FRAMES_AT_ONCE, 1]),
    ],
)
async def test_a_read_returns_as_many_frames_as_fit_and_one_in_any_case(
    store: Store, sizes: list[int], expected: list[int]
) -> None:
    assert await parts(store, await logged(store, sizes)) == expected


async def test_a_reader_that_stopped_within_frames_goes_on_there_whatever_other_logs_hold(
    store: Store,
) -> None:
    wide = new_response(status="queued")
    await store.write(
        jobs.enqueue, wide, b"", [EventFrames(0, 9, b"0-9"), EventFrames(10, 19, b"10-19")]
    )
    await logged(store, [1] * 20)
    for after, expected in ((-1, [0, 10]), (3, [0, 10]), (9, [10]), (12, [10]), (19, [])):
        tail = await store.read(event_log.tail, T, wide.id, after)
        assert tail is not None
        assert [frame.first for frame in tail.frames] == expected


@pytest.mark.parametrize(
    ("frame_bytes", "item_bytes"),
    [(FEW_BYTES + 1, 2), (2, FEW_BYTES + 1)],
    ids=["a frame", "an item"],
)
async def test_a_large_one_waits_for_its_turn_and_a_small_one_does_not(
    store: Store, reads: FairScheduler, frame_bytes: int, item_bytes: int
) -> None:
    large = await logged(store, [frame_bytes], item_bytes)
    small = await logged(store, [FEW_BYTES])
    assert reads.take("another")
    with pytest.raises(StoreError, match="too many large reads are waiting"):
        await store.read(event_log.tail, T, large, -1)
    assert await parts(store, small) == [1]
    reads.leave("another")

    assert await parts(store, large) == [1]
