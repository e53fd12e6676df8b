"""`antiphon serve --agents`: a worker next to the server, replaced if it dies, stopped with it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest
from bench.ports import free_port

from tests.support.command import Serving, antiphon, pids_below, serving, start
from tests.support.metrics import read
from tests.support.reload import write
from tests.support.replay import ReplayBackend
from tests.support.waiting import eventually, until
from tests.support.workers import requesting

AGENTS = """
import os
from antiphon.agents import agent

@agent("who")
async def who(ctx):
    return str(os.getpid())

@agent("slow")
async def slow(ctx):
    import asyncio
    async with ctx.message() as text:
        await text.write("Wait. ")
        await asyncio.sleep(1)
        await text.write("Done.")
"""

pytestmark = pytest.mark.timeout(120)


def flags(folder: Path, module: str = AGENTS) -> list[str]:
    (folder / "own_agents.py").write_text(module)
    return ["--port", "0", "--store", f"sqlite://{folder}/a.db", "--agents", "own_agents"]


async def pid_of_worker(server: Serving) -> int:
    """The process that runs the agents, once it answers."""
    async with requesting() as http:

        async def requested() -> str:
            body = {"model": "who", "input": "?"}
            async with http.post(f"{server.url}/responses", json=body) as response:
                answer = await response.json()
            return str(answer["output"][0]["content"][0]["text"]) if response.ok else ""

        return int(await eventually(requested))


def lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def until_cut(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The rest of a reply, which the server can end at any byte."""
    with suppress(aiohttp.ClientError):
        async for chunk in response.content.iter_any():
            yield chunk


async def line_with(server: Serving, words: str) -> str:
    assert server.process.stderr is not None
    async with asyncio.timeout(30):
        while words not in (line := (await server.process.stderr.readline()).decode()):
            assert line, f"The log ended without {words!r}"
    return line


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_one_worker_runs_next_to_the_server_and_is_replaced_when_it_is_killed(
    tmp_path: Path, workers: str
) -> None:
    async with serving(tmp_path, *flags(tmp_path), "--workers", workers) as server:
        assert "agents who, slow;" in server.lines[-2]
        first = await pid_of_worker(server)
        assert first in pids_below(server.process.pid)
        await until(lambda: len(pids_below(server.process.pid)) == int(workers) + 1)
        below = pids_below(server.process.pid)
        os.kill(first, signal.SIGKILL)
        line = await line_with(server, "The worker of agents")

        async def replaced() -> int:
            return await pid_of_worker(server)

        assert await eventually(replaced, lambda pid: pid != first)
        done = await server.stop(signal.SIGTERM)

    assert "was killed by SIGKILL and is being replaced in 1 s" in line
    assert (done.code, done.err) == (0, "")
    assert not any(map(lives, below))


@pytest.mark.parametrize("received", [signal.SIGTERM, signal.SIGINT])
async def test_the_worker_stops_after_the_server(tmp_path: Path, received: int) -> None:
    async with serving(tmp_path, *flags(tmp_path)) as server, requesting() as http:
        await pid_of_worker(server)
        body = {"model": "slow", "input": "?", "stream": True}
        async with http.post(f"{server.url}/responses", json=body) as response:
            while b"Wait." not in await response.content.readline():
                pass
            stopping = asyncio.create_task(server.stop(received))
            rest = [chunk async for chunk in until_cut(response)]
            done = await stopping

    assert (done.code, done.err) == (0, "")
    # Ctrl-C gives responses in progress no time.
    assert (b"Done." in b"".join(rest)) == (received == signal.SIGTERM)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("import missing_package", "ModuleNotFoundError: No module named 'missing_package'"),
        ("raise SystemExit(0)", "Cannot import the agents of own_agents: SystemExit"),
        ("agents = []", "There are no agents in own_agents."),
    ],
)
async def test_a_module_that_cannot_be_used_ends_the_server(
    tmp_path: Path, module: str, words: str
) -> None:
    done = await antiphon(tmp_path, "serve", *flags(tmp_path, module))

    assert done.code == 2
    assert words in done.err
    assert "is being replaced" not in done.err


