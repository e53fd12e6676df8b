"""The process that watches the workers: children that are not its own, and signals at any time and
in any number.
"""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.command import PATIENCE, pids_below, serving
from tests.support.reload import answering_backend, until_all_answer, write
from tests.support.replay import ReplayBackend, echo
from tests.support.workers import requesting

AS_PROCESS_1 = """
import ctypes, os, signal

PR_SET_CHILD_SUBREAPER = 36

def leave_an_orphan():
    if not os.fork():
        if not os.fork():
            os.closerange(0, 3)
            signal.alarm(60)
            signal.pause()
        os._exit(0)

if __name__ == "__main__":
    assert not ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    leave_an_orphan()
    from antiphon.cli import run
    run()
"""
"""Runs the command as a process that inherits orphans, as process 1 of a container does, and leaves
it two children.
"""


async def until_below(pid: int, wanted: Sequence[int]) -> None:
    async with asyncio.timeout(PATIENCE):
        while sorted(pids_below(pid)) != sorted(wanted):
            await asyncio.sleep(0.02)


async def test_children_of_others_are_reaped_and_end_nothing(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    program = tmp_path / "process_1.py"
    program.write_text(AS_PROCESS_1)
    flags = (
        "--port",
        "0",
        "--workers",
        "2",
        "--backend",
        backend.url,
        "--store",
        f"sqlite://{tmp_path}/a.db",
    )
    async with serving(tmp_path, *flags, program=program) as server, requesting() as http:
        children = pids_below(server.process.pid)
        (orphan,) = (pid for pid in children if os.getpgid(pid) == os.getpgid(server.process.pid))
        workers = [pid for pid in children if pid != orphan]
        os.kill(orphan, signal.SIGKILL)
        await until_below(server.process.pid, workers)
        for _ in range(4):
            assert await answering_backend(server, http)
        done = await server.stop(signal.SIGTERM)

    assert len(workers) == 2
    assert (done.code, done.err) == (0, "")


def has_loaded(pid: int, library: bytes) -> bool:
    maps = Path(f"/proc/{pid}/maps").read_bytes()
    assert maps, "the server ended"
    return library in maps


async def hang_up_from_the_first_moment(pid: int) -> None:
    """Send SIGHUP while the server loads its parts, opens its store and begins to listen."""
    while not has_loaded(pid, b"httptools"):
        await asyncio.sleep(0.002)
    for _ in range(300):
        os.kill(pid, signal.SIGHUP)
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("count", [1, 2])
async def test_hangups_while_it_starts_wait_until_it_is_ready(
    tmp_path: Path, backend: ReplayBackend, count: int
) -> None:
    write(tmp_path, ("only", backend.url))
    flags = ("--port", "0", "--workers", str(count), "--store", f"sqlite://{tmp_path}/a.db")
    started = serving(tmp_path, *flags, is_fresh=True, meanwhile=hang_up_from_the_first_moment)
    async with started as server, requesting() as http:
        assert await answering_backend(server, http) == "only"
        done = await server.stop(signal.SIGTERM)

    assert done.code == 0
    assert "The settings were reloaded" in done.err
    assert "Traceback" not in done.err


def storm(pids: Sequence[int], count: int) -> None:
    for _ in range(count):
        for pid in pids:
            os.kill(pid, signal.SIGHUP)


@pytest.mark.parametrize("count", [1, 2])
async def test_a_storm_of_hangups_is_one_and_ends_nothing(
    tmp_path: Path, backend: ReplayBackend, count: int
) -> None:
    async with ReplayBackend(echo).serve() as other:
        write(tmp_path, ("old", backend.url))
        flags = ("--port", "0", "--workers", str(count), "--store", f"sqlite://{tmp_path}/a.db")
        async with serving(tmp_path, *flags) as server, requesting() as http:
            before = pids_below(server.process.pid)
            await asyncio.to_thread(storm, [server.process.pid, *before], 20_000)
            write(tmp_path, ("new", other.url))
            server.send_signal(signal.SIGHUP)
            await until_all_answer("new", server, http)
            after = pids_below(server.process.pid)
            done = await server.stop(signal.SIGTERM)

    assert after == before
    assert done.code == 0
    assert "Traceback" not in done.err
    assert done.err.count("The settings were reloaded") < 20_000
