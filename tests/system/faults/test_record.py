"""The judges of the fault tests find what is lost: a judge that accepts everything shows
nothing.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from simulation.promises import Reading

from antiphon.jobs.queue import MOST_CRASHES
from tests.support.parts import scripted_parts, stated, stream
from tests.system.faults.cluster import Node
from tests.system.faults.model import Model
from tests.system.faults.record import (
    LEAST,
    Afterwards,
    Record,
    lost,
    take_overs,
    torn_streams,
    vacuous,
)

Frames = list[tuple[int, bytes]]


def without(kind: str) -> Callable[[Frames], Frames]:
    return lambda frames: [
        (number, frame) for number, frame in frames if f'"type": "{kind}"'.encode() not in frame
    ]


def later(frames: Frames) -> Frames:
    return [(number + 5 * (number > 3), frame) for number, frame in frames]


LOSSES: dict[str, Callable[[Frames], Frames]] = {
    "the whole log": lambda frames: [],
    "the end": lambda frames: frames[:-1],
    "the beginning": lambda frames: frames[1:],
    "a delta": without("response.output_text.delta"),
    "an item's end": without("response.output_item.done"),
    "all but the first and the last": lambda frames: [frames[0], frames[-1]],
    "the order": lambda frames: [*frames[:3], frames[4], frames[3], *frames[5:]],
}


async def seen() -> tuple[Record, Afterwards]:
    """What a reader saw of a stream, and the same log."""
    created, _ = scripted_parts(stated("One", "two", "three"))
    events = await stream(created)
    await created.store.close()
    frames = [
        (event["sequence_number"], b"data: " + json.dumps(event).encode()) for event in events
    ]
    response = events[-1]["response"]
    record = Record(readings=[Reading(response["id"], frames, is_whole=True)])
    return record, Afterwards({response["id"]: response}, {response["id"]: [frames, frames]}, {}, 0)


async def test_a_whole_log_is_accepted() -> None:
    record, after = await seen()

    assert list(torn_streams(record, after)) == []


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("frames_seen", [None, 4])
async def test_a_log_that_lost_something_is_found(
    lose: Callable[[Frames], Frames], frames_seen: int | None
) -> None:
    record, after = await seen()
    (reading,), ((response_id, (frames, _)),) = record.readings, after.replays.items()
    reading.frames = frames[:frames_seen]
    reading.is_whole = frames_seen is None
    after.replays[response_id] = [lose(frames), lose(frames)]

    assert list(torn_streams(record, after))


async def test_half_an_item_may_be_dropped_when_a_job_begins_again() -> None:
    """The reader saw the first deltas under numbers that are never given again."""
    record, after = await seen()
    (reading,), ((response_id, (frames, _)),) = record.readings, after.replays.items()
    reading.frames = frames[:6]
    reading.is_whole = False
    after.replays[response_id] = [later(frames)] * 2

    assert list(torn_streams(record, after)) == []


def test_a_run_in_which_nothing_was_acknowledged_shows_nothing() -> None:
    assert len(list(vacuous(Record()))) == 6


def test_a_run_with_enough_of_each_kind_is_accepted() -> None:
    ids = [f"resp_{number}" for number in range(LEAST)]
    record = Record(
        jobs=dict.fromkeys(ids, "q"),
        answers=dict.fromkeys(ids, "q"),
        cancels=set(ids),
        readings=[Reading(one, is_whole=True) for one in ids],
    )
    for one in ids:
        record.ends[one].add("cancelled")
        record.keyed[one].add(one)
        record.turns["conv"].append(one)

    assert list(vacuous(record)) == []


@pytest.mark.parametrize(
    ("outages", "seconds"),
    [([], 12.0), ([104.0], 8.0), ([104.0, 109.0], 3.0), ([98.0], 12.0), ([120.0], 12.0)],
    ids=["none", "one", "two", "before the fault", "after the take-over"],
)
def test_a_take_over_counts_from_when_the_store_could_be_written(
    outages: list[float], seconds: float
) -> None:
    dead, other = (Node(name, Path(), 0, "", "") for name in ("n0", "n1"))
    other.ups.append(50.0)
    dead.faults.append(100.0)
    model = Model(requested={"q": [("n0", 99.0), ("n1", 112.0)]})

    assert take_overs(Record(jobs={"resp_1": "q"}), model, [dead, other], outages) == [seconds]


@pytest.mark.parametrize(("calls", "is_lost"), [(MOST_CRASHES - 1, True), (MOST_CRASHES, False)])
def test_a_job_may_fail_that_too_many_workers_died_of(calls: int, is_lost: bool) -> None:
    failed = {"status": "failed", "error": {"code": "server_error"}}
    model = Model(requested={"q": [("n0", float(at)) for at in range(calls)]})

    assert (
        bool(
            list(
                lost(Record(jobs={"resp_1": "q"}), Afterwards({"resp_1": failed}, {}, {}, 0), model)
            )
        )
        is is_lost
    )
