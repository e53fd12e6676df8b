"""Versions of an agent: who continues a response that another version began."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.agents import Agent, AgentContext, agent
from antiphon.agents.execution import queues_of, run_agent_job
from antiphon.jobs.parts import AgentLimits, JobParts
from antiphon.jobs.pins import PinWatch
from antiphon.storage.operations import jobs, leases
from antiphon.testing.agents import AgentHarness
from tests.support.server import RunningServer, serve
from tests.support.waiting import eventually


async def answer(ctx: AgentContext) -> str:
    await ctx.step("one", lambda: 1)
    if ctx.attempt == 1:
        began.set()
        await asyncio.Event().wait()
    return f"begun by {ctx.started_version}"


began = asyncio.Event()
PINNED = {version: agent("p", version=version, pinned=True)(answer) for version in "12"}
FREE = {version: agent("f", version=version)(answer) for version in "12"}


@asynccontextmanager
async def with_begun(versions: dict[str, Agent]) -> AsyncIterator[tuple[RunningServer, str]]:
    """A server, and a response that a worker of version 1 began and left."""
    global began
    began = asyncio.Event()
    first = versions["1"]
    async with serve() as server:
        parts = server.parts.jobs
        offer = f'[{{"name":"{first.name}","version":"1"}}]'
        await parts.store.write(leases.beat_with_agents, "old", offer)
        await parts.agents.refresh(parts.store)
        create = server.sdk.responses.create
        queued = await create(model=first.name, input="?", background=True)
        job = await claimed(parts, "old", first)
        running = asyncio.create_task(run_agent_job(parts, first, job))
        await began.wait()
        running.cancel()
        await asyncio.wait([running])
        await parts.store.write(leases.give_back, "old", queued.id)
        yield server, queued.id


async def claimed(parts: JobParts, worker: str, which: Agent) -> Any:
    for queue in queues_of(which):
        if (job := await parts.store.write(jobs.claim, worker, 9, queue=queue)) is not None:
            return job
    return None


async def test_another_version_continues_a_response_and_knows_which_one_began_it() -> None:
    async with with_begun(FREE) as (server, response_id):
        parts = server.parts.jobs
        job = await claimed(parts, "new", FREE["2"])
        await run_agent_job(parts, FREE["2"], job)

        response = await server.sdk.responses.retrieve(response_id)
        assert response.output_text == "begun by 1"


async def save(ctx: AgentContext) -> Any:
    if ctx.input_text == "again":
        return ctx.state
    if ctx.attempt == 1:
        await ctx.save("stored with the step")
        await ctx.step("one", lambda: 1)
        await ctx.save("not stored")
        began.set()
        await asyncio.Event().wait()
    return "ended"


async def test_a_chain_finds_the_state_that_was_stored_before_the_worker_died() -> None:
    saving = {version: agent("s", version=version)(save) for version in "12"}
    async with with_begun(saving) as (server, response_id):
        parts, create = server.parts.jobs, server.sdk.responses.create
        await run_agent_job(parts, saving["2"], await claimed(parts, "new", saving["2"]))
        queued = await create(
            model="s", input="again", previous_response_id=response_id, background=True
        )
        await run_agent_job(parts, saving["2"], await claimed(parts, "new", saving["2"]))
        response = await server.sdk.responses.retrieve(queued.id)

    assert response.output_text == "stored with the step"


async def test_only_the_same_version_continues_a_response_of_a_pinned_agent() -> None:
    async with with_begun(PINNED) as (server, response_id):
        parts = server.parts.jobs
        assert await claimed(parts, "new", PINNED["2"]) is None
        await run_agent_job(parts, PINNED["1"], await claimed(parts, "old", PINNED["1"]))

        response = await server.sdk.responses.retrieve(response_id)
        assert response.output_text == "begun by 1"


async def test_a_job_that_its_version_left_in_another_queue_returns_to_its_version() -> None:
    async with with_begun(PINNED) as (server, response_id):
        parts = server.parts.jobs
        job = await claimed(parts, "old", PINNED["1"])
        await parts.store.write(jobs.pin, job, "p")
        await parts.store.write(leases.give_back, "old", response_id)
        job = await claimed(parts, parts.process.worker, PINNED["2"])
        await run_agent_job(parts, PINNED["2"], job)

        assert await claimed(parts, "new", PINNED["2"]) is None
        assert await claimed(parts, "old", PINNED["1"]) is not None


async def test_a_response_fails_when_its_version_has_no_worker_for_too_long() -> None:
    async with with_begun(PINNED) as (server, response_id):
        parts = server.parts.jobs
        parts.agent_limits = AgentLimits(pin_wait=0.02)
        watch = PinWatch(parts)

        async def status() -> str:
            await watch.check()
            return (await server.sdk.responses.retrieve(response_id)).status or ""

        for _ in range(3):
            assert await status() == "in_progress", "a worker of the version is alive"
            await asyncio.get_running_loop().run_in_executor(None, began.is_set)
        await parts.store.write(leases.expire_worker, "old", None)
        await eventually(status, lambda found: found == "failed")
        response = await server.sdk.responses.retrieve(response_id)

    assert response.error is not None
    assert str(response.error.code) == "agent_version_gone"
    assert "'1'" in response.error.message


async def test_changed_code_fails_what_the_old_code_began_and_runs_what_is_new() -> None:
    async def changed(ctx: AgentContext) -> str:
        return str(await ctx.step("one", lambda one: one, 1))

    async with with_begun(FREE) as (server, response_id):
        parts = server.parts.jobs
        new = agent("f", version="2")(changed)
        create = server.sdk.responses.create
        fresh = await create(model="f", input="?", background=True)
        for _ in range(2):
            await run_agent_job(parts, new, await claimed(parts, "new", new))
        old = await create(model="f", input="?", background=True)
        running = asyncio.create_task(
            run_agent_job(parts, FREE["1"], await claimed(parts, "old", FREE["1"]))
        )
        await began.wait()
        found = [await server.sdk.responses.retrieve(one) for one in (response_id, fresh.id)]
        running.cancel()
        await asyncio.wait([running])
        left = await server.sdk.responses.retrieve(old.id)

    assert [one.status for one in found] == ["failed", "completed"]
    assert found[0].error is not None
    assert str(found[0].error.code) == "agent_changed"
    assert "the step 'one/0' had another argument 1" in found[0].error.message
    assert (found[1].output_text, left.status) == ("1", "in_progress")


async def refund(ctx: AgentContext) -> str:
    approval = await ctx.approval("refund", {"order": 1})
    return f"begun by {ctx.started_version}, approved {approval.approved}"


@pytest.mark.parametrize("background", [False, True])
async def test_only_the_first_version_continues_a_pinned_run_after_an_approval(
    background: bool,
) -> None:
    versions = {version: agent("r", version=version, pinned=True)(refund) for version in ("1", "2")}
    offers = [f'{{"name":"r","version":"{version}"}}' for version in versions]
    async with serve() as server:
        parts, create = server.parts.jobs, server.sdk.responses.create
        await parts.store.write(leases.beat_with_agents, "old", f"[{offers[0]}]")
        await parts.store.write(leases.beat_with_agents, "new", f"[{offers[1]}]")
        await parts.agents.refresh(parts.store)
        queued = await create(model="r", input="?", background=True)
        await run_agent_job(parts, versions["1"], await claimed(parts, "old", versions["1"]))
        first = await server.sdk.responses.retrieve(queued.id)
        answer: Any = {
            "type": "mcp_approval_response",
            "approval_request_id": first.output[-1].id,
            "approve": True,
        }
        answering = asyncio.create_task(
            create(model="r", input=[answer], previous_response_id=first.id, background=background)
        )
        job = await eventually(lambda: claimed(parts, parts.process.worker, versions["2"]))
        await run_agent_job(parts, versions["2"], job)
        assert await claimed(parts, "new", versions["2"]) is None, "it is left to the other one"
        await run_agent_job(parts, versions["1"], await claimed(parts, "old", versions["1"]))
        response = await server.sdk.responses.retrieve((await answering).id)

    assert response.output_text == "begun by 1, approved True"


@pytest.mark.parametrize("which", [PINNED["1"], FREE["1"]])
async def test_a_kill_at_any_write_is_survived_with_and_without_a_pin(which: Agent) -> None:
    async def handler(ctx: AgentContext) -> str:
        await ctx.step("one", lambda: 1)
        return ctx.started_version

    harness = AgentHarness(replace(which, handler=handler))

    assert (await asyncio.to_thread(harness.kill_everywhere, "go")).differing == []


@pytest.mark.parametrize("version", ["", "1\n2", "x" * 65])
def test_a_version_is_a_short_visible_text(version: str) -> None:
    with pytest.raises(ValueError, match="version of the agent"):
        agent("p", version=version)
