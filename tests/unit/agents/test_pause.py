"""When a response ends because its handler waits for the client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from antiphon.agents.errors import AgentError, needs_store
from antiphon.agents.pause import ROUNDS, ClientQuestion, RunPause
from antiphon.protocol.items.hosted import McpApprovalRequest
from tests.support.waiting import let_others_run


def question(name: str) -> ClientQuestion:
    item = McpApprovalRequest(id=f"mcpr_{name}", name=name, arguments="{}", server_label="agent")
    return ClientQuestion(f"approval:{name}/0", b"", item)


class Waiting:
    """A pause, with the tasks that wait in it."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.pause = RunPause(self.over.set, lambda: self.is_done)
        self.is_done = False
        self.tasks: list[asyncio.Task[None]] = []

    def wait(self, *names: str) -> "asyncio.Task[None]":
        task = asyncio.create_task(self.pause.wait_for_client([question(one) for one in names]))
        self.tasks.append(task)
        return task

    @property
    def keys(self) -> list[str]:
        return [one.key for one in self.pause.questions]


@asynccontextmanager
async def waiting() -> AsyncIterator[Waiting]:
    found = Waiting()
    try:
        yield found
    finally:
        found.pause.close()
        for task in found.tasks:
            task.cancel()
        await asyncio.gather(*found.tasks, return_exceptions=True)


async def rounds() -> None:
    """Let more rounds pass than those in which nothing may run."""
    for _ in range(ROUNDS + 4):
        await let_others_run()


async def test_questions_of_the_same_moment_end_the_response_together() -> None:
    async with waiting() as found:
        one, two = found.wait("a", "b"), found.wait("c")
        await found.over.wait()
        await asyncio.wait([one, two])

        assert found.keys == ["approval:a/0", "approval:b/0", "approval:c/0"]
        assert one.cancelled()
        assert two.cancelled()


async def busy(found: Waiting, end: asyncio.Event) -> "asyncio.Task[None]":
    """Return a task that runs until `end`, and then needs something new."""
    begun = asyncio.Event()

    async def work() -> None:
        with found.pause.working():
            begun.set()
            await end.wait()
            await found.pause.admit()

    task = asyncio.create_task(work())
    await begun.wait()
    return task


async def test_the_response_ends_after_what_runs() -> None:
    end = asyncio.Event()
    async with waiting() as found:
        working = await busy(found, end)
        found.wait("a")
        await rounds()
        assert not found.pause.is_over
        end.set()
        await working
        await found.over.wait()


async def test_new_work_waits_and_does_not_begin_if_the_response_ends() -> None:
    end = asyncio.Event()
    async with waiting() as found:
        await busy(found, end)
        found.wait("a")
        await rounds()
        new = asyncio.create_task(found.pause.admit())
        await rounds()
        assert not new.done()
        end.set()
        await asyncio.wait([new])

        assert new.cancelled()
        for refused in (found.pause.check, lambda: found.pause.working().__enter__()):
            with pytest.raises(asyncio.CancelledError):
                refused()


async def test_new_work_begins_if_nothing_waits_any_more() -> None:
    end = asyncio.Event()
    async with waiting() as found:
        await busy(found, end)
        question = found.wait("a")
        await rounds()
        new = asyncio.create_task(found.pause.admit())
        await rounds()
        question.cancel()
        await new

        assert found.keys == []
        end.set()
        await rounds()
        assert not found.pause.is_over


async def test_a_question_in_running_work_is_an_error() -> None:
    async with waiting() as found:
        with found.pause.working(), pytest.raises(RuntimeError, match="within a step"):
            await found.pause.wait_for_client([question("a")])


async def test_the_end_of_the_handler_is_the_end_of_the_response() -> None:
    async with waiting() as found:
        found.wait("a")
        found.is_done = True
        await rounds()

        assert not found.pause.is_over


async def test_the_first_error_is_that_of_the_response() -> None:
    pause = RunPause(lambda: None, lambda: False)
    pause.fail(needs_store())
    pause.fail(AgentError("Another one."))

    assert pause.error is not None
    assert pause.error.code == "agent_needs_store"
