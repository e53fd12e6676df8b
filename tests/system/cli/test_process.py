"""The command as a process of its own: it starts, it serves until a signal ends it, and it draws on
a terminal.

All else that it does is shown inside the tests' own process, by the other files beside this one.
"""

import asyncio
import os
import pty
import re
import signal
import sys
from pathlib import Path

import aiohttp
import pytest

from antiphon import __version__
from tests.support.command import PATIENCE, antiphon, environment, on_a_terminal, serving
from tests.support.replay import ReplayBackend


async def test_it_prints_only_its_version(tmp_path: Path) -> None:
    done = await antiphon(tmp_path, "--version", is_fresh=True)

    assert (done.code, done.out, done.err) == (0, f"antiphon {__version__}\n", "")


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
async def test_it_serves_until_a_signal_ends_it(
    tmp_path: Path, backend: ReplayBackend, name: signal.Signals
) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", f"sqlite://{tmp_path}/a.db")
    async with serving(tmp_path, *flags, is_fresh=True) as server, aiohttp.ClientSession() as http:
        async with http.post(
            f"{server.url}/responses", json={"model": "m", "input": "Hi"}
        ) as response:
            assert (await response.json())["output_text"] == "You said: Hi"
        done = await server.stop(name)

    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("columns", ["40", "80", "120"])
async def test_an_id_and_its_key_are_whole_on_any_terminal(tmp_path: Path, columns: str) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    flags = ("--tenant", "a" * 90, "--name", "build", "--tokens-per-day", "7")
    created = await antiphon(tmp_path, "keys", "create", "--store", url, *flags)
    key = created.out.strip()
    key_id = created.err.split()[0]
    displayed = await on_a_terminal(tmp_path, "keys", "list", "--store", url, COLUMNS=columns)

    assert any(key_id in line and f"…{key[-4:]} " in line for line in displayed.splitlines())
    assert displayed.count("a" * 3) > 1
    assert sum(map(len, re.findall("a{2,}", displayed))) >= 88


async def test_on_a_terminal_the_status_is_refreshed_until_interrupted(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    (tmp_path / "antiphon.toml").write_text(f'[[backends]]\nname = "near"\nurl = "{backend.url}"\n')
    async with serving(tmp_path, "--port", "0", "--store", "sqlite://") as server:
        screen, terminal = pty.openpty()
        command = (sys.executable, "-m", "antiphon", "status", "--url", server.url)
        displayed = b""
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=tmp_path,
            env=environment(tmp_path, TERM="xterm"),
            stdin=-3,
            stdout=terminal,
            stderr=terminal,
        )
        os.close(terminal)
        async with asyncio.timeout(PATIENCE):
            while displayed.count(b"near") < 3:
                displayed += await asyncio.to_thread(os.read, screen, 65_536)
            process.send_signal(signal.SIGINT)
            await process.wait()
        os.close(screen)

    assert process.returncode == 130
