"""Handlers and clients that do their worst: their own response ends, and others are untouched."""

import asyncio
import gc
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from antiphon.agents import AgentContext, AgentError, agent, agent_run, output
from antiphon.agents.forks import LEFT
from antiphon.config import Settings
from antiphon.storage.open import open_store
from antiphon.storage.operations import jobs
from antiphon.types import FunctionCall, Message, OutputText, Reasoning
from tests.integration.agents.test_front import known
from tests.support.keys import bearing, issue
from tests.support.server import RunningServer, serve
from tests.support.waiting import let_others_run, until

Handle = Callable[[AgentContext], Awaitable[Any]]

SECRET = "the neighbour's secret"


@agent("good")
async def good(ctx: AgentContext) -> str:
    """A neighbour: a step, a message, and a question."""
    async with ctx.message() as text:
        await text.write(await ctx.step("double", lambda word: word * 2, ctx.input_text))
    if ctx.input_text == SECRET:
        await ctx.approval("pay", {"order": SECRET})
    return ctx.tenant


class TwoTenants:
    """A server with agents, its tenant `a`, whose agent is hostile, and its tenant `b`."""

    def __init__(self, server: RunningServer, a: str, b: str) -> None:
        self.server = server
        self.keys = {"a": a, "b": b}

    async def create(self, tenant: str, model: str, **body: Any) -> tuple[int, Any]:
        return await self.server.post(
            "/responses",
            json={"model": model, "input": "go", **body},
            headers=bearing(self.keys[tenant]),
        )

    async def retrieve(self, tenant: str, response_id: str) -> Any:
        url = f"{self.server.url}/responses/{response_id}"
        async with self.server.http.get(url, headers=bearing(self.keys[tenant])) as reply:
            return await reply.json()

    async def hostile(self, **body: Any) -> Any:
        """Return the response of the hostile agent; it can be read again, and its neighbour runs
        beside it and after it.
        """
        (status, found), _ = await asyncio.gather(
            self.create("a", "hostile", **body), self.check_neighbour()
        )
        assert status == 200, found
        again = await self.retrieve("a", found["id"])
        assert again["output"] == found["output"]
        await self.check_neighbour()
        return found

    async def check_neighbour(self) -> None:
        status, found = await self.create("b", "good")
        assert (status, found["status"]) == (200, "completed")
        assert [item["content"][0]["text"] for item in found["output"]] == ["gogo", "b"]


@asynccontextmanager
async def tenants(handler: Handle, **settings: Any) -> AsyncIterator[TwoTenants]:
    store = await open_store("sqlite://")
    a, b = await issue(store, "a"), await issue(store, "b")
    agents = [agent("hostile")(handler), good]
    async with serve(store=store, agents=agents, settings=Settings(**settings)) as server:
        await known(server, "good")
        yield TwoTenants(server, a, b)


async def failed(handler: Handle, code: str = "agent_error", **settings: Any) -> Any:
    """Return the response of a handler, which fails."""
    async with tenants(handler, **settings) as both:
        found = await both.hostile()
    assert (found["status"], found["error"]["code"]) == ("failed", code)
    return found


def message(text: Any = "x", **fields: Any) -> Message:
    return Message(**{"role": "assistant", "content": [OutputText(text=text)], **fields})


# Ends that no handler should choose.


