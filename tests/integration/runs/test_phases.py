"""How far a response is, as others can see it, and what a plan leaves out."""

import itertools
from contextlib import aclosing, suppress
from typing import Any

import pytest

from antiphon.errors import AntiphonError, BackendError
from antiphon.runs.run import TRANSITIONS, Phase, StopReason
from tests.support.engine import begin, engine, plain, said
from tests.support.replay import delta

TOOLS: list[Any] = [{"type": "function", "name": "look"}]


def test_every_phase_but_the_last_has_a_next_one_and_none_leads_back_to_the_first() -> None:
    assert [phase for phase, following in TRANSITIONS.items() if not following] == [Phase.ENDED]
    assert Phase.PENDING not in set(itertools.chain.from_iterable(TRANSITIONS.values()))


async def test_a_stream_is_announced_read_and_ended() -> None:
    made, backend = engine(said("Once ", "upon"))
    backend._cut = 50
    run = await begin(made, stream=True)
    seen = [run.phase]
    async with aclosing(run.events()) as batches:
        seen += [run.phase async for _ in batches]

    assert (seen[0], set(seen[1:-1]), seen[-1]) == (Phase.PENDING, {Phase.EMITTING}, Phase.FINISHING)
    assert (run.phase, run.is_over, run.stop_cause) == (Phase.ENDED, True, None)


@pytest.mark.parametrize("answer", [plain(), [delta(content="Once")]], ids=["well", "broken off"])
async def test_a_plain_response_is_never_announced(answer: Any) -> None:
    made, _ = engine(answer)
    run = await begin(made)
    with suppress(BackendError):
        await run.result()

    assert run.phase is Phase.ENDED
    assert made.runs == set()


async def test_a_reader_that_leaves_is_the_reason_why_it_stopped() -> None:
    made, backend = engine(said("Once ", "upon ", "a time"))
    backend._cut = 100
    run = await begin(made, stream=True)
    async with aclosing(run.events()) as batches:
        async for _ in batches:
            break

    assert run.stop_cause is not None
    assert (run.stop_cause.reason, run.phase) == (StopReason.DISCONNECTED, Phase.ENDED)


async def test_the_end_of_the_process_comes_before_what_the_client_says() -> None:
    made, _ = engine(said("Once"))
    run = await begin(made, stream=True)
    error = AntiphonError("This server is shutting down.", status=503)
    run.stop(error)
    run.steer()

    assert run.stop_cause is not None
    assert (run.stop_cause.reason, run.stop_cause.error) == (StopReason.SHUTDOWN, error)


async def test_a_response_made_twice_is_a_fault() -> None:
    made, _ = engine(plain(), plain())
    run = await begin(made)
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
async def test_a_plan_has_what_the_request_uses_and_nothing_else(body: dict[str, Any], used: set[str]) -> None:
    made, _ = engine(plain())
    plan = (await begin(made, **body)).plan

    assert {name for name in ("recorder", "tools", "cache", "resume") if getattr(plan, name) is not None} == used
    assert not plan.compacts
