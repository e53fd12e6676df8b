"""Handlers with code in threads: the context blocks there, and not after the end."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

import pytest

from antiphon.agents import AgentContext, SyncContext, agent
from antiphon.testing.agents import AgentHarness, Killed
from antiphon.types import Message, OutputText, Response
from tests.integration.agents.test_front import known
from tests.support.server import serve

Handle = Callable[[AgentContext], Awaitable[Any]]


async def run(handler: Handle) -> Response:
    """Return the response of an agent; the harness has an event loop of its own."""
    return await asyncio.to_thread(AgentHarness(agent("tested")(handler)).run, "go")


async def killed(handler: Handle) -> Killed:
    return await asyncio.to_thread(AgentHarness(agent("tested")(handler)).kill_everywhere, "go")


def in_new_thread(function: Callable[[], Any]) -> "Future[Any]":
    """Call a function in a thread that inherits nothing, as frameworks do."""
    done: Future[Any] = Future()
    done.set_running_or_notify_cancel()  # a thread cannot be cancelled

    def call() -> None:
        try:
            done.set_result(function())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return done


def test_each_method_of_the_context_exists_for_threads() -> None:
    names = {name for name, _ in inspect.getmembers(AgentContext) if not name.startswith("_")}
    values = {"input_text", "started_version", "sync", "observe_steps", "records"}

    assert names - values <= set(dir(SyncContext))
    for name in sorted(names - values - {"random"}):
        of_context = inspect.signature(getattr(AgentContext, name)).parameters
        assert list(inspect.signature(getattr(SyncContext, name)).parameters) == list(of_context)


async def test_a_thread_works_like_the_handler_whatever_dies() -> None:
    def work(sync: SyncContext) -> str:
        with sync.reasoning() as thought:
            thought.write("Hm.")
        values = [sync.step("one", lambda: 1), sync.step("one", lambda: 2, retries=1)]
        with sync.scope("inner"):
            values.append(sync.step("pay", lambda: 3, once=True, show=True))
            values += [sync.random.random(), str(sync.uuid())]
        values.append(sync.now().isoformat())
        with sync.message() as text:
            text.write("Text. ")
            text.cite({"type": "url_citation", "url": "https://e.x/", "title": "E"})
        sync.emit(Message(role="assistant", content=[OutputText(text="More.")]))
        values.append(sync.call("demo", "Hi", emit="text").status)
        sync.save({"turns": 1})
        return sync.step("all", lambda every: str(every), values)

    async def handler(ctx: AgentContext) -> str:
        return await asyncio.to_thread(work, ctx.sync)

    expected = await run(handler)
    found = await killed(handler)

    assert [item.type for item in expected.output] == [
        *("reasoning", "mcp_call", "message", "message", "message", "message")
    ]
    # A kill while the payment runs leaves its outcome unknown, and the handler does not catch it.
    assert found.differing == []
    assert found.executions["inner/pay/0"] == 1
    assert found.executions["one/0"] == 2


@pytest.mark.parametrize("inherits", [True, False])
async def test_a_thread_has_the_scope_of_its_caller(inherits: bool) -> None:
    async def handler(ctx: AgentContext) -> None:
        async def one(number: int) -> None:
            async with ctx.scope(f"part {number}"):
                sync = ctx.sync

                def work() -> None:
                    sync.step("double", lambda n: n * 2, number)

                if inherits:
                    await asyncio.to_thread(work)
                else:
                    await asyncio.wrap_future(in_new_thread(work))

        await asyncio.gather(*map(one, range(3)))

    found = await killed(handler)

    assert found.differing == []
    assert set(found.executions) == {f"part {number}/double/0" for number in range(3)}


async def test_a_step_of_a_thread_raises_its_error_there() -> None:
    def work(sync: SyncContext) -> str:
        with pytest.raises(ValueError, match="no retries"):
            sync.step("pay", lambda: 1, once=True, retries=1)
        with pytest.raises(TypeError, match="argument 1 cannot be stored"):
            sync.step("pay", lambda one: one, object())
        with pytest.raises(KeyError), sync.message() as text:
            text.write("Half")
            with pytest.raises(RuntimeError, match="within another one"):
                sync.message().__enter__()
            raise KeyError("the block")
        return "raised"

    async def handler(ctx: AgentContext) -> str:
        return await asyncio.to_thread(work, ctx.sync)

    response = await run(handler)

    assert [item.status for item in response.output] == ["incomplete", "completed"]  # type: ignore[union-attr]
    assert response.output_text == "Halfraised"


async def test_it_cannot_block_the_event_loop() -> None:
    async def handler(ctx: AgentContext) -> str:
        with pytest.raises(RuntimeError, match=r"asyncio\.to_thread"):
            ctx.sync.step("one", lambda: 1)
        return "refused"

    assert (await run(handler)).output_text == "refused"


async def test_a_thread_that_outlives_the_response_gets_an_error() -> None:
    ended = threading.Event()
    left: list[Future[Any]] = []

    async def handler(ctx: AgentContext) -> str:
        sync = ctx.sync
        begun, release = threading.Event(), asyncio.Event()

        def late() -> None:
            ended.wait(10)
            sync.step("late", lambda: 1)

        def waiting() -> None:
            begun.set()
            sync.step("waiting", release.wait)

        left.extend(map(in_new_thread, (late, waiting)))
        await asyncio.to_thread(begun.wait, 10)
        return "answer"

    response = await run(handler)
    ended.set()
    errors = [await asyncio.to_thread(one.exception, 10) for one in left]

    assert response.output_text == "answer"
    assert [type(error) for error in errors] == [RuntimeError, RuntimeError]
    assert all("The response has ended" in str(error) for error in errors)


async def test_a_task_that_outlives_the_response_gets_an_error() -> None:
    left: list[asyncio.Task[Any]] = []
    errors: list[BaseException] = []

    async def handler(ctx: AgentContext) -> str:
        go = asyncio.Event()

        async def late() -> None:
            await go.wait()
            for use in (
                lambda: ctx.step("late", lambda: 1),
                ctx.now,
                lambda: ctx.save(1),
                lambda: ctx.message().__aenter__(),
                lambda: ctx.call("demo", "late"),
            ):
                try:
                    await use()
                except RuntimeError as error:
                    errors.append(error)

        left.append(asyncio.create_task(late()))
        asyncio.get_running_loop().call_later(0, go.set)
        return "answer"

    response = await run(handler)

    assert response.output_text == "answer"
    assert len(errors) == 5
    assert all("The response has ended" in str(error) for error in errors)


async def test_a_thread_can_wait_for_the_client() -> None:
    waited: list[str] = []

    @agent("asks")
    async def requests_approval(ctx: AgentContext) -> str:
        def work(sync: SyncContext) -> str:
            with sync.message() as text:
                text.write("Wait.")
            try:
                return f"approved: {sync.approval('pay', {'order': 17}).approved}"
            except RuntimeError as error:
                waited.append(str(error))
                raise

        return await asyncio.to_thread(work, ctx.sync)

    async with serve(agents=[requests_approval]) as server:
        await known(server, "asks")
        create = server.sdk.responses.create
        first = await create(model="asks", input="go")
        answer: Any = {
            "type": "mcp_approval_response",
            "approval_request_id": first.output[1].id,
            "approve": True,
        }
        second = await create(model="asks", input=[answer], previous_response_id=first.id)

    assert [item.type for item in first.output] == ["message", "mcp_approval_request"]
    assert second.output_text == "approved: True"
    assert len(waited) == 1, "the thread of the first response does not wait forever"
