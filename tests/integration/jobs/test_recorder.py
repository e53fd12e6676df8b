"""What a background response writes while its model is silent, and how it ends once it belongs to
another.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import pytest

from antiphon.errors import StoreError
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.jobs import recorder
from antiphon.jobs.queue import run_job
from antiphon.storage.operations import api_keys, event_log, jobs
from antiphon.storage.records.jobs import Reservation
from antiphon.storage.records.money import Budget, MoneyClaim
from antiphon.storage.records.tenants import KeyLimits, UsageRecord
from antiphon.upstream.backend import Reply
from tests.integration.jobs.test_worker import TURNS, queue, status
from tests.support.changed_stores import replace_operation
from tests.support.parts import scripted_parts, stated
from tests.support.replay import delta, sse
from tests.support.waiting import LoopClock, eventually, let_others_run, until


class Talks:
    """Makes the model say what it is given, and be silent in between."""

    def __init__(self, backend: Any) -> None:
        self.is_requested = asyncio.Event()
        self._stated: asyncio.Queue[bytes] = asyncio.Queue()
        backend.post = self._post

    def send_text(self, *chunks: dict[str, Any], done: bool = False) -> None:
        self._stated.put_nowait(sse(*chunks, done=done))

    async def _post(self, path: str, body: bytes) -> Reply:
        return Reply(200, {"content-type": "text/event-stream"}, self._body())

    async def _body(self) -> AsyncIterator[bytes]:
        self.is_requested.set()
        while True:
            yield await self._stated.get()


async def begun(**body: Any) -> tuple[Parts, Talks, str, "asyncio.Task[None]"]:
    """A background response whose model was asked, and has said nothing so far."""
    created, backend = scripted_parts()
    model = Talks(backend)
    response_id = await queue(created, **body)
    job = await created.store.write(jobs.claim, created.process.worker, 1)
    assert job is not None
    working = asyncio.create_task(run_job(created.jobs, job))
    await asyncio.wait_for(model.is_requested.wait(), 30)
    return created, model, response_id, working


async def until_logged(created: Parts, response_id: str, mark: bytes, count: int = 1) -> None:
    await eventually(
        lambda: created.store.read(event_log.tail, "", response_id, -1),
        lambda tail: tail and b"".join(frames.body for frames in tail.frames).count(mark) == count,
    )


async def end(working: "asyncio.Task[None]") -> None:
    working.cancel()
    await asyncio.wait({working})


async def test_readers_of_a_silent_model_are_sent_a_keepalive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    created, _, response_id, working = await begun(stream=True)
    await until_logged(created, response_id, b"event: response.in_progress\n")
    clock = LoopClock(monkeypatch)
    for count in (1, 2):
        await let_others_run(TURNS)
        clock.advance(recorder.KEEPALIVE_AFTER + 1)
        await until_logged(created, response_id, b"event: keepalive\n", count)
    await end(working)


async def test_an_event_is_written_when_it_comes_and_not_with_the_next_keepalive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorder, "KEEPALIVE_AFTER", 3600.0)
    created, model, response_id, working = await begun(stream=True)
    await until_logged(created, response_id, b"event: response.in_progress\n")
    model.send_text(delta(content="Once "))
    await until_logged(created, response_id, b'"delta":"Once "')
    await end(working)


async def test_abandoned_work_reads_its_job_without_large_content() -> None:
    created, _, _, working = await begun(stream=True)
    requested: list[bool] = []

    async def noted(*which: Any, few: bool = False) -> Any:
        requested.append(few)
        return await find(*which, few=few)

    find = replace_operation(created.store, jobs.find_job, noted)
    await end(working)

    assert requested == [True]


async def test_abandoned_work_keeps_the_reservation_of_its_response() -> None:
    """The worker that ends the response settles it."""
    created, _, _, working = await begun(taken=Reservation("key_1", cost=60))

    async def has_room(cost: int) -> bool:
        claim = MoneyClaim("", "key_1", cost, Budget(per_day=100), None)
        return (await created.store.write(api_keys.take, "key_1", KeyLimits(), 0, claim)).is_granted

    assert await has_room(60)
    await end(working)
    await created.jobs.meter.settle()

    assert not await has_room(41)
    assert await has_room(40)


async def test_work_abandoned_after_a_long_silence_blocks_no_other_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There was nothing to send to readers then, and the wait for something to send never
    yielded.
    """
    created, _, response_id, working = await begun(stream=True)
    await until_logged(created, response_id, b"event: response.in_progress\n")
    await let_others_run(TURNS)
    leaving = asyncio.Event()
    may_leave = asyncio.Event()

    async def slow(*which: Any, **how: Any) -> Any:
        leaving.set()
        await may_leave.wait()
        return await find(*which, **how)

    find = replace_operation(created.store, jobs.find_job, slow)
    clock = LoopClock(monkeypatch)
    working.cancel()
    await leaving.wait()
    clock.advance(recorder.KEEPALIVE_AFTER + 1)
    await let_others_run(TURNS)
    may_leave.set()
    await asyncio.wait({working})

    assert working.cancelled()


