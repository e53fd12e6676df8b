"""`antiphon status`, of a server that runs."""

import asyncio
import json
import os
import pty
import signal
import sys
from pathlib import Path

import aiohttp
import pytest

from tests.support.command import antiphon, environment, serving
from tests.support.replay import ReplayBackend

GONE = "http://127.0.0.1:9/v1"


def write(folder: Path, url: str) -> None:
    (folder / "antiphon.toml").write_text(
        f'[[backends]]\nname = "near"\nurl = "{url}"\nconcurrency = 3\n[[backends]]\nname = "gone"\nurl = "{GONE}"\n'
    )


async def test_names_health_and_errors_are_whole_on_a_narrow_screen(tmp_path: Path, backend: ReplayBackend) -> None:
    write(tmp_path, backend.url)
    async with serving(tmp_path, "--port", "0", "--store", "sqlite://") as server:
        shown = await antiphon(tmp_path, "status", "--url", server.url, COLUMNS="80")

    rows = [[cell.strip() for cell in line.split("│")[1:3]] for line in shown.out.splitlines() if "│" in line]
    assert rows == [["near", "up"], ["gone", "unreached"]]
    assert "\ngone: The model backend cannot be reached. (" in shown.out


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_the_table_and_the_json_show_what_all_workers_know(
    tmp_path: Path, backend: ReplayBackend, workers: str
) -> None:
    write(tmp_path, backend.url)
    store = ("--store", f"sqlite://{tmp_path}/a.db")
    async with serving(tmp_path, "--port", "0", "--workers", workers, *store) as server:
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector) as http:
            for _ in range(6):
                async with http.post(server.url + "/responses", json={"model": "m", "input": "Hi"}) as response:
                    assert response.status == 200
        shown = await antiphon(tmp_path, "status", "--url", server.url)
        told = await antiphon(tmp_path, "status", "--json", "--url", server.url.removesuffix("/v1"))
        await server.stop(signal.SIGTERM)

    status = json.loads(told.out)
    near, gone = status["backends"]
    assert (shown.code, told.code, shown.err) == (0, 0, "")
    assert (status["workers"], near["asked"], near["concurrency"]) == (int(workers), 6, 3 * int(workers))
    assert gone["error"] == "The model backend cannot be reached."
    for word in ("near", "up", "0 of 3" if workers == "1" else "0 of 6", "gone", "unreached", "cannot be reached"):
        assert word in shown.out
    assert os.fsencode(GONE) not in shown.out.encode()


async def test_on_a_terminal_it_is_shown_anew_until_it_is_interrupted(tmp_path: Path, backend: ReplayBackend) -> None:
    write(tmp_path, backend.url)
    async with serving(tmp_path, "--port", "0", "--store", "sqlite://") as server:
        screen, terminal = pty.openpty()
        command = (sys.executable, "-m", "antiphon", "status", "--url", server.url)
        shown = b""
        process = await asyncio.create_subprocess_exec(
            *command, cwd=tmp_path, env=environment(tmp_path, TERM="xterm"), stdin=-3, stdout=terminal, stderr=terminal
        )
        os.close(terminal)
        async with asyncio.timeout(30):
            while shown.count(b"near") < 3:
                shown += await asyncio.to_thread(os.read, screen, 65_536)
            process.send_signal(signal.SIGINT)
            await process.wait()
        os.close(screen)

    assert process.returncode == 130


async def test_a_server_that_is_not_there_is_one_line_on_standard_error(tmp_path: Path) -> None:
    done = await antiphon(tmp_path, "status", "--once", "--url", "http://127.0.0.1:9")

    assert (done.code, done.out) == (1, "")
    assert done.err == "antiphon: No server answers at http://127.0.0.1:9. Name its address with --url.\n"


async def test_what_is_no_antiphon_is_told_apart(tmp_path: Path, backend: ReplayBackend) -> None:
    done = await antiphon(tmp_path, "status", "--once", "--url", backend.url)

    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "is no Antiphon" in done.err
