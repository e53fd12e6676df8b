"""`python -m mutation.worker`, in a copy of the repository: runs tests on one mutant after the other.

It reads a line of JSON for each, and prints one. What tests import from other packages is imported once, here; each
run of tests is a fork, so that it loads the changed code anew.
"""

import ctypes
import importlib
import os
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

import msgspec

PRELOADED = (
    *("aiohttp", "asyncpg", "cryptography.fernet", "hypothesis", "openai", "pydantic", "pytest", "pytest_asyncio"),
    *("pytest_timeout", "rich.console", "starlette.applications", "typer", "uvicorn", "uvloop", "websockets"),
    *("prometheus_client", "httptools", "mcp", "sqlite3"),
)

STAGES = ("not postgres", "postgres")
"""Tests on SQLite come first, because PostgreSQL takes seconds to start."""

FLAGS = (
    *("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout", "60"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # of what was loaded before: it keeps its plain assertions
)

NOTHING_SELECTED = 5
"""The exit code of pytest."""

SUBREAPER = 36
"""`PR_SET_CHILD_SUBREAPER` of Linux: what a run leaves behind becomes a child of this process, which ends it."""


class Order(msgspec.Struct):
    """Run these tests while `path` contains `text`, for at most `limit` seconds."""

    path: str
    text: str
    tests: list[str]
    limit: float


class Outcome(msgspec.Struct):
    """How that ended: `code` is pytest's, or None after the time limit; `output` is the end of what was printed."""

    code: int | None
    seconds: float
    output: str


def main() -> None:
    """Serve orders until standard input ends."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    for name in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        file = Path(order.path)
        original = file.read_text("utf-8")
        file.write_text(order.text, "utf-8")
        try:
            outcome = run(order)
        finally:
            file.write_text(original, "utf-8")
        sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
        sys.stdout.buffer.flush()


def run(order: Order) -> Outcome:
    """Run the tests of one order in a fork."""
    log, began = Path("mutation.log"), time.monotonic()
    if not (pid := os.fork()):
        _test(order.tests, log)
    code = _wait(pid, began + order.limit)
    _end_children()
    return Outcome(code, time.monotonic() - began, log.read_text("utf-8", "replace")[-2000:])


def _test(tests: list[str], log: Path) -> None:
    """Run pytest; leave the process with its exit code."""
    code = 1
    try:
        os.setpgid(0, 0)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(file, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        import pytest  # noqa: PLC0415 - it was imported before; the copy's conftest needs the fork

        for stage in STAGES:
            code = int(pytest.main([*FLAGS, "-k", stage, *tests]))
            code = 0 if code == NOTHING_SELECTED else code
            if code:
                break
    except BaseException:
        code = 1
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(pid: int, until: float) -> int | None:
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def _end_children() -> None:
    """End what a run of tests left behind, such as the PostgreSQL of one that was killed."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while pids := [int(pid) for pid in children.read_text().split()]:
        for pid in pids:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
