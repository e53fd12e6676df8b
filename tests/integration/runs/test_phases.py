"""How far a response is, as others can see it, and what a plan leaves out."""

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing, suppress
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from antiphon.errors import AntiphonError, BackendError
from antiphon.runs.phases import TRANSITIONS, Phase, StopReason
from antiphon.runs.plan import ResumeState
from antiphon.runs.run import Run
from antiphon.storage.operations import responses
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.testing import assert_event_stream
from antiphon.upstream.backend import Reply
from tests.support.parts import NOW, begin, plain, scripted_parts, stated
from tests.support.replay import delta

TOOLS: list[Any] = [{"type": "function", "name": "look"}]


def test_every_phase_but_the_last_has_a_next_one_and_none_leads_back_to_the_first() -> None:
    assert [phase for phase, following in TRANSITIONS.items() if not following] == [Phase.ENDED]
    assert Phase.PENDING not in set(itertools.chain.from_iterable(TRANSITIONS.values()))


async def test_a_stream_is_announced_read_and_ended() -> None:
    created, backend = scripted_parts(stated("Once ", "upon"))
    backend.cut = 50
    run = await begin(created, stream=True)
    seen = [run.phase]
    async with aclosing(run.events()) as batches:
        seen += [run.phase async for _ in batches]

    assert (seen[0], set(seen[1:-1]), seen[-1]) == (
        Phase.PENDING,
        {Phase.EMITTING},
        Phase.FINISHING,
    )
    assert (run.phase, run.is_over, run.stop_cause) == (Phase.ENDED, True, None)


@pytest.mark.parametrize("answer", [plain(), [delta(content="Once")]], ids=["well", "broken off"])
async def test_a_plain_response_is_never_announced(answer: Any) -> None:
    created, _ = scripted_parts(answer)
    run = await begin(created)
    with suppress(BackendError):
        await run.result()

    assert run.phase is Phase.ENDED
    assert created.process.runs == set()


async def test_a_reader_that_leaves_is_the_reason_why_it_stopped() -> None:
    created, backend = scripted_parts(stated("Once ", "upon ", "a time"))
    backend.cut = 100
    run = await begin(created, stream=True)
    async with aclosing(run.events()) as batches:
        async for _ in batches:
            break

    assert run.stop_cause is not None
    assert (run.stop_cause.reason, run.phase) == (StopReason.DISCONNECTED, Phase.ENDED)


async def test_the_end_of_the_process_precedes_messages_of_the_client() -> None:
    created, _ = scripted_parts(stated("Once"))
    run = await begin(created, stream=True)
    error = AntiphonError("This server is shutting down.", status=503)
    run.stop(error)
    run.steer()

    assert run.stop_cause is not None
    assert (run.stop_cause.reason, run.stop_cause.error) == (StopReason.SHUTDOWN, error)


SHUTTING_DOWN = AntiphonError("This server is shutting down.", status=503)


