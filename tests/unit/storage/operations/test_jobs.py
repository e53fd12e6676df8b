"""Background work: which statements an operation makes, and which reads it announces as large."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.storage.operations import jobs
from antiphon.storage.operations.jobs import AT_ONCE, NEARLY, to_return
from antiphon.storage.operations.leases import QUEUE
from antiphon.storage.operations.responses import ANY_SIZE, response_row
from antiphon.storage.operations.step import FEW_BYTES, FEW_ITEMS, Query, ReadSize
from antiphon.storage.records.jobs import ONE_SLOT, Job, LockResult, Reservation, Slots
from antiphon.storage.records.tenants import StoredReply
from tests.store.making import T, new_items, new_response
from tests.support.statements import statements_of

MOST = 150


@pytest.mark.parametrize("waiting", [MOST - NEARLY, MOST - 1])
def test_a_queue_that_is_nearly_full_is_counted_again_alone(waiting: int) -> None:
    enqueue = statements_of(
        jobs.enqueue(new_response(status="queued"), b"", [], None, Reservation(), most=MOST)
    )

    assert next(enqueue) == Query("count_waiting", (T, MOST, ""))
    assert enqueue.send([(waiting,)]) == Query("lock_worker", (QUEUE,))
    assert enqueue.send([(0,)]) == Query("count_waiting", (T, MOST, ""))
    with pytest.raises(StopIteration) as ended:
        enqueue.send([(MOST,)])
    assert ended.value.value is LockResult.FULL


def test_a_queue_with_free_capacity_does_not_wait() -> None:
    enqueue = statements_of(
        jobs.enqueue(new_response(status="queued"), b"", [], None, Reservation(), most=MOST)
    )
    next(enqueue)
    step = enqueue.send([(MOST - NEARLY - 1,)])

    assert isinstance(step, Query) and step.query == "put_response"


def test_a_full_queue_is_full_without_waiting() -> None:
    enqueue = statements_of(
        jobs.enqueue(new_response(status="queued"), b"", [], None, Reservation(), most=MOST)
    )
    next(enqueue)
    with pytest.raises(StopIteration) as ended:
        enqueue.send([(MOST,)])

    assert ended.value.value is LockResult.FULL


def test_a_response_with_a_used_idempotency_key_is_not_queued() -> None:
    queued = new_response(status="queued")
    enqueue = statements_of(
        jobs.enqueue(queued, b"", [], StoredReply(T, "key", True, b"{}"), Reservation())
    )

    assert next(enqueue) == Query("put_reply", (T, "key", queued.id, 1, b"{}"))
    assert enqueue.send([]) == Query("let_go", (None, queued.id))
    with pytest.raises(StopIteration) as ended:
        enqueue.send([])
    assert ended.value.value is LockResult.BUSY


LOCK = Query("lock_conversation", ("conv_1", T))


@pytest.mark.parametrize(
    ("rows", "outcome"), [([], LockResult.UNKNOWN), ([(5, "resp_other", None)], LockResult.BUSY)]
)
def test_a_response_is_not_queued_without_its_conversation(
    rows: Sequence[Any], outcome: LockResult
) -> None:
    queued = replace(new_response(status="queued"), conversation_id="conv_1")
    enqueue = statements_of(jobs.enqueue(queued, b"", [], None, Reservation()))

    assert next(enqueue) == LOCK
    with pytest.raises(StopIteration) as ended:
        enqueue.send(rows)
    assert ended.value.value is outcome


@pytest.mark.parametrize("holder", [(None, None), ("resp_lost", 1)])
def test_a_queued_response_knows_where_its_conversation_ends_once_it_holds_it(
    holder: tuple[Any, Any],
) -> None:
    queued = replace(new_response(status="queued"), conversation_id="conv_1")
    enqueue = statements_of(jobs.enqueue(queued, b"", [], None, Reservation()))
    next(enqueue)

    assert enqueue.send([(5, *holder)]) == Query("hold", ("conv_1", queued.id, None))
    assert enqueue.send([(None,)]) == LOCK
    assert enqueue.send([(5, queued.id, None)]) == Query(
        "put_response", response_row(replace(queued, conversation_end=5))
    )


def job(items: int = 1, requested: int = 1, size: int = 1) -> Sequence[Any]:
    return (7, "resp_1", T, b"{}", 1, 0, 0, 1, 0, b"", "", 0, 0, 0, "", "", items, requested, size)


SMALL = [job(), job(FEW_ITEMS), job(requested=FEW_BYTES), job(size=FEW_BYTES)]
LARGE = [job(FEW_ITEMS + 1), job(requested=FEW_BYTES + 1), job(size=FEW_BYTES + 1)]


@pytest.mark.parametrize("row", SMALL)
@pytest.mark.parametrize("few", [False, True])
def test_a_small_job_is_read_at_once(row: Sequence[Any], few: bool) -> None:
    find = jobs.find_job(T, "resp_1", few=few)

    assert next(find) == Query("job_by_id", ("resp_1", T, FEW_BYTES))
    assert find.send([row]) == Query("load", ("resp_1", T, 0, FEW_ITEMS, FEW_BYTES, ANY_SIZE))


@pytest.mark.parametrize("row", LARGE)
def test_a_large_job_is_announced_with_all_of_its_bytes_and_read_again(row: Sequence[Any]) -> None:
    find = jobs.find_job(T, "resp_1", few=False)
    next(find)

    assert find.send([row]) == ReadSize(row[-3], row[-2] + row[-1])
    assert find.send([]) == Query("job_by_id", ("resp_1", T, ANY_SIZE))
    assert find.send([row]) == Query("load", ("resp_1", T, 0, FEW_ITEMS, FEW_BYTES, ANY_SIZE))


@pytest.mark.parametrize("row", LARGE)
def test_of_a_large_job_with_few_only_what_is_small_is_read(row: Sequence[Any]) -> None:
    find = jobs.find_job(T, "resp_1", few=True)
    next(find)

    assert find.send([row]) == Query("load", ("resp_1", T, 0, FEW_ITEMS, FEW_BYTES, FEW_BYTES))


@pytest.mark.parametrize("is_takeover", [0, 1])
@pytest.mark.parametrize("is_late", [0, 1])
def test_a_job_is_claimed_without_large_data_and_that_of_a_dead_worker_without_unfinished_items(
    is_takeover: int, is_late: int
) -> None:
    """A worker that had expired lives again with its claim."""
    claim = statements_of(jobs.claim("worker", 10, 5, ONE_SLOT), 1000)

    assert next(claim) == Query("lock_worker", (QUEUE,))
    assert claim.send([]) == Query("next_waiting", (10, "worker", 5, 1000, 1, 1, 1_000_000, ""))
    assert claim.send([(7, is_takeover, AT_ONCE, T, "", 0, 0)]) == Query(
        "claim", (7, "worker", is_takeover, 0)
    )
    step = claim.send([(7, is_late)])
    if is_late:
        assert step == Query("revive", ("worker",))
        step = claim.send([])
    if is_takeover:
        assert step == Query("drop_events", (7,))
        assert claim.send([]) == Query("next_generation", (7,))
        step = claim.send([("resp_1",)])
    assert step == Query("start", (7,))
    assert claim.send([]) == Query("job_by_seq", (7, FEW_BYTES))
    assert claim.send([LARGE[0]]) == Query(
        "load", ("resp_1", T, 0, FEW_ITEMS, FEW_BYTES, FEW_BYTES)
    )


@pytest.mark.parametrize("is_limit_reached", [0, 1])
def test_a_job_that_its_worker_finishes_meanwhile_is_not_claimed_and_needs_no_room(
    is_limit_reached: int,
) -> None:
    claim = statements_of(jobs.claim("worker", 10, 5, ONE_SLOT), 1000)
    next(claim)
    claim.send([])
    assert claim.send([(7, 1, AT_ONCE, T, "", is_limit_reached, 0)]) == Query(
        "claim", (7, "worker", 1, 0)
    )
    with pytest.raises(StopIteration) as ended:
        claim.send([])

    assert ended.value.value is None


def test_no_related_job_is_searched_where_only_other_tenants_ran_one() -> None:
    claim = statements_of(
        jobs.claim("worker", 10, 5, Slots(recent={("other", "continuation")})), 1000
    )
    next(claim)
    claim.send([])

    assert claim.send([(7, 0, AT_ONCE, T, "", 0, 0)]) == Query("claim", (7, "worker", 0, 0))


@pytest.mark.parametrize("lock", [[], [(5, None, None)], [(5, "resp_other", None)]])
def test_a_job_that_lost_its_conversation_ends_and_appends_nothing(lock: Sequence[Any]) -> None:
    ended = replace(
        new_response(new_items("q"), new_items("a")), conversation_id="conv_1", is_streamed=True
    )
    finish = statements_of(jobs.finish(Job(ended, b"", 1, 0, 0, 1, 0), ended, append=True))
    step = next(finish)
    while step != LOCK:
        step = finish.send([(7, 0, 0)])
    with pytest.raises(StopIteration) as done:
        finish.send(lock)

    assert done.value.value is True


COUNTS = st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1))


@given(st.lists(COUNTS, max_size=6), COUNTS)
def test_no_more_jobs_are_returned_than_the_limits_need(
    counts: list[tuple[int, ...]], over: tuple[int, ...]
) -> None:
    rows = [(len(counts) - place, *each) for place, each in enumerate(counts)]
    returned = to_return(rows, over)
    by_job = {seq: each for seq, *each in rows}
    can = [place for place in range(3) if over[place] and any(each[place] for each in counts)]

    assert all(any(by_job[seq][place] for seq in returned) for place in can)
    assert len(returned) <= len(can)
    if any(all(each[place] for place in can) for each in counts) and can:
        assert len(returned) == 1
