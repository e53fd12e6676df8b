"""A background response whose worker dies while code or commands run: nothing is run twice, and it
ends.
"""

import asyncio
from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.runs.tool_calls import INTERRUPTED
from antiphon.storage.operations import jobs
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.testing import assert_event_stream
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.registry import Toolset
from tests.integration.jobs.test_calls_survive import Dies, Hangs, ended, queue, reported
from tests.support.notebooks import CODE, OUTPUTS, SHELL, Notebooks, cell, created, printed
from tests.support.parts import NOW, called, stated
from tests.support.replay import delta
from tests.support.tools import Servers
from tests.support.waiting import until

RUN = called("python", '{"code": "draw()"}')
LS = called("shell", '{"commands": ["ls"]}')


def worker(store: SqliteStore, notebooks: Notebooks, *answers: Any) -> Dies:
    one = Dies(store, Servers(), *answers)
    one.parts.run.toolset = Toolset(code=notebooks)
    return one


async def left(store: SqliteStore, notebooks: Notebooks, *answers: Any, **body: Any) -> str:
    """A response whose worker died while its code ran."""
    reached = asyncio.Event()

    async def hang(use: Use) -> ToolOutcome:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    notebooks.answer = hang
    first = worker(store, notebooks, *answers)
    first.worker.start()
    response_id = await queue(first.parts, **body)
    await asyncio.wait_for(reached.wait(), 30)
    await first.die()
    return response_id


async def taken_up(
    store: SqliteStore, notebooks: Notebooks, response_id: str, *answers: Any
) -> tuple[Any, Any]:
    """The response once another worker has ended it, and what its model was asked."""
    second = worker(store, notebooks, *answers)
    second.worker.start()
    response = await ended(second.parts, response_id)
    await second.worker.close()
    assert_event_stream(await reported(second.parts, response_id))
    return response, second.backend.requests


async def test_code_that_was_interrupted_is_failed_and_never_run_again() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    notebooks = Notebooks()
    response_id = await left(store, notebooks, RUN, tools=[CODE], include=OUTPUTS)
    response, requests = await taken_up(store, notebooks, response_id, stated("Lost."))

    call, message = response["output"]
    assert (call["status"], call["code"], call["outputs"]) == ("failed", "draw()", [])
    assert call["container_id"] == notebooks.used[0].container_id
    assert message["content"][0]["text"] == "Lost."
    assert len(notebooks.used) == 1
    assert INTERRUPTED in requests[0]["messages"][-1]["content"]


async def test_commands_that_were_interrupted_are_incomplete_and_never_run_again() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    notebooks = Notebooks()
    response_id = await left(store, notebooks, LS, tools=[SHELL])
    response, requests = await taken_up(store, notebooks, response_id, stated("Lost."))

    call, output, _ = response["output"]
    assert (call["status"], call["action"]["commands"]) == ("incomplete", ["ls"])
    assert (output["status"], output["output"], output["call_id"]) == (
        "incomplete",
        [],
        call["call_id"],
    )
    assert len(notebooks.used) == 1
    assert INTERRUPTED in requests[0]["messages"][-1]["content"]


@pytest.mark.parametrize(("tool", "call"), [(CODE, RUN), (SHELL, LS)])
async def test_a_result_from_before_the_crash_is_stored_with_its_files(
    tool: Any, call: Any
) -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    notebooks = Notebooks()
    result = printed("ok") if tool is SHELL else cell("ok")
    notebooks.answer = lambda use: ToolOutcome("ok", result.fields, files=[created("a.csv")])
    first = worker(store, notebooks, call, stated("never"))
    hangs = Hangs(first.backend, 1)
    first.worker.start()
    response_id = await queue(first.parts, tools=[tool], include=OUTPUTS)
    await asyncio.wait_for(hangs.requested.wait(), 30)
    await first.die()

    response, requests = await taken_up(
        store, notebooks, response_id, stated("sandbox:/mnt/data/a.csv")
    )

    *_, last, message = response["output"]
    assert last.get("outputs", last.get("output")) == list(*result.fields.values())
    assert message["content"][0]["annotations"][0]["file_id"] == "cfile_a"
    assert len(notebooks.used) == 1
    assert requests[0]["messages"][-1]["content"] == "ok"


async def test_of_two_shell_calls_the_one_that_ended_keeps_its_output() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    notebooks = Notebooks()
    reached = asyncio.Event()

    async def run(use: Use) -> ToolOutcome:
        if use.arguments["commands"] == ["quick"]:
            return printed("done")
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    notebooks.answer = run
    each = [
        {
            "index": at,
            "id": f"call_{at}",
            "type": "function",
            "function": {"name": "shell", "arguments": arguments},
        }
        for at, arguments in enumerate(('{"commands": ["quick"]}', '{"commands": ["slow"]}'))
    ]
    first = worker(
        store, notebooks, [*(delta(tool_calls=[call]) for call in each), delta("tool_calls")]
    )
    first.worker.start()
    response_id = await queue(first.parts, tools=[SHELL])
    await asyncio.wait_for(reached.wait(), 30)
    await first.die()

    response, requests = await taken_up(store, notebooks, response_id, stated("One of two."))

    quick, slow, quick_output, slow_output, _ = response["output"]
    assert [item["call_id"] for item in (quick, slow)] == [
        item["call_id"] for item in (quick_output, slow_output)
    ]
    assert (quick_output["output"][0]["stdout"], slow_output["status"]) == ("done", "incomplete")
    assert len(notebooks.used) == 2
    assert [message["role"] for message in requests[0]["messages"]] == [
        "user",
        "assistant",
        "tool",
        "tool",
    ]


async def test_what_goes_on_after_a_crash_goes_on_in_the_same_container() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    notebooks = Notebooks()
    response_id = await left(store, notebooks, RUN, tools=[CODE])
    notebooks.answer = lambda use: cell("4")
    response, _ = await taken_up(store, notebooks, response_id, RUN, stated("4"))

    first, second, _ = response["output"]
    assert (first["status"], second["status"]) == ("failed", "completed")
    assert first["container_id"] == second["container_id"]
    assert len({use.container_id for use in notebooks.used}) == 1


@pytest.mark.parametrize(("tool", "call"), [(CODE, RUN), (SHELL, LS)])
async def test_a_response_that_is_cancelled_while_code_runs_ends_there(
    tool: Any, call: Any
) -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    notebooks = Notebooks()
    notebooks.gate = asyncio.Event()
    one = worker(store, notebooks, call, stated("never"))
    one.worker.start()
    response_id = await queue(one.parts, tools=[tool])
    await until(lambda: notebooks.used)
    await Gateway(one.parts).queue.cancel("", response_id)
    notebooks.gate.set()
    await until(lambda: not one.parts.shared.usage()["background_jobs"].in_use)
    response = await ended(one.parts, response_id)
    await one.worker.close()

    assert response["status"] == "cancelled"
    assert [item["status"] for item in response["output"]] == ["incomplete"]
    assert len(notebooks.used) == len(one.backend.requests) == 1


async def test_a_response_for_a_container_that_does_not_exist_is_not_queued() -> None:
    store = SqliteStore.open("sqlite://", now=lambda: NOW)
    one = worker(store, Notebooks())
    with pytest.raises(ClientError, match="Container not found"):
        await queue(one.parts, tools=[{"type": "code_interpreter", "container": "cntr_unknown"}])

    assert await store.write(jobs.claim, "any", 10) is None