def plainly(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


class Paused(SqliteStore):
    """A store in memory that says when it has stored something, and returns once it may."""

    saved: asyncio.Event
    proceed: asyncio.Event

    async def save(self, response: StoredResponse, **how: Any) -> bool:
        is_new = await super().save(response, **how)
        self.saved.set()
        await self.proceed.wait()
        return is_new


@pytest.mark.parametrize("is_stream", [True, False], ids=["stream", "plain"])
async def test_a_response_being_stored_completes_when_the_process_ends(
    is_stream: bool,
) -> None:
    store = Paused.open("sqlite://", now=lambda: NOW)
    assert isinstance(store, Paused)
    store.saved, store.proceed = asyncio.Event(), asyncio.Event()
    created, _ = scripted_parts(stated("Once") if is_stream else plain(), store=store)
    run = await begin(created, stream=is_stream)
    events: list[Any] = []

    async def read() -> None:
        if is_stream:
            events.extend([event async for batch in run.events() for event in batch])
        else:
            await run.result()

    reading = asyncio.create_task(read())
    await store.saved.wait()
    run.stop(SHUTTING_DOWN)
    store.proceed.set()
    await reading

    stored = await store.read(responses.load, "", run.response.id)
    assert stored is not None
    assert (run.response.status, stored.status) == ("completed", "completed")
    assert not is_stream or plainly(events)[-1]["type"] == "response.completed"


async def test_a_response_that_is_stopped_while_its_reader_sends_fails_behind_what_is_sent() -> (
    None
):
    created, backend = scripted_parts(stated("Once ", "upon ", "a time"))
    backend.cut = 100
    run = await begin(created, stream=True)
    sending = asyncio.Event()
    sent = asyncio.Event()
    events: list[Any] = []

    async def read() -> None:
        async with aclosing(run.events()) as batches:
            async for batch in batches:
                sending.set()
                await sent.wait()
                events.extend(batch)

    reading = asyncio.create_task(read())
    await sending.wait()
    assert run.phase is Phase.EMITTING
    run.stop(SHUTTING_DOWN)
    sent.set()
    await reading

    assert plainly(events)[-1]["type"] == "response.failed"
    assert_event_stream(plainly(events))
    assert (run.response.status, run.phase) == ("failed", Phase.ENDED)


async def test_a_stop_does_not_cancel_the_closing_of_a_step_that_was_stopped_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    created, backend = scripted_parts(stated("Once ", "upon ", "a time"))
    backend.cut = 100
    closing = asyncio.Event()
    closed = asyncio.Event()
    post = backend.post

    async def slow_to_close(parts: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
        try:
            async for part in parts:
                yield part
        finally:
            closing.set()
            await closed.wait()

    async def answer(path: str, body: bytes) -> Reply:
        reply = await post(path, body)
        return Reply(reply.status, reply.headers, slow_to_close(reply.body))

    monkeypatch.setattr(backend, "post", answer)
    run = await begin(created, stream=True)
    events: list[Any] = []

    async def read() -> None:
        async with aclosing(run.events()) as batches:
            async for batch in batches:
                events.extend(batch)
                if "delta" in plainly(batch)[-1]["type"]:
                    run.steer()

    reading = asyncio.create_task(read())
    await closing.wait()
    run.stop(SHUTTING_DOWN)
    closed.set()
    await reading

    assert plainly(events)[-1]["type"] == "response.incomplete"
    assert_event_stream(plainly(events))
    assert (run.phase, created.process.runs) == (Phase.ENDED, set())


async def test_a_resumed_response_stopped_before_it_continues_calls_no_model() -> None:
    created, backend = scripted_parts(stated("Once"))
    plan = (await begin(created, stream=True)).plan
    run = Run(replace(plan, resume=ResumeState(NOW, [], {}, 0, begins=True)), created.run)
    events: list[Any] = []
    async with aclosing(run.events()) as batches:
        async for batch in batches:
            events += batch
            run.stop(SHUTTING_DOWN)

    assert plainly(events)[-1]["type"] == "response.failed"
    assert backend.requests == []


async def test_creating_a_response_twice_is_an_error() -> None:
    created, _ = scripted_parts(plain(), plain())
    run = await begin(created)
    await run.result()

    with pytest.raises(RuntimeError, match="once"):
        await run.result()


@pytest.mark.parametrize(
    ("body", "used"),
    [
        ({"store": False}, set()),
        ({"store": False, "tools": TOOLS}, set()),
        ({}, {"recorder"}),
        ({"store": False, "tools": [{"type": "custom", "name": "say"}]}, {"tools"}),
        ({"store": False, "antiphon": {"cache": True}}, {"cache"}),
    ],
    ids=["plain", "functions", "stored", "custom tool", "cached"],
)
async def test_a_plan_has_what_the_request_uses_and_nothing_else(
    body: dict[str, Any], used: set[str]
) -> None:
    created, _ = scripted_parts(plain())
    plan = (await begin(created, **body)).plan

    assert {
        name for name in ("recorder", "tools", "cache", "resume") if getattr(plan, name) is not None
    } == used
    assert not plan.compacts
