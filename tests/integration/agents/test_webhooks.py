"""What a receiver of webhooks gets of an agent's responses, on both stores."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from antiphon.agents import AgentContext, AgentError, agent
from antiphon.upstream.scripted import ScriptedBackend
from tests.integration.agents.test_approvals import approval, known
from tests.support.parts import plain
from tests.support.receiver import Receiver, receiving
from tests.support.server import RunningServer, serve
from tests.support.waiting import until

EVENTS: Any = [f"response.{end}" for end in ("completed", "failed", "cancelled", "incomplete")]


@agent("breaks")
async def breaks(ctx: AgentContext) -> str:
    async with ctx.message() as text:
        await text.write("Before.")
    if ctx.input_text == "with a code":
        raise AgentError("No such order.", code="no_such_order")
    raise ValueError("a secret")


@agent("waits")
async def waits(ctx: AgentContext) -> str:
    await ctx.step("wait", asyncio.Event().wait)
    return ""


@agent("slow", timeout=0.05)
async def slow(ctx: AgentContext) -> str:
    await asyncio.Event().wait()
    return ""


@agent("needs_approval")
async def needs_approval(ctx: AgentContext) -> str:
    return str((await ctx.approval("pay", {})).approved)


@asynccontextmanager
async def serving(store: str) -> AsyncIterator[tuple[RunningServer, Receiver]]:
    agents = [breaks, waits, slow, needs_approval]
    backend = ScriptedBackend(lambda body: plain("Heard."), models=["m"])
    async with receiving() as receiver, serve(backend, agents=agents, store=store) as server:
        await known(server, "needs_approval")
        await server.sdk.webhooks.create(name="mine", url=receiver.url, event_types=EVENTS)
        yield server, receiver


async def kind_of_event(receiver: Receiver, response_id: str) -> str:
    """Return the type of the one event about a response."""
    [(_, kind)] = await until(lambda: receiver.events_of(response_id))
    return kind


async def test_each_end_of_a_background_response_is_sent_once(store_url: str) -> None:
    async with serving(store_url) as (server, receiver):
        create = server.sdk.responses.create
        error = await create(model="breaks", input="go", background=True)
        coded = await create(model="breaks", input="with a code", background=True)
        late = await create(model="slow", input="go", background=True)
        stopped = await create(model="waits", input="go", background=True)
        await server.sdk.responses.cancel(stopped.id)
        ends = [await kind_of_event(receiver, one.id) for one in (error, coded, late, stopped)]
        failed = [await server.sdk.responses.retrieve(one.id) for one in (error, coded, late)]

        assert ends == ["response.failed"] * 3 + ["response.cancelled"]
        codes = [one.error.code for one in failed if one.error is not None]
        assert codes == ["agent_error", "no_such_order", "agent_timeout"]
        assert len(receiver.received) == 4
        assert [one.status for one in failed[0].output] == ["completed"], "closed items stay"  # type: ignore[union-attr]
        assert not any(b"secret" in body for _, body in receiver.received)


async def test_an_approval_that_is_answered_twice_is_sent_once(store_url: str) -> None:
    async with serving(store_url) as (server, receiver):
        create = server.sdk.responses.create
        first = await create(model="needs_approval", input="go", background=True)
        assert await kind_of_event(receiver, first.id) == "response.completed"
        waiting = await server.sdk.responses.retrieve(first.id)
        yes: Any = {
            "model": "needs_approval",
            "input": [approval(waiting.output[-1])],
            "previous_response_id": first.id,
            "background": True,
        }
        found = await asyncio.gather(*(create(**yes) for _ in range(4)))
        assert await kind_of_event(receiver, found[0].id) == "response.completed"
        again = await create(**yes)

        assert {one.id for one in (*found, again)} == {found[0].id}
        assert len(receiver.received) == 2


@pytest.mark.parametrize("name", ["needs_approval", "breaks"])
async def test_the_end_of_a_response_that_a_client_waits_for_is_not_sent(name: str) -> None:
    async with serving("sqlite://") as (server, receiver):
        create = server.sdk.responses.create
        waited_for = await create(model=name, input="go")
        later = await create(model="breaks", input="go", background=True)
        assert await kind_of_event(receiver, later.id) == "response.failed"

        assert receiver.events_of(waited_for.id) == set()