async def test_a_handler_that_ignores_its_cancellation_is_abandoned(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(agent_run, "CLEAN_UP", 0.05)
    refused: list[str] = []
    over = asyncio.Event()

    async def handler(ctx: AgentContext) -> None:
        async with ctx.message() as text:
            await text.write("So far.")
        while True:
            try:
                await over.wait()
                break
            except asyncio.CancelledError:
                continue
        try:
            await ctx.step("late", lambda: 1)
        except RuntimeError as error:
            refused.append(str(error))

    async with tenants(handler) as both:
        status, queued = await both.create("a", "hostile", background=True)
        assert status == 200
        await both.check_neighbour()
        url = f"{both.server.url}/responses/{queued['id']}/cancel"
        async with both.server.http.post(url, headers=bearing(both.keys["a"])) as reply:
            assert (await reply.json())["status"] == "cancelled"
        await until(lambda: "is abandoned" in caplog.text)
        await both.check_neighbour()
        over.set()
        await until(lambda: refused)
        found = await both.retrieve("a", queued["id"])

    assert found["status"] == "cancelled"
    assert "The response has ended" in refused[0]


async def _cancels_itself(ctx: AgentContext) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.Event().wait()


async def _raises_cancelled(ctx: AgentContext) -> None:
    raise asyncio.CancelledError


async def _step_raises_cancelled(ctx: AgentContext) -> None:
    async def step() -> None:
        raise asyncio.CancelledError

    await ctx.step("odd", step)


async def _plain_step_raises_cancelled(ctx: AgentContext) -> None:
    def step() -> None:
        raise asyncio.CancelledError

    await ctx.step("odd", step)


async def _plain_step_raises_stop(ctx: AgentContext) -> None:
    def step() -> None:
        raise StopIteration

    await ctx.step("odd", step)


async def _raises_within_a_message(ctx: AgentContext) -> None:
    async with ctx.message() as text:
        await text.write("Half")
        raise GeneratorExit


async def _raises_in_a_generator(ctx: AgentContext) -> None:
    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            raise KeyError("in the generator")

    async for _ in numbers():
        await ctx.step("one", lambda: 1)


class _UnprintableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


async def _raises_without_a_text(ctx: AgentContext) -> None:
    def step() -> None:
        raise _UnprintableError

    await ctx.step("odd", step)


@pytest.mark.parametrize(
    "handler",
    [
        _cancels_itself,
        _raises_cancelled,
        _step_raises_cancelled,
        _plain_step_raises_cancelled,
        _plain_step_raises_stop,
        _raises_within_a_message,
        _raises_in_a_generator,
        _raises_without_a_text,
    ],
)
async def test_an_error_from_an_odd_place_fails_the_response(handler: Handle) -> None:
    await failed(handler)


async def test_an_error_of_a_handler_while_it_is_cancelled_changes_nothing() -> None:
    begun = asyncio.Event()

    async def handler(ctx: AgentContext) -> None:
        async with ctx.message() as text:
            await text.write("Half")
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                raise KeyError("while cancelled")

    async with tenants(handler) as both:
        _, queued = await both.create("a", "hostile", background=True)
        await begun.wait()
        url = f"{both.server.url}/responses/{queued['id']}/cancel"
        async with both.server.http.post(url, headers=bearing(both.keys["a"])) as reply:
            assert (await reply.json())["status"] == "cancelled"
        await both.check_neighbour()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_an_error_of_a_destructor_changes_nothing() -> None:
    class Odd:
        def __del__(self) -> None:
            raise KeyError("in __del__")

    async def handler(ctx: AgentContext) -> str:
        odd: Any = Odd()
        await ctx.step("one", lambda: 1)
        del odd
        gc.collect()
        return "done"

    async with tenants(handler) as both:
        assert (await both.hostile())["status"] == "completed"


# Forks.


def status_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("where", ["handler", "step", "plain step"])
@pytest.mark.parametrize("then", ["returns", "raises", "uses the context"])
async def test_a_process_that_a_handler_forks_ends_where_it_would_leave_its_code(
    where: str, then: str
) -> None:
    children: list[int] = []

    def fork(ctx: AgentContext) -> str:
        if child := os.fork():
            children.append(child)
            return "parent"
        if then == "raises":
            raise SystemExit(3)
        if then == "uses the context":
            ctx.sync.save("from the child")
        return "child"

    async def step(ctx: AgentContext) -> str:
        found = fork(ctx)
        await let_others_run()
        return found

    async def handler(ctx: AgentContext) -> str:
        if where == "handler":
            return await step(ctx)
        return await ctx.step("fork", partial(step if where == "step" else fork, ctx))

    async with tenants(handler) as both:
        found = await both.hostile()
        exits = await asyncio.to_thread(lambda: [status_of(child) for child in children])
        await both.check_neighbour()

    assert [item["content"][0]["text"] for item in found["output"]] == ["parent"]
    assert exits == [LEFT]


# Floods.


class _SlowStore:
    """A store whose writes of a tenant's events wait."""

    def __init__(self, store: Any, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self.goes_on = asyncio.Event()
        self.waits = asyncio.Event()

    async def write(self, operation: Any, *values: Any, **named: Any) -> Any:
        if operation is jobs.advance and values[0].response.tenant == self._tenant:
            self.waits.set()
            await self.goes_on.wait()
        return await self._store.write(operation, *values, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def test_a_flood_of_events_waits_for_the_store() -> None:
    chunk, count = 65_536, 64
    written = 0

    async def handler(ctx: AgentContext) -> None:
        nonlocal written
        async with ctx.message() as text:
            for _ in range(count):
                written += chunk
                await text.write("x" * chunk)

    async with tenants(handler) as both:
        parts = both.server.parts.jobs
        parts.store = slow = _SlowStore(parts.store, "a")  # type: ignore[assignment]
        flood = asyncio.create_task(both.create("a", "hostile"))
        await slow.waits.wait()
        await both.check_neighbour()
        await until(lambda: written > output.MOST_WAITING)
        await both.check_neighbour()
        assert written == output.MOST_WAITING + chunk, "the rest is not written yet"
        slow.goes_on.set()
        _, found = await flood

    assert found["output"][0]["content"][0]["text"] == "x" * chunk * count


async def test_a_handler_that_ignores_that_its_items_are_too_many_emits_no_more() -> None:
    most, refused = 40, 0

    async def handler(ctx: AgentContext) -> None:
        nonlocal refused
        for _ in range(1_000):
            try:
                await ctx.emit(message())
            except AgentError:
                refused += 1

    found = await failed(handler, "too_many_steps", max_agent_steps=most)

    assert 0 < len(found["output"]) <= most
    assert refused >= 1_000 - most


async def test_a_response_with_too_many_steps_fails() -> None:
    async def handler(ctx: AgentContext) -> None:
        for number in range(10):
            await ctx.step("one", lambda one: one, number)

    found = await failed(handler, "too_many_steps", max_agent_steps=5)

    assert found["error"]["message"] == "The response has more than 5 steps."


async def test_a_response_with_a_journal_that_is_too_large_fails() -> None:
    async def handler(ctx: AgentContext) -> None:
        async with ctx.message() as text:
            await text.write("Kept.")
        for _ in range(10):
            await ctx.step("large", lambda: "x" * 1_000)

    found = await failed(handler, "journal_too_large", max_journal_bytes=4_000)

    assert "more than 4,000 bytes of results" in found["error"]["message"]
    assert found["output"][0]["content"][0]["text"] == "Kept."


# Items and texts that are invalid.


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (message(7), "Expected `str`, got `int`"),
        (message(content=5), "The item is invalid"),
        (message(role="emperor"), "Invalid enum value 'emperor'"),
        (message("\ud800"), "cannot be stored as JSON"),
        (message(object()), "cannot be stored as JSON"),
        (FunctionCall(call_id="c", name="", arguments="{}"), "The item is invalid"),
        (Reasoning(summary=[5]), "The item is invalid"),  # type: ignore[list-item]
        ({"type": "message"}, "dict is not an item"),
        (None, "NoneType is not an item"),
    ],
)
async def test_an_invalid_item_is_refused_where_it_is_emitted(item: Any, error: str) -> None:
    caught: list[str] = []

    async def handler(ctx: AgentContext) -> str:
        try:
            await ctx.emit(item)
        except (TypeError, ValueError) as refused:
            caught.append(str(refused))
        return "went on"

    async with tenants(handler) as both:
        found = await both.hostile()

    assert error in caught[0]
    assert [each["content"][0]["text"] for each in found["output"]] == ["went on"]


async def _writes_a_number(ctx: AgentContext) -> None:
    async with ctx.message() as text:
        await text.write(5)  # type: ignore[arg-type]


async def _writes_half_a_character(ctx: AgentContext) -> None:
    async with ctx.message() as text:
        await text.write("\ud800")


async def _returns_half_a_character(ctx: AgentContext) -> str:
    return "\ud800"


async def _fails_with_half_a_character(ctx: AgentContext) -> None:
    raise AgentError("\ud800")


async def _fails_with_a_number(ctx: AgentContext) -> None:
    raise AgentError("No.", code=5)  # type: ignore[arg-type]


async def _cites_an_object(ctx: AgentContext) -> None:
    async with ctx.message() as text:
        await text.cite({"type": object()})


async def _cites_a_number(ctx: AgentContext) -> None:
    async with ctx.message() as text:
        await text.cite(5)  # type: ignore[arg-type]


async def _cites_no_place(ctx: AgentContext) -> None:
    async with ctx.message() as text:
        await text.cite({"type": "url_citation", "url": "https://a.example", "end_index": "x"})


async def _writes_after_the_block(ctx: AgentContext) -> None:
    async with ctx.message() as text:
        await text.write("In time.")
    await text.write("Late.")


async def _returns_an_object(ctx: AgentContext) -> object:
    return object()


@pytest.mark.parametrize(
    "handler",
    [
        _writes_a_number,
        _writes_half_a_character,
        _returns_half_a_character,
        _fails_with_half_a_character,
        _fails_with_a_number,
        _cites_an_object,
        _cites_a_number,
        _cites_no_place,
        _writes_after_the_block,
        _returns_an_object,
    ],
)
async def test_invalid_output_fails_the_response_and_none_of_it_is_sent(handler: Handle) -> None:
    found = await failed(handler)

    sent = [part["text"] for item in found["output"] for part in item["content"]]
    assert sent in ([], [""], ["In time."])


# What belongs to others, or is over.


async def test_an_item_has_no_id_of_another_response() -> None:
    taken = "msg_of_another"

    async def handler(ctx: AgentContext) -> None:
        await ctx.emit(message(id=taken))

    async with tenants(handler) as both:
        (item,) = (await both.hostile())["output"]

    assert item["id"] != taken


async def waiting_neighbour(both: TwoTenants) -> Any:
    _, found = await both.create("b", "good", input=SECRET)
    assert found["output"][-1]["type"] == "mcp_approval_request"
    return found


async def test_a_tenant_that_names_a_response_of_another_sees_and_changes_nothing() -> None:
    async def handler(ctx: AgentContext) -> list[Any]:
        return [ctx.tenant, len(ctx.history), ctx.state]

    async with tenants(handler) as both:
        theirs = await waiting_neighbour(both)
        request = theirs["output"][-1]["id"]
        answer = {"type": "mcp_approval_response", "approval_request_id": request, "approve": True}
        _, own = await both.create("a", "hostile")
        replies = [
            await both.create("a", model, previous_response_id=previous, input=sent)
            for model in ("good", "hostile")
            for previous, sent in (
                (theirs["id"], "go"),
                (theirs["id"], [answer]),
                (own["id"], [answer]),
            )
        ]
        again = await both.retrieve("b", theirs["id"])
        status, paid = await both.create(
            "b", "good", previous_response_id=theirs["id"], input=[answer]
        )

    assert SECRET not in json.dumps(replies)
    for code, body in (replies[0], replies[1], replies[3], replies[4]):
        assert (code, body["error"]["code"]) == (400, "previous_response_not_found")
    assert again["output"] == theirs["output"]
    assert (status, paid["status"], paid["output"][-1]["content"][0]["text"]) == (
        *(200, "completed"),
        "b",
    )


async def test_a_call_with_the_id_of_a_question_of_another_answers_nothing_of_it() -> None:
    stolen = ""

    async def handler(ctx: AgentContext) -> str:
        if ctx.history:
            return "a new run"
        await ctx.emit(FunctionCall(call_id=stolen, name="pay", arguments="{}"))
        return "asked"

    async with tenants(handler) as both:
        theirs = await waiting_neighbour(both)
        stolen = "call_" + theirs["output"][-1]["id"].removeprefix("mcpr_")
        _, own = await both.create("a", "hostile")
        output = {"type": "function_call_output", "call_id": stolen, "output": "yes"}
        _, found = await both.create("a", "hostile", previous_response_id=own["id"], input=[output])
        again = await both.retrieve("b", theirs["id"])

    assert found["output"][-1]["content"][0]["text"] == "a new run"
    assert again["output"] == theirs["output"]


async def test_a_context_refuses_everything_after_the_end() -> None:
    over = asyncio.Event()
    ended: list[BaseException] = []
    left: list[AgentContext] = []

    async def late(ctx: AgentContext) -> None:
        await over.wait()
        for use in uses:
            try:
                await use(ctx)
            except RuntimeError as error:
                ended.append(error)

    async def handler(ctx: AgentContext) -> str:
        left.append(ctx)
        tasks.append(asyncio.create_task(late(ctx)))
        return "done"

    tasks: list[asyncio.Task[None]] = []

    async def write(ctx: AgentContext) -> None:
        async with ctx.message() as text:
            await text.write("late")

    uses: list[Handle] = [
        write,
        lambda ctx: ctx.step("late", lambda: 1),
        lambda ctx: ctx.call("m", "late"),
        lambda ctx: ctx.emit(message()),
        lambda ctx: ctx.save(1),
        lambda ctx: ctx.now(),
        lambda ctx: ctx.approval("late", {}),
        lambda ctx: ctx.client_call("late", {}),
        lambda ctx: asyncio.to_thread(ctx.sync.now),
    ]
    async with tenants(handler) as both:
        found = await both.hostile()
        over.set()
        await asyncio.gather(*tasks)
        assert await both.retrieve("a", found["id"]) == found
        for use in uses[:-1]:
            with pytest.raises(RuntimeError, match=r"outside its handler|has ended"):
                await use(left[0])

    assert len(ended) == len(uses)
    assert all("The response has ended" in str(error) for error in ended)
