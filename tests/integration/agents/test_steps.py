"""Handlers that are ended before and after each write: what runs again, and what does not."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon.agents import (
    AgentContext,
    AgentError,
    StepFailed,
    StepInterrupted,
    agent,
    idempotency_key,
)
from antiphon.testing.agents import AgentHarness, Killed
from antiphon.types import Message, OutputText
from tests.support.waiting import let_others_run

Handle = Callable[[AgentContext], Awaitable[Any]]


async def run(handler: Handle, text: str = "go", **parameters: Any) -> Any:
    """Return the response of a handler; the harness has an event loop of its own."""
    harness = AgentHarness(agent("tested", version="7")(handler))
    return await asyncio.to_thread(harness.run, text, **parameters)


async def killed(handler: Handle, text: str = "go") -> Killed:
    harness = AgentHarness(agent("tested")(handler))
    return await asyncio.to_thread(harness.kill_everywhere, text)


async def test_a_step_runs_again_only_if_its_worker_died_before_its_result_was_stored() -> None:
    async def handler(ctx: AgentContext) -> str:
        first = await ctx.step("first", lambda: 1)
        async with ctx.message() as text:
            await text.write(f"{first} ")
        second = await ctx.step("second", lambda one: one + 1, first)
        return str(second)

    found = await killed(handler)

    assert (found.differing, found.interrupted) == ([], [])
    assert found.executions == {"first/0": 2, "second/0": 2}
    assert found.writes >= 3


async def test_a_step_that_runs_once_never_runs_twice_and_reports_that_it_was_interrupted() -> None:
    keys: set[str] = set()

    def pay(amount: int) -> str:
        keys.add(idempotency_key())
        return f"paid {amount}"

    async def handler(ctx: AgentContext) -> str:
        try:
            return await ctx.step("pay", pay, 5, once=True)
        except StepInterrupted as interruption:
            assert interruption.key == "pay/0"
            return "unknown"

    found = await killed(handler)

    assert (found.differing, found.executions) == ([], {"pay/0": 1})
    assert found.interrupted
    assert all(line.endswith(": unknown") for line in found.interrupted)
    assert len(keys) == 1, "the key is equal in all attempts"


async def test_work_side_by_side_survives_in_any_order() -> None:
    async def handler(ctx: AgentContext) -> list[int]:
        async def one(number: int) -> int:
            async with ctx.scope(f"question {number}"):
                for _ in range(ctx.random.randrange(9)):
                    await let_others_run()
                return await ctx.step("double", lambda n: n * 2, number)

        return await asyncio.gather(*map(one, range(4)))

    found = await killed(handler)

    assert found.differing == []
    assert max(found.executions.values()) <= 2


async def test_an_item_that_was_closed_is_sent_once_and_an_open_one_again() -> None:
    async def handler(ctx: AgentContext) -> None:
        async with ctx.reasoning() as thought:
            await thought.write("Hm. ")
            await ctx.step("look", lambda: 1)
            await thought.write("Yes.")
        async with ctx.message() as text:
            await text.write("Done.")
        emitted = await ctx.emit(
            Message(role="assistant", content=[OutputText(text="More.")], status="completed")
        )
        assert emitted.id.startswith("msg_")
        await ctx.step("last", lambda: 2)

    found = await killed(handler)

    assert found.differing == []


async def test_time_and_chance_are_the_same_in_each_attempt() -> None:
    async def handler(ctx: AgentContext) -> list[Any]:
        when = await ctx.now()
        values = [when.isoformat(), ctx.random.random(), str(ctx.uuid())]
        return await ctx.step("use", lambda value: value, values)

    assert (await killed(handler)).differing == []


async def test_an_error_of_a_step_is_recorded_as_a_result() -> None:
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise ValueError("no such order")

    async def handler(ctx: AgentContext) -> str:
        try:
            await ctx.step("fail", fail, retries=2)
        except StepFailed as failed:
            await ctx.step("after", lambda: 1)
            return f"{failed.key} {failed.type} {failed.message}"
        return "it did not fail"

    response = await run(handler)

    assert response.output_text == "fail/0 ValueError no such order"
    assert len(calls) == 3, "with two retries"
    assert (await killed(handler)).differing == []


async def test_a_step_has_a_time_limit_of_its_own() -> None:
    async def handler(ctx: AgentContext) -> str:
        try:
            await ctx.step("slow", asyncio.Event().wait, timeout=0.01)
        except StepFailed as failed:
            return failed.type
        return "it was quick"

    assert (await run(handler)).output_text == "TimeoutError"


async def test_a_handler_that_takes_too_long_fails_with_a_code_of_its_own() -> None:
    async def handler(ctx: AgentContext) -> None:
        await asyncio.Event().wait()

    harness = AgentHarness(agent("tested", timeout=0.05)(handler))
    response = await asyncio.to_thread(harness.run, "go")

    assert response.error is not None
    assert response.error.code == "agent_timeout"


async def test_a_changed_agent_fails_instead_of_using_another_result() -> None:
    attempts: list[int] = []

    async def handler(ctx: AgentContext) -> None:
        attempts.append(ctx.attempt)
        await ctx.step("pay", lambda amount: amount, len(attempts))
        await ctx.step("after", lambda: 1)

    found = await killed(handler)

    changed = [line for line in found.differing if "agent_changed" in line]
    assert changed
    assert "the step 'pay/0' had another argument 1" in changed[0]
    for cure in ("`await ctx.now()`", "`async with ctx.scope(id)`", "name it in `volatile`"):
        assert cure in changed[0]


async def test_results_are_read_as_annotated_and_large_ones_are_refused() -> None:
    def pair() -> tuple[int, int]:
        return (1, 2)

    async def handler(ctx: AgentContext) -> None:
        assert await ctx.step("pair", pair) == (1, 2)
        await ctx.step("large", lambda: "x" * 2**20)

    response = await run(handler)

    assert response.error is not None
    assert response.error.code == "step_result_too_large"


async def test_a_context_refuses_what_it_cannot_keep() -> None:
    async def handler(ctx: AgentContext) -> str:
        with pytest.raises(ValueError, match="no retries"):
            await ctx.step("pay", lambda: 1, once=True, retries=1)
        with pytest.raises(TypeError, match="argument 1 cannot be stored as JSON"):
            await ctx.step("pay", lambda one: 1, object())
        with pytest.raises(TypeError, match=r"dict is not an item of antiphon\.types"):
            await ctx.emit({})  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="The state has"):
            await ctx.save("x" * (1024 * 1024 + 1))
        return "refused"

    assert (await run(handler)).output_text == "refused"
    with pytest.raises(RuntimeError, match="only inside a step"):
        idempotency_key()


async def test_the_context_has_the_request() -> None:
    async def handler(ctx: AgentContext) -> dict[str, Any]:
        return {
            "text": ctx.input_text,
            "metadata": dict(ctx.metadata),
            "version": ctx.started_version,
            "attempt": ctx.attempt,
            "items": [len(ctx.history), len(ctx.input)],
            "model": ctx.request.model,
        }

    response = await run(handler, "Hello!", metadata={"a": "b"})

    assert response.output_text == (
        '{"attempt":1,"items":[0,1],"metadata":{"a":"b"},"model":"tested","text":"Hello!",'
        '"version":"7"}'
    )


async def test_a_handler_can_catch_what_ends_the_response() -> None:
    async def handler(ctx: AgentContext) -> None:
        async with ctx.message() as text:
            await text.write("Half")
            raise AgentError("Stopped.", code="stopped")

    response = await run(handler)

    assert response.error is not None
    assert response.error.code == "stopped"
    assert [(item.status, item.content[0].text) for item in response.output] == [
        ("incomplete", "Half")
    ]


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), BaseException("odd")])
@pytest.mark.parametrize("once", [None, False, True])
async def test_an_error_that_ends_processes_ends_only_the_response(
    raised: BaseException, once: bool | None
) -> None:
    def fail() -> None:
        raise raised

    async def handler(ctx: AgentContext) -> None:
        if once is None:
            fail()
        await ctx.step("fail", fail, once=once is True)

    response = await run(handler)

    assert response.error is not None
    assert response.error.code == "agent_error"
