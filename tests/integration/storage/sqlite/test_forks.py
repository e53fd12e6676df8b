"""A process that forks while it has a store open, and whose child opens the same one."""

import asyncio
import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from antiphon.storage.sqlite.file import connect
from antiphon.storage.sqlite.forks import Forks, ForkSafeConnection
from tests.support.command import environment

URL = (
    "import asyncio, os, signal, sys, threading\nfrom antiphon.storage.open import "
    "open_store\nURL = sys.argv[1]\n"
)

BUSY = """
async def write():
    store = await open_store(URL)
    have_begun.wait()  # a child cannot import a module that another thread was importing
    while not is_over.is_set():
        await asyncio.gather(*(store.clock_skew() for _ in range(4)), store.check_writable())
    await store.close()

async def open_own():
    store = await open_store(URL)
    await store.check_writable()
    await store.close()

have_begun, is_over = threading.Barrier(3), threading.Event()
threads = [threading.Thread(target=asyncio.run, args=(write(),)) for _ in range(2)]
for thread in threads:
    thread.start()
have_begun.wait()
codes = set()
for _ in range(30):
    child = os.fork()
    if not child:
        signal.alarm(20)
        asyncio.run(open_own())
        os._exit(0)
    codes.add(os.waitpid(child, 0)[1])
is_over.set()
for thread in threads:
    thread.join()
print(*codes)
"""

PARENT_CLOSES_FIRST = """
from antiphon.storage.operations import files

async def child(ready, closed):
    store = await open_store(URL)
    await store.check_writable()
    os.write(ready, b".")
    os.read(closed, 1)
    await store.write(files.begin, "", "row_of_the_child", 0)
    await store.close()

async def parent():
    store = await open_store(URL)
    await store.check_writable()
    (heard, ready), (closed, close) = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        thread = threading.Thread(target=asyncio.run, args=(child(ready, closed),))
        thread.start()
        thread.join()
        os._exit(0)
    os.read(heard, 1)
    await store.close()
    os.write(close, b".")
    os.waitpid(pid, 0)
    store = await open_store(URL)
    print(*await store.write(files.claim_stale, 10))
    await store.close()

asyncio.run(parent())
"""


async def output_of(program: str, folder: Path) -> tuple[str, str]:
    """What a program prints, and what it reports."""
    command = (
        sys.executable,
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        URL + program,
        f"sqlite://{folder}/store.db",
    )
    process = await asyncio.create_subprocess_exec(
        *command, env=environment(folder), stdout=-1, stderr=-1
    )
    out, err = await process.communicate()
    return out.decode().strip(), err.decode()


@pytest.mark.wide
async def test_children_of_a_process_that_is_writing_open_the_same_file(tmp_path: Path) -> None:
    assert await output_of(BUSY, tmp_path) == ("0", "")


@pytest.mark.wide
async def test_output_of_a_child_after_its_parent_closed_the_file_is_captured(
    tmp_path: Path,
) -> None:
    assert await output_of(PARENT_CLOSES_FIRST, tmp_path) == ("row_of_the_child", "")


@pytest.mark.filterwarnings("ignore:.* is multi-threaded:DeprecationWarning")
def test_a_child_does_not_use_what_it_inherits(tmp_path: Path) -> None:
    with closing(connect(f"{tmp_path}/store.db")) as connection:
        child = os.fork()
        if not child:
            try:
                connection.execute("SELECT 1")
            except sqlite3.ProgrammingError:  # it is closed
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0) == (child, 0)
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.fixture
def connection() -> Iterator[ForkSafeConnection]:
    one = sqlite3.connect(":memory:", factory=ForkSafeConnection)
    yield one
    one.close()


def is_closed(connection: ForkSafeConnection) -> bool:
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return True
    return False


def is_retained(gate: threading.Lock) -> bool:
    is_free = gate.acquire(blocking=False)
    if is_free:
        gate.release()
    return not is_free


def test_no_thread_enters_during_a_fork_and_the_child_closes_connections(
    connection: ForkSafeConnection,
) -> None:
    forks = Forks(patience=30)
    gates = [forks.new_gate(), forks.new_gate()]
    forks.opened(connection)
    for end, closes in ((forks.end, False), (forks.end_in_child, True)):
        forks.begin()
        assert [is_retained(gate) for gate in gates] == [True, True]
        end()
        assert [is_retained(gate) for gate in gates] == [False, False]
        assert is_closed(connection) == closes


def test_a_fork_waits_for_a_thread_that_is_inside(connection: ForkSafeConnection) -> None:
    forks = Forks(patience=30)
    gate = forks.new_gate()
    forks.opened(connection)
    gate.acquire()
    threading.Timer(0.01, gate.release).start()
    forks.begin()
    forks.end_in_child()

    assert is_closed(connection)


def test_a_thread_that_stays_inside_keeps_the_connections_of_the_next_child_alone(
    connection: ForkSafeConnection,
) -> None:
    forks = Forks(patience=0.001)
    gates = [forks.new_gate(), forks.new_gate()]
    forks.opened(connection)
    gates[0].acquire()
    for closes in (False, True):
        forks.begin()
        forks.end_in_child()
        assert is_closed(connection) == closes
        assert [is_retained(gate) for gate in gates] == [not closes, False]
        if not closes:
            gates[0].release()


def test_one_thread_forks_at_a_time() -> None:
    forks = Forks()
    forks.begin()
    other = threading.Thread(target=lambda: [forks.begin(), forks.end()], daemon=True)
    other.start()
    other.join(0.01)
    assert other.is_alive()
    forks.end()
    other.join()
