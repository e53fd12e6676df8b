"""Several processes that serve one port: what they share, how they are replaced, and what each of
them knows.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from tests.support.command import Serving, antiphon, pids_below, serving
from tests.support.metrics import read
from tests.support.reload import answering_backend, spoil, until_all_answer, write
from tests.support.replay import Answer, ReplayBackend, echo, text
from tests.support.workers import requesting, until_both_report

UNAVAILABLE = "http://127.0.0.1:9/v1"
BODY = {"model": "m", "input": "Hi"}


@asynccontextmanager
async def ready(folder: Path, *flags: str) -> AsyncIterator[tuple[Serving, aiohttp.ClientSession]]:
    """Two workers, which both answer."""
    store = ("--store", f"sqlite://{folder}/a.db")
    async with (
        serving(folder, "--port", "0", "--workers", "2", *store, *flags) as server,
        requesting() as http,
    ):
        await until_both_report(server.url, http)
        yield server, http


async def test_workers_share_a_port_and_everything_else(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    async with ready(tmp_path, "--backend", backend.url) as (server, http):
        backend.script = lambda request: Answer([text(*(f"{i} " for i in range(20)))])
        last = None
        for number in range(20):
            body = {"model": "m", "input": f"{number}", "previous_response_id": last}
            async with http.post(f"{server.url}/responses", json=body) as response:
                last = (await response.json())["id"]
        async with http.post(
            f"{server.url}/responses", json=BODY | {"background": True, "stream": True}
        ) as response:
            reported = await response.read()
        response_id = json.loads(reported.split(b"data: ")[1].split(b"\n")[0])["response"]["id"]
        for _ in range(6):
            async with http.get(f"{server.url}/responses/{response_id}?stream=true") as response:
                assert await response.read() == reported
        children = pids_below(server.process.pid)
        assert len(children) == 2
        os.kill(children[0], signal.SIGKILL)
        while len(new := pids_below(server.process.pid)) < 2 or children[0] in new:
            await asyncio.sleep(0.05)
        for _ in range(6):
            async with http.get(f"{server.url}/responses/{last}") as response:
                assert response.status == 200
        done = await server.stop(signal.SIGTERM)

    assert done.code == 0
    assert "is being replaced" in done.err


async def test_any_worker_reports_the_counts_of_all(tmp_path: Path, backend: ReplayBackend) -> None:
    async with ready(tmp_path, "--backend", backend.url) as (server, http):
        for _ in range(12):
            async with http.post(f"{server.url}/responses", json=BODY) as response:
                assert response.status == 200
        for _ in range(4):
            async with http.get(server.url.removesuffix("/v1") + "/metrics") as response:
                numbers = read(await response.text())
            assert numbers["antiphon_responses_total{model=m,status=completed}"] == 12
        done = await server.stop(signal.SIGTERM)

    assert (done.code, done.err) == (0, "")


async def test_the_table_and_the_json_show_what_all_workers_know(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    write(tmp_path, ("gone", UNAVAILABLE), ("near", backend.url))
    with (tmp_path / "antiphon.toml").open("a") as file:
        file.write("concurrency = 3\n")
    async with ready(tmp_path) as (server, http):
        for _ in range(6):
            async with http.post(server.url + "/responses", json=BODY) as response:
                assert response.status == 200
        output = await antiphon(tmp_path, "status", "--url", server.url)
        reported = await antiphon(
            tmp_path, "status", "--json", "--url", server.url.removesuffix("/v1")
        )
        await server.stop(signal.SIGTERM)

    status = json.loads(reported.out)
    removed, near = status["backends"]
    assert (output.code, reported.code, output.err) == (0, 0, "")
    assert (status["workers"], near["asked"], near["concurrency"]) == (2, 6, 6)
    assert {one["name"]: one["capacity"] for one in status["shared"]}["responses"] == 4000
    assert removed["error"].endswith(
        " is unreachable: connection refused. Check that it is running."
    )
    for word in ("near", "up", "0 of 6", "gone", "unreached", "connection refused"):
        assert word in output.out


async def test_workers_end_with_the_process_that_watches_them(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    async with ready(tmp_path, "--backend", backend.url) as (server, _):
        children = pids_below(server.process.pid)
        server.process.kill()
        async with asyncio.timeout(30):
            while any(map(lives, children)):
                await asyncio.sleep(0.02)


async def test_a_setting_that_is_wrong_ends_all_workers(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    (tmp_path / "a.db").write_text("no database, and long enough to be seen as none " * 100)
    flags = (
        "--workers",
        "2",
        "--port",
        "0",
        "--backend",
        backend.url,
        "--store",
        f"sqlite://{tmp_path}/a.db",
    )
    done = await antiphon(tmp_path, "serve", *flags)

    assert done.code == 2
    assert "is not an SQLite database" in done.err


def lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_all_workers_call_new_backends_after_a_hangup_and_no_request_fails(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    async with ReplayBackend(echo).serve() as other:
        write(tmp_path, ("old", backend.url))
        async with ready(tmp_path) as (server, http):
            assert await answering_backend(server, http) == "old"
            write(tmp_path, ("new", other.url))
            server.send_signal(signal.SIGHUP)
            lines = [await line_of_log(server) for _ in range(2)]
            await until_all_answer("new", server, http)
            done = await server.stop(signal.SIGTERM)

    assert (done.code, done.err) == (0, "")
    assert all(
        "The settings were reloaded: 1 backends; added: new; removed: old." in line
        for line in lines
    )


@pytest.mark.parametrize("mistake", [None, "backends = 7"])
async def test_a_file_with_a_mistake_is_refused_once_and_all_keep_the_old_settings(
    tmp_path: Path, backend: ReplayBackend, mistake: str | None
) -> None:
    write(tmp_path, ("old", backend.url))
    async with ready(tmp_path) as (server, http):
        spoil(tmp_path, mistake)
        server.send_signal(signal.SIGHUP)
        line = await line_of_log(server)
        assert {await answering_backend(server, http) for _ in range(6)} == {"old"}
        write(tmp_path, ("mended", backend.url))
        server.send_signal(signal.SIGHUP)
        await until_all_answer("mended", server, http)
        done = await server.stop(signal.SIGTERM)

    assert "ERROR" in line
    assert "The settings were not reloaded." in line
    assert "The settings were not reloaded" not in done.err


async def line_of_log(server: Serving) -> str:
    assert server.process.stderr is not None
    async with asyncio.timeout(20):
        return (await server.process.stderr.readline()).decode()


async def answers_of_new_workers(server: Serving, http: aiohttp.ClientSession) -> list[str]:
    """End all workers, and ask those that take their place."""
    for worker in pids_below(server.process.pid):
        os.kill(worker, signal.SIGKILL)
    answered: list[str] = []
    async with asyncio.timeout(30):
        while len(answered) < 6:
            with suppress(aiohttp.ClientError):  # until somebody serves again
                answered.append(await answering_backend(server, http))
    return answered


async def test_one_that_takes_a_dead_ones_place_begins_with_the_new_settings(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    async with ReplayBackend(echo).serve() as other:
        write(tmp_path, ("old", backend.url))
        async with ready(tmp_path) as (server, http):
            write(tmp_path, ("new", other.url))
            server.send_signal(signal.SIGHUP)
            await until_all_answer("new", server, http)
            backend.requests.clear()
            assert set(await answers_of_new_workers(server, http)) == {"new"}

    assert backend.requests == []


@pytest.mark.parametrize(
    "mistake", ["", None, "backends = 7", "[[backends]]\nurl = 'http://127.0.0.1:9/v1'"]
)
async def test_one_that_takes_a_dead_ones_place_reads_no_file_that_was_not_taken_over(
    tmp_path: Path, backend: ReplayBackend, mistake: str | None
) -> None:
    write(tmp_path, ("old", backend.url))
    async with ready(tmp_path) as (server, http):
        spoil(tmp_path, mistake)
        assert set(await answers_of_new_workers(server, http)) == {"old"}


async def test_a_hangup_reaches_a_worker_that_has_only_begun(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    async with ReplayBackend(echo).serve() as other:
        write(tmp_path, ("old", backend.url))
        async with ready(tmp_path) as (server, http):
            before = pids_below(server.process.pid)
            write(tmp_path, ("new", other.url))
            os.kill(before[0], signal.SIGKILL)
            async with asyncio.timeout(20):
                while not set(pids_below(server.process.pid)) - set(before):
                    await asyncio.to_thread(os.sched_yield)
            server.send_signal(signal.SIGHUP)
            await until_both_report(server.url, http)
            await until_all_answer("new", server, http)
            done = await server.stop(signal.SIGTERM)

    assert done.code == 0
    assert done.err.count("added: new; removed: old.") == 2
