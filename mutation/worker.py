"""`python -m mutation.worker`, in a copy of the repository: runs tests on one mutant after the
other.

It reads a line of JSON for each order, and prints one. What tests import from other packages is
imported once, here; each run of tests is a fork, so that it loads the changed code anew.
"""

import ctypes
import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

PRELOADED = (
    *(
        "aiohttp",
        "asyncpg",
        "cryptography.fernet",
        "hypothesis",
        "openai",
        "pydantic",
        "pytest",
        "pytest_asyncio",
    ),
    *(
        "pytest_timeout",
        "rich.console",
        "starlette.applications",
        "typer",
        "uvicorn",
        "uvloop",
        "websockets",
    ),
    *("prometheus_client", "httptools", "mcp", "sqlite3"),
)

FLAGS = (
    *("-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *(
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    ),  # of what was loaded before: it keeps its plain assertions
)

AT_FIRST = 30
"""So many tests run before all others, so that a mutant that they notice costs no import of the
others' files.
"""

PASSED, FAILED, NOTHING_SELECTED = 0, 1, 5
"""Exit codes of pytest."""

SUBREAPER = 36
"""`PR_SET_CHILD_SUBREAPER` of Linux: what a run leaves behind becomes a child of this process,
which ends it.
"""


class TraceOrder(msgspec.Struct, tag=True):
    """Run these test files and write to `result` which tests run which lines of the source
    files.
    """

    sources: list[str]
    tests: list[str]
    result: str


class Order(msgspec.Struct, tag=True):
    """Run these tests, in this order, while `path` contains `text`: a test and all of them have so
    many seconds.
    """

    path: str
    text: str
    tests: list[str]
    test_limit: float
    limit: float


class Outcome(msgspec.Struct):
    """How that ended: `code` is pytest's, or None after the time limit; `output` is the end of what
    was printed.
    """

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
        order = msgspec.json.decode(line, type=TraceOrder | Order)
        outcome = _trace(order) if isinstance(order, TraceOrder) else _judge(order)
        sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
        sys.stdout.buffer.flush()


def _trace(order: TraceOrder) -> Outcome:
    def tests() -> int:
        import pytest  # noqa: PLC0415 - it was imported before; the copy's conftest needs the fork

        from mutation.tracing import Tracer  # noqa: PLC0415

        tracer = Tracer([str(Path(source).resolve()) for source in order.sources])
        tracer.start()
        code = int(pytest.main([*FLAGS, *order.tests], [tracer]))
        Path(order.result).write_bytes(msgspec.json.encode(tracer.trace))
        return PASSED if code == FAILED else code

    return run(tests, 3600.0)


def _judge(order: Order) -> Outcome:
    def tests() -> int:
        first = order.tests[:AT_FIRST]
        rest = order.tests[AT_FIRST:]
        return _run_chosen(first, order.test_limit) or (
            _run_chosen(rest, order.test_limit) if rest else PASSED
        )

    file = Path(order.path)
    original = file.read_text("utf-8")
    file.write_text(order.text, "utf-8")
    try:
        return run(tests, order.limit)
    finally:
        file.write_text(original, "utf-8")


def _run_chosen(chosen: list[str], seconds: float) -> int:
    """Run these tests in this order until one fails; return the exit code."""
    import pytest  # noqa: PLC0415 - as above

    ranks = {test: rank for rank, test in enumerate(chosen)}

    class Chosen:
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items: "list[pytest.Item]") -> None:
            items[:] = sorted(
                (item for item in items if item.nodeid in ranks),
                key=lambda item: ranks[item.nodeid],
            )

    files = dict.fromkeys(test.partition("::")[0] for test in chosen)
    # By a thread, which ends the process: the exception of a signal ends only the task that never
    # pauses.
    limit = ("--timeout", str(seconds), "--timeout-method", "thread")
    code = int(pytest.main([*FLAGS, "-x", *limit, *files], [Chosen()]))
    return PASSED if code == NOTHING_SELECTED else code


def run(tests: Callable[[], int], limit: float) -> Outcome:
    """Run tests in a fork, for at most `limit` seconds."""
    log = Path("mutation.log")
    began = time.monotonic()
    if not (pid := os.fork()):
        _run_and_leave(tests, log)
    code = _wait(pid, began + limit)
    _end_children()
    return Outcome(code, time.monotonic() - began, log.read_text("utf-8", "replace")[-2000:])


def _run_and_leave(tests: Callable[[], int], log: Path) -> None:
    """Run tests; leave the process with their exit code."""
    code = 1
    try:
        os.setpgid(0, 0)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(file, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = tests()
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
