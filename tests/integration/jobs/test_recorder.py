"""What a background response writes while its model is silent, and how it ends once it belongs to another."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from antiphon.gateway import Gateway
from antiphon.jobs import recorder
from antiphon.jobs.queue import work
from antiphon.storage.operations import api_keys, event_log, jobs
from antiphon.storage.records.jobs import Reservation
from antiphon.storage.records.money import Budget, MoneyClaim
from antiphon.storage.records.tenants import Limits
from antiphon.upstream.backend import Reply
from tests.integration.jobs.test_worker import TURNS, queue, status
from tests.support.changed_stores import replace_operation
from tests.support.engine import Engine, engine, said
from tests.support.replay import delta, sse
from tests.support.waiting import LoopClock, eventually, let_others_run, until


class Talks:
    """Makes the model say what it is given, and be silent in between."""

    def __init__(self, backend: Any) -> None:
        self.is_asked = asyncio.Event()
        self._said: asyncio.Queue[bytes] = asyncio.Queue()
        backend.post = self._post

    def say(self, *chunks: dict[str, Any], done: bool = False) -> None:
        self._said.put_nowait(sse(*chunks, done=done))

    async def _post(self, path: str, body: bytes) -> Reply:
        return Reply(200, {"content-type": "text/event-stream"}, self._body())

    async def _body(self) -> AsyncIterator[bytes]:
        self.is_asked.set()
        while True:
            yield await self._said.get()


async def begun(**body: Any) -> tuple[Engine, Talks, str, "asyncio.Task[None]"]:
    """A background response whose model was asked, and has said nothing so far."""
    made, backend = engine()
    model = Talks(backend)
    response_id = await queue(made, **body)
    job = await made.store.write(jobs.claim, made.worker, 1)
    assert job is not None
    working = asyncio.create_task(work(made, job))
    await asyncio.wait_for(model.is_asked.wait(), 30)
    return made, model, response_id, working


async def until_logged(made: Engine, response_id: str, mark: bytes, count: int = 1) -> None:
    await eventually(
        lambda: made.store.read(event_log.tail, "", response_id, -1),
        lambda tail: tail and b"".join(frames.body for frames in tail.frames).count(mark) == count,
    )


async def end(working: "asyncio.Task[None]") -> None:
    working.cancel()
    await asyncio.wait({working})


async def test_readers_of_a_silent_model_are_sent_a_keepalive(monkeypatch: pytest.MonkeyPatch) -> None:
    made, _, response_id, working = await begun(stream=True)
    await until_logged(made, response_id, b"event: response.in_progress\n")
    clock = LoopClock(monkeypatch)
    for count in (1, 2):
        await let_others_run(TURNS)
        clock.advance(recorder.PULSE_AFTER + 1)
        await until_logged(made, response_id, b"event: keepalive\n", count)
    await end(working)


async def test_an_event_is_written_when_it_comes_and_not_with_the_next_keepalive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorder, "PULSE_AFTER", 3600.0)
    made, model, response_id, working = await begun(stream=True)
    await until_logged(made, response_id, b"event: response.in_progress\n")
    model.say(delta(content="Once "))
    await until_logged(made, response_id, b'"delta":"Once "')
    await end(working)


async def test_work_that_is_given_up_asks_the_store_for_its_job_without_large_content() -> None:
    made, _, _, working = await begun(stream=True)
    asked: list[bool] = []

    async def noted(*which: Any, few: bool = False) -> Any:
        asked.append(few)
        return await find(*which, few=few)

    find = replace_operation(made.store, jobs.find_job, noted)
    await end(working)

    assert asked == [True]


async def test_work_that_is_given_up_keeps_all_that_is_reserved_for_its_response() -> None:
    """The worker that ends the response settles it."""
    made, _, _, working = await begun(taken=Reservation("key_1", cost=60))

    async def has_room(cost: int) -> bool:
        claim = MoneyClaim("", "key_1", cost, Budget(per_day=100), None)
        return (await made.store.write(api_keys.take, "key_1", Limits(), 0, claim)).is_granted

    assert await has_room(60)
    await end(working)
    await made.meter.settle()

    assert not await has_room(41)
    assert await has_room(40)


async def test_work_that_is_given_up_after_a_long_silence_lets_all_other_work_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There was nothing to send to readers then, and the wait for something to send never yielded."""
    made, _, response_id, working = await begun(stream=True)
    await until_logged(made, response_id, b"event: response.in_progress\n")
    await let_others_run(TURNS)
    leaving, may_leave = asyncio.Event(), asyncio.Event()

    async def slow(*which: Any, **how: Any) -> Any:
        leaving.set()
        await may_leave.wait()
        return await find(*which, **how)

    find = replace_operation(made.store, jobs.find_job, slow)
    clock = LoopClock(monkeypatch)
    working.cancel()
    await leaving.wait()
    clock.advance(recorder.PULSE_AFTER + 1)
    await let_others_run(TURNS)
    may_leave.set()
    await asyncio.wait({working})

    assert working.cancelled()


async def test_what_a_model_said_before_it_fell_silent_is_part_of_a_cancelled_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorder, "SHOWN_AFTER", 0.02)
    made, model, response_id, working = await begun()
    model.say(delta(content="Once "))
    await until_logged(made, response_id, b'"delta":"Once "')
    cancelled = await Gateway(made).queue.cancel("", response_id)
    await end(working)

    (message,) = cancelled["output"]
    assert (message["status"], message["content"][0]["text"]) == ("incomplete", "Once ")


@pytest.mark.parametrize(
    ("stream", "said", "is_done"),
    [(True, [delta(content="Once ")], False), (False, said("Once "), True)],
    ids=["its next event is not written", "its end is not written"],
)
async def test_a_response_that_was_ended_elsewhere_ends_here_with_the_next_write(
    stream: bool, said: list[dict[str, Any]], is_done: bool
) -> None:
    made, model, response_id, working = await begun(stream=stream)
    await Gateway(made).queue.cancel("", response_id)
    model.say(*said, done=is_done)
    await until(working.done)

    assert await status(made, response_id) == "cancelled"
    assert (made.measures.jobs.value("lost"), made.measures.jobs.value("done")) == (1, 0)
    assert working.cancelling() == 0
