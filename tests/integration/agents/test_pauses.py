"""Handlers that wait for their client: what still runs, what begins, and what a crash repeats."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon.agents import AgentContext, StepFailed, StepInterrupted, agent, idempotency_key
from antiphon.testing.agents import AgentHarness
from antiphon.types import Response
from tests.support.waiting import let_others_run

Handle = Callable[[AgentContext], Awaitable[Any]]


def harness(handler: Handle) -> AgentHarness:
    return AgentHarness(agent("tested")(handler))


async def run(handler: Handle, **fields: Any) -> Response:
    """Return the last response of a run; the harness has an event loop of its own."""
    return await asyncio.to_thread(harness(handler).run, "go", **fields)


def types_of(response: Response) -> list[str]:
    return [str(getattr(item, "type", "")) for item in response.output]


async def test_a_run_through_approvals_survives_a_crash_at_any_moment() -> None:
    keys: set[str] = set()

    def pay(amount: int) -> str:
        keys.add(idempotency_key())
        return f"paid {amount}"

    async def handler(ctx: AgentContext) -> dict[str, Any]:
        async with ctx.message() as text:
            await text.write("Let me see.")
        when = await ctx.now()
        order = await ctx.step("order", lambda: {"total": 5})
        one, two = await ctx.approvals([("refund", order), ("close", 1)])
        try:
            paid = await ctx.step("pay", pay, order["total"], once=True, show=one)
        except StepInterrupted:
            paid = "unknown"
        weather = await ctx.client_call("weather", {"city": "Oslo"})
        last = await ctx.step("last", lambda text: text.upper(), weather)
        values = [str(when), ctx.random.random(), ctx.response_id]
        return {
            "approved": [one.approved, two.reason],
            "paid": paid,
            "last": last,
            "values": values,
        }

    answers = {"refund": True, "close": "too early", "weather": "rain"}
    found = await asyncio.to_thread(harness(handler).kill_everywhere, "go", answers=answers)

    assert found.differing == []
    assert found.executions.pop("pay/0") == 1
    assert set(found.executions.values()) <= {1, 2}
    assert len(keys) == 1, "the key of a run is that of all its responses"
    assert found.interrupted
    assert found.writes >= 8


async def test_steps_and_messages_that_run_end_before_the_response() -> None:
    ended: list[str] = []
    go_on = asyncio.Event()

    async def slow(name: str) -> str:
        await go_on.wait()
        ended.append(name)
        return name

    async def handler(ctx: AgentContext) -> list[str]:
        async def talk() -> str:
            async with ctx.message() as text:
                await text.write("It ")
                await ctx.step("in a message", slow, "message")
                await text.write("ends.")
            return await ctx.step("after", ended.append, "after") or "after"

        async def work() -> str:
            async with ctx.scope("work"):
                return await ctx.step("slow", slow, "work", once=True)

        async def question() -> str:
            await let_others_run()
            asyncio.get_running_loop().call_soon(go_on.set)
            return str((await ctx.approval("refund", 1)).approved)

        return await asyncio.gather(talk(), work(), question())

    waiting = await run(handler)

    assert types_of(waiting) == ["message", "mcp_approval_request"]
    assert waiting.output[0].content[0].text == "It ends."  # type: ignore[union-attr]
    assert sorted(ended) == ["message", "work"], "what had not begun waits"

    ended.clear()
    response = await run(handler, answers={"refund": True})
    assert response.output_text == '["after","work","True"]'
    assert sorted(ended) == ["after", "message", "work"], "what ended did not run again"


async def test_a_handler_does_nothing_more_while_it_waits() -> None:
    cleaned: list[str] = []

    async def handler(ctx: AgentContext) -> str:
        try:
            return str((await ctx.approval("refund", 1)).approved)
        except asyncio.CancelledError:
            return "swallowed"
        finally:
            await ctx.step("clean", cleaned.append, "step")
            async with ctx.message() as text:
                await text.write("Cleaned.")

    waiting = await run(handler)
    assert types_of(waiting) == ["mcp_approval_request"]
    assert (waiting.status, cleaned) == ("completed", [])

    response = await run(handler, answers={"refund": False})
    assert types_of(response) == ["message", "message"]
    assert cleaned == ["step"]


async def test_a_handler_may_stop_to_wait_for_its_client() -> None:
    never = asyncio.Event()

    async def handler(ctx: AgentContext) -> str:
        busy = asyncio.create_task(ctx.step("busy", never.wait))
        await let_others_run()
        try:
            await asyncio.wait_for(ctx.approval("refund", 1), 0.01)
        except TimeoutError:
            busy.cancel()
            await ctx.step("instead", lambda: 1)
            return "done without"
        return "answered"

    assert (await run(handler)).output_text == "done without"


@pytest.mark.parametrize("place", ["step", "message"])
async def test_a_question_within_a_step_or_a_message_is_an_error(place: str) -> None:
    async def handler(ctx: AgentContext) -> str:
        async def question() -> None:
            await ctx.approval("refund", 1)

        with pytest.raises((RuntimeError, StepFailed), match="within a step or an open message"):
            if place == "step":
                await ctx.step("question", question)
            async with ctx.message() as text:
                await text.write("May I?")
                await question()
        return "refused"

    response = await run(handler)
    assert response.output_text.endswith("refused")


async def test_an_approval_holds_for_its_arguments_alone() -> None:
    attempts: list[int] = []

    async def handler(ctx: AgentContext) -> str:
        attempts.append(1)
        return str((await ctx.approval("refund", {"amount": len(attempts)})).approved)

    response = await run(handler, answers={"refund": True})

    assert response.error is not None
    assert response.error.code == "agent_changed"
    assert "approval:refund/0" in response.error.message


async def test_a_handler_that_ends_itself_needs_no_answer() -> None:
    async def handler(ctx: AgentContext) -> str:
        question = asyncio.create_task(ctx.approval("refund", 1))
        await let_others_run()
        question.cancel()
        return "never mind"

    response = await run(handler)
    assert response.output_text == "never mind"


async def test_an_invalid_question_is_an_error() -> None:
    async def handler(ctx: AgentContext) -> str:
        for name in ("", "n" * 129):
            with pytest.raises(ValueError, match="name of a call"):
                await ctx.approval(name, 1)
        with pytest.raises(TypeError, match="arguments"):
            await ctx.client_call("weather", {"at": object()})  # type: ignore[dict-item]
        assert await ctx.approvals([]) == []
        return "refused"

    assert (await run(handler)).output_text == "refused"


async def test_the_usage_of_a_response_is_that_of_its_own_calls() -> None:
    async def handler(ctx: AgentContext) -> str:
        first = await ctx.call("demo", "one", emit="text")
        approval = await ctx.approval("refund", 1)
        second = await ctx.call("demo", "two", name="second")
        assert first.usage is not None
        return f"{approval.approved} {first.usage.total_tokens} {second.output_text}"

    waiting = await run(handler)
    response = await run(handler, answers={"refund": True})

    assert types_of(waiting) == ["message", "mcp_approval_request"]
    assert types_of(response) == ["message"]
    assert waiting.usage is not None
    assert response.usage is not None
    assert response.output_text.split()[1] == str(waiting.usage.total_tokens)
    assert response.usage.total_tokens == waiting.usage.total_tokens, "one call of each"
