"""Servers as processes: one is killed while its code runs, and a container moves from one to the
other.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI

from antiphon.runs.tool_calls import INTERRUPTED
from antiphon.tools.code.tool import LOST_VARIABLES
from tests.support.code import AUTO, OUTPUTS, coding, container_of, logs, skip_without_machines
from tests.support.command import Serving, serving
from tests.support.replay import ReplayBackend

PATIENCE = 90.0
"""Seconds until another server has noticed a death and ended what it left; a hold ends by its time
in 20.
"""

SETTINGS = """
code_sandbox = "bubblewrap"
check_interval = 0
"""


@pytest.fixture(autouse=True)
def machines() -> None:
    """Skip where bubblewrap does not work."""
    skip_without_machines()


@asynccontextmanager
async def servers(
    folder: Path, store: str, model: str, count: int = 1
) -> AsyncIterator[list[Serving]]:
    (folder / "antiphon.toml").write_text(SETTINGS)
    flags = ("--port", "0", "--backend", model, "--store", store)
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(serving(folder, *flags)) for _ in range(count)]


def client(server: Serving) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.url, api_key="x", max_retries=0, timeout=PATIENCE)


async def run(sdk: AsyncOpenAI, code: str, **more: Any) -> Any:
    return await sdk.responses.create(
        **{"model": "m", "input": code, "tools": [AUTO], "include": OUTPUTS, **more}
    )


def is_running(pid: int) -> bool:
    """Whether a process runs: one that has ended may wait for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def below(pid: int) -> list[int]:
    """The processes below this one, at every depth, whichever thread has started them."""
    try:
        found = [file.read_text().split() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    children = [int(child) for one in found for child in one]
    return [*children, *(one for child in children for one in below(child))]


def has_begun(pid: int) -> bool:
    """Whether this is a process of a machine in which the second call has begun: its code opens a
    file.
    """
    try:
        return Path(f"/proc/{pid}/root/mnt/data/running").exists()
    except OSError:
        return False


async def until_none(pids: Iterable[int]) -> None:
    async with asyncio.timeout(PATIENCE):
        while any(map(is_running, pids)):
            await asyncio.sleep(0.05)


async def ended(sdk: AsyncOpenAI, response_id: str) -> Any:
    """Wait for a response's end."""
    async with asyncio.timeout(PATIENCE):
        while (found := await sdk.responses.retrieve(response_id, include=OUTPUTS)).status in (
            "queued",
            "in_progress",
        ):
            await asyncio.sleep(0.2)
    return found


@pytest.mark.timeout(4 * PATIENCE)
async def test_a_call_fails_if_its_server_is_killed_and_is_not_repeated(
    tmp_path: Path, store_url: str
) -> None:
    async with ReplayBackend(coding).serve() as model:
        async with servers(tmp_path, store_url, model.url) as (one,), client(one) as sdk:
            first = await run(sdk, "x = 1; open('kept', 'w').write('1')")
            code = (
                "open('kept', 'a').write('2')\nopen('running', 'w')\nimport time; time.sleep(1000)"
            )
            killed = await run(sdk, code, previous_response_id=first.id, background=True)
            machines = below(one.process.pid)
            assert machines
            async with asyncio.timeout(PATIENCE):
                while not any(map(has_begun, machines)):
                    await asyncio.sleep(0.02)
            os.kill(one.process.pid, signal.SIGKILL)
            await one.process.wait()
            await until_none(machines)
        async with servers(tmp_path, store_url, model.url) as (other,), client(other) as sdk:
            found = await ended(sdk, killed.id)
            again = await run(
                sdk, "open('kept').read(), 'x' in globals()", previous_response_id=found.id
            )
            assert (await other.stop(signal.SIGTERM)).code == 0

    assert found.status == "completed"
    call, message = found.output
    assert (call.status, call.code, call.container_id) == ("failed", code, container_of(first))
    assert message.type == "message"
    resumed = next(one for one in model.requests if INTERRUPTED in str(one["messages"]))
    assert INTERRUPTED in str(resumed["messages"][-1])
    assert logs(again) == ["('1', False)"] and container_of(again) == container_of(first)
    assert LOST_VARIABLES in str(model.requests[-1]["messages"][-1])


@pytest.mark.timeout(4 * PATIENCE)
async def test_a_container_moves_between_servers_and_ends_with_them(
    tmp_path: Path, store_url: str
) -> None:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ReplayBackend(coding).serve())
        one, other = await stack.enter_async_context(servers(tmp_path, store_url, model.url, 2))
        here, there = [await stack.enter_async_context(client(server)) for server in (one, other)]
        first = await run(here, "x = 1; open('a', 'w').write('one')")
        tools: Any = [{**AUTO, "container": container_of(first)}]
        second = await run(
            there, "'x' in globals(), open('a').read(), open('b', 'w').write('two')", tools=tools
        )
        third = await run(here, "'x' in globals(), open('b').read()", tools=tools)
        machines = [*below(one.process.pid), *below(other.process.pid)]
        ends = [await server.stop(signal.SIGTERM) for server in (one, other)]

    assert logs(second) == ["(False, 'one', 3)"]
    assert logs(third) == ["(False, 'two')"]
    assert [end.code for end in ends] == [0, 0]
    assert machines and not any(map(is_running, machines))
    reported = [str(one["messages"][-1]) for one in model.requests]
    assert sum(LOST_VARIABLES in one for one in reported) == 2