async def test_output_before_a_model_fell_silent_is_part_of_a_cancelled_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorder, "VISIBLE_AFTER", 0.02)
    created, model, response_id, working = await begun()
    model.send_text(delta(content="Once "))
    await until_logged(created, response_id, b'"delta":"Once "')
    cancelled = await Gateway(created).queue.cancel("", response_id)
    await end(working)

    (message,) = cancelled["output"]
    assert (message["status"], message["content"][0]["text"]) == ("incomplete", "Once ")


@pytest.mark.parametrize(
    ("stream", "stated", "is_done"),
    [(True, [delta(content="Once ")], False), (False, stated("Once "), True)],
    ids=["its next event is not written", "its end is not written"],
)
async def test_a_response_that_was_ended_elsewhere_ends_here_with_the_next_write(
    stream: bool, stated: list[dict[str, Any]], is_done: bool
) -> None:
    created, model, response_id, working = await begun(stream=stream)
    await Gateway(created).queue.cancel("", response_id)
    model.send_text(*stated, done=is_done)
    await until(working.done)

    assert await status(created, response_id) == "cancelled"
    assert (created.measures.jobs.value("lost"), created.measures.jobs.value("done")) == (1, 0)
    assert working.cancelling() == 0


async def ends_with(
    created: Parts, finish: Callable[[Callable[..., Awaitable[Any]]], Awaitable[bool]]
) -> list[UsageRecord]:
    """Let the end of a job be stored by `finish`; return what is charged from now on."""
    used: list[UsageRecord] = []

    async def ended(*which: Any, **how: Any) -> bool:
        return await finish(partial(original, *which, **how))

    async def charge(writer: str, number: int, uses: Sequence[UsageRecord]) -> None:
        used.extend(uses)

    original = replace_operation(created.store, jobs.finish, ended)
    replace_operation(created.store, api_keys.charge_once, charge)
    return used


async def test_an_end_that_the_store_did_not_acknowledge_counts_as_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorder, "TRY_AGAIN", 0.0)
    created, model, response_id, working = await begun(taken=Reservation("key_1", tokens=60))
    attempts: list[bool] = []

    async def finish(store: Callable[..., Awaitable[Any]]) -> bool:
        attempts.append(await store())
        if len(attempts) == 1:
            raise StoreError("The connection was lost.")
        return attempts[-1]

    used = await ends_with(created, finish)
    model.send_text(*stated("Once "), done=True)
    await until(working.done)
    await created.jobs.meter.settle()

    assert (attempts, await status(created, response_id)) == ([True, False], "completed")
    assert (created.measures.jobs.value("lost"), created.measures.jobs.value("done")) == (0, 1)
    assert [(one.key_id, one.requests) for one in used] == [("key_1", 1)]


async def test_a_cancellation_that_the_store_did_not_acknowledge_counts_as_stored() -> None:
    created, _ = scripted_parts()
    response_id = await queue(created, taken=Reservation("key_1", tokens=60))

    async def finish(store: Callable[..., Awaitable[Any]]) -> bool:
        await store()
        raise StoreError("The connection was lost.")

    used = await ends_with(created, finish)
    cancelled = await Gateway(created).queue.cancel("", response_id)
    await created.jobs.meter.settle()

    assert cancelled["status"] == await status(created, response_id) == "cancelled"
    assert [(one.key_id, one.requests) for one in used] == [("key_1", 1)]


async def test_a_cancellation_that_the_store_did_not_make_fails() -> None:
    created, _ = scripted_parts()
    response_id = await queue(created, taken=Reservation("key_1", tokens=60))

    async def finish(store: Callable[..., Awaitable[Any]]) -> bool:
        raise StoreError("The connection was lost.")

    used = await ends_with(created, finish)
    with pytest.raises(StoreError, match=r"The connection was lost\."):
        await Gateway(created).queue.cancel("", response_id)
    await created.jobs.meter.settle()

    assert (await status(created, response_id), used) == ("queued", [])


@pytest.mark.parametrize("cancellations", [1, 3])
@pytest.mark.parametrize("is_acknowledged", [True, False])
async def test_an_end_counts_as_stored_if_its_run_is_cancelled_meanwhile(
    is_acknowledged: bool, cancellations: int
) -> None:
    """A worker cancels what it does not own any more, also because it has just ended: with each
    check while a slow store has not acknowledged that.
    """
    created, model, response_id, working = await begun(taken=Reservation("key_1", tokens=60))

    async def finish(store: Callable[..., Awaitable[Any]]) -> bool:
        for _ in range(cancellations):
            working.cancel()
            await let_others_run(1)
        is_stored: bool = await store()
        if not is_acknowledged:
            raise StoreError("The connection was lost.")
        return is_stored

    used = await ends_with(created, finish)
    model.send_text(*stated("Once "), done=True)
    await until(working.done)
    await created.jobs.meter.settle()

    assert await status(created, response_id) == "completed"
    assert [(one.key_id, one.requests) for one in used] == [("key_1", 1)]
