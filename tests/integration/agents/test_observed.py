"""What metrics, traces and the status report of agents."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from antiphon.agents import AgentContext, StepFailed, agent
from antiphon.agents.journal import NO_INPUT
from antiphon.build import demo_backend
from antiphon.config import Settings
from antiphon.storage.operations import jobs, leases
from antiphon.storage.records.jobs import Progress
from antiphon.storage.records.steps import Step, StepState, StepWrite
from antiphon.telemetry.metrics import Measures
from tests.support.metrics import scrape
from tests.support.server import RunningServer, serve
from tests.support.spans import Seen, is_child, reported
from tests.support.waiting import ended

ALL_TENANTS = 1_000_000


def inspect() -> str:
    return "seen"


def fall() -> str:
    raise ValueError("a secret")


@agent("work")
async def work(ctx: AgentContext) -> str:
    async with ctx.scope("a private question"):
        await ctx.step("inspect", inspect)
    try:
        await ctx.step("fall", fall)
    except StepFailed:
        answer = await ctx.call("demo", "Hi")
    return answer.output_text[:4]


@pytest.fixture
def seen() -> Seen:
    return Seen()


@asynccontextmanager
async def observed(seen: Seen, store: str = "sqlite://") -> AsyncIterator[RunningServer]:
    async with serve(
        demo_backend(),
        store=store,
        measures=Measures(),
        trace=seen,
        agents=[work],
        settings=Settings(),
    ) as server:
        yield server


async def test_runs_attempts_and_steps_are_counted(seen: Seen) -> None:
    async with observed(seen) as server:
        response = await server.sdk.responses.create(model="work", input="?")
        numbers = await scrape(server)

    assert response.status == "completed"
    assert numbers["antiphon_agent_runs_total{agent=work,end=completed}"] == 1
    assert numbers["antiphon_agent_attempts_total{agent=work,kind=first}"] == 1
    assert numbers["antiphon_agent_steps_total{agent=work,state=done}"] == 2
    assert numbers["antiphon_agent_steps_total{agent=work,state=failed}"] == 1
    assert numbers["antiphon_agent_wait_seconds_count{agent=work}"] == 1
    assert numbers["antiphon_agent_workers{agent=work}"] == 1
    assert numbers["antiphon_agent_waiting{agent=work}"] == 0
    assert numbers["antiphon_agent_places_busy"] == 0
    assert numbers["antiphon_agent_places"] > 0


async def test_each_step_is_a_span_below_that_of_the_response(seen: Seen) -> None:
    async with observed(seen) as server:
        response = await server.sdk.responses.create(model="work", input="?")

    run, inspect_step, fall_ = (
        seen.named(name) for name in ("invoke_agent work", "step inspect", "step fall")
    )
    call = seen.named("step call")
    assert run.parent is None
    assert reported(run)["gen_ai.response.id"] == response.id
    assert reported(run)["antiphon.response.status"] == "completed"
    assert all(is_child(step, run) for step in (inspect_step, fall_, call))
    assert reported(fall_)["error.type"] == "ValueError"
    facts = {key: value for key, value in reported(inspect_step).items() if not key.endswith("key")}
    assert facts == {
        "antiphon.step.name": "inspect",
        "antiphon.step.attempt": 1,
        "antiphon.step.once": False,
        "antiphon.step.recorded": False,
    }
    # The model that the agent calls is in the same trace, below the step.
    model = seen.named("response")
    assert is_child(model, call)
    assert is_child(seen.named("chat demo"), model)


@pytest.mark.parametrize("content", [False, True])
async def test_a_key_is_readable_only_with_content(content: bool) -> None:
    seen = Seen(content=content)
    async with observed(seen) as server:
        await server.sdk.responses.create(model="work", input="?")

    assert ("private question" in str(reported(seen.named("step inspect")))) is content
    assert "a secret" not in str([reported(span) for span in seen.spans()])


async def test_a_takeover_is_counted_and_its_recorded_steps_are_marked(
    tmp_path: Path, seen: Seen
) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    async with serve(store=url, settings=Settings(agents=["work"])) as server:
        queued = await server.sdk.responses.create(model="work", input="?", background=True)
        store: Any = server.parts.store
        status = await (await server.http.get(server.url.removesuffix("/v1") + "/status")).json()
        job = await store.write(jobs.claim, "dead", ALL_TENANTS, queue="work")
        key = "a private question/inspect/0"
        step = Step(1, key, StepState.DONE, NO_INPUT, b'"seen"', 1, 1, 1, "1")
        await store.write(jobs.advance, job, Progress((), steps=[StepWrite(step)]))
        await store.write(leases.beat, "dead")
        await store.write(leases.expire_worker, "dead", (await store.read(leases.beats))["dead"])
    async with observed(seen, url) as server:
        response = await ended(server.sdk, queued.id)
        numbers = await scrape(server)

    [waiting] = status["agents"]["agents"]
    assert (waiting["name"], waiting["workers"], waiting["waiting"]) == ("work", 0, 1)
    assert response.status == "completed"
    assert numbers["antiphon_agent_attempts_total{agent=work,kind=takeover}"] == 1
    assert numbers["antiphon_agent_steps_total{agent=work,state=recorded}"] == 1
    assert reported(seen.named("step inspect"))["antiphon.step.recorded"] is True
    assert reported(seen.named("step fall"))["antiphon.step.attempt"] == 2


async def test_without_agents_there_are_no_numbers() -> None:
    async with serve(measures=Measures()) as server:
        numbers = await scrape(server)

    assert [name for name in numbers if name.startswith("antiphon_agent")] == []