async def test_a_worker_that_always_dies_is_replaced_less_and_less_often(tmp_path: Path) -> None:
    async with serving(tmp_path, *flags(tmp_path, "import os; os._exit(7)")) as server:
        first = await line_with(server, "The worker of agents")
        second = await line_with(server, "The worker of agents")
        done = await server.stop(signal.SIGTERM)

    assert "ended with exit code 7 and is being replaced in 1 s" in first
    assert "ended with exit code 7 and is being replaced in 2 s" in second
    assert done.code == 0


async def test_the_worker_reads_its_backends_again_with_the_server(tmp_path: Path) -> None:
    write(tmp_path, ("old", "http://127.0.0.1:9/v1"))
    async with serving(tmp_path, *flags(tmp_path)) as server:
        await pid_of_worker(server)
        write(tmp_path, ("new", "http://127.0.0.1:9/v1"))
        server.send_signal(signal.SIGHUP)
        lines = [await line_with(server, "The settings were reloaded") for _ in range(2)]
        done = await server.stop(signal.SIGTERM)

    assert all("added: new; removed: old." in line for line in lines)
    assert done.code == 0


async def test_a_model_with_the_name_of_an_agent_is_in_the_log_of_both(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    backend.models = [{"id": "who"}]
    async with serving(tmp_path, *flags(tmp_path), "--backend", backend.url) as server:
        assert "agents who, slow;" in server.lines[-2]
        done = await server.stop(signal.SIGTERM)

    lines = [line for line in done.err.splitlines() if "has the name of an agent" in line]
    assert len(lines) == 2
    assert all("The model 'who' of the backend" in line for line in lines)


async def test_metrics_and_status_of_the_server_have_those_of_its_agents(tmp_path: Path) -> None:
    async with serving(tmp_path, *flags(tmp_path)) as server, requesting() as http:
        await pid_of_worker(server)
        url = server.url.removesuffix("/v1")
        numbers = read(await (await http.get(f"{url}/metrics")).text())
        status = await (await http.get(f"{url}/status")).json()
        done = await server.stop(signal.SIGTERM)

    assert numbers["antiphon_agent_runs_total{agent=who,end=completed}"] >= 1
    assert numbers["antiphon_agent_places"] == 16
    assert status["workers"] == 1
    assert [one["name"] for one in status["agents"]["agents"]] == ["slow", "who"]
    assert [one["places"] for one in status["agents"]["workers"]] == [16]
    assert (done.code, done.err) == (0, "")


async def test_an_agent_that_blocks_the_loop_is_named_in_the_log_and_its_worker_has_metrics(
    tmp_path: Path,
) -> None:
    blocking = """
import time
from antiphon.agents import agent

@agent("sleepy")
async def sleepy(ctx):
    time.sleep(0.6)
    return "done"
"""
    port = free_port()
    (tmp_path / "own_agents.py").write_text(blocking)
    store = ("--store", f"sqlite://{tmp_path}/a.db")
    watched = ("--metrics-listen", f"127.0.0.1:{port}")
    worker = await start(tmp_path, "worker", "own_agents", *store, *watched)
    assert worker.stdout is not None
    assert b"runs the agents sleepy" in await worker.stdout.readline()
    async with serving(tmp_path, "--port", "0", *store) as server, requesting() as http:
        body = {"model": "sleepy", "input": "?"}
        async with http.post(f"{server.url}/responses", json=body) as response:
            assert (await response.json())["status"] == "completed"
        numbers = read(await (await http.get(f"http://127.0.0.1:{port}/metrics")).text())
    worker.send_signal(signal.SIGTERM)
    _, log = await worker.communicate()

    assert "s by the agent sleepy; every client waited." in log.decode()
    assert "in sleepy" in log.decode()
    assert numbers["antiphon_agent_runs_total{agent=sleepy,end=completed}"] == 1


async def test_a_store_in_memory_is_refused(tmp_path: Path) -> None:
    done = await antiphon(tmp_path, "serve", *flags(tmp_path), "--store", "sqlite://")

    assert done.code == 2
    assert "the store is in memory" in done.err
