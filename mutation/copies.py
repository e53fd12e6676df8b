"""Copies of the repository in which mutants run, each with a process that runs tests in it."""

import compileall
import os
import py_compile
import queue
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import msgspec

from mutation.mutants import Mutant
from mutation.tracing import PassedTest, Trace
from mutation.worker import Order, Outcome, TraceOrder

LEAST_TEST_TIME, LEAST_TIME, TIMES = 15.0, 30.0, 4.0
"""A test, and all tests of a mutant, may take four times as long as without it, and so many seconds
at least.
"""

MOST_TEST_TIME = 60.0
"""Seconds that a test may take at most: on a busy machine some took minutes without a mutant, and
hung for an hour.
"""


class Copy:
    """A copy of the repository, and the process that runs tests in it."""

    def __init__(self, folder: Path, program: "subprocess.Popen[bytes]") -> None:
        self._folder = folder
        self._program = program

    @classmethod
    @contextmanager
    def of(cls, root: Path, folder: Path) -> Iterator[Self]:
        """Make one; its process uses the Python packages that are installed here, and the copy's
        own code.
        """
        _copy(root, folder)
        temporary = folder / "t"
        temporary.mkdir()
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("ANTIPHON_")
        }
        environment |= {
            "PYTHONPATH": f"{folder / 'src'}:{folder / 'verify/src'}:{folder}",
            "TMPDIR": str(temporary),
        }
        command = (sys.executable, "-m", "mutation.worker")
        with subprocess.Popen(command, cwd=folder, env=environment, stdin=-1, stdout=-1) as program:
            try:
                yield cls(folder, program)
            finally:
                program.kill() if sys.exc_info()[0] else program.stdin.close()  # type: ignore[union-attr]

    def trace(self, sources: Sequence[str], tests: Sequence[str]) -> Trace:
        """Find out which tests run which lines. Raises `RuntimeError` where pytest itself fails."""
        result = self._folder / "trace.json"
        outcome = self._send_request(TraceOrder(list(sources), list(tests), str(result)))
        if outcome.code != 0:
            raise RuntimeError(
                f"The tests cannot be traced (code {outcome.code}):\n{outcome.output}"
            )
        trace = msgspec.json.decode(result.read_bytes(), type=Trace)
        trace.lines = {
            str(Path(file).relative_to(self._folder)): lines for file, lines in trace.lines.items()
        }
        return trace

    def judge(self, mutant: Mutant, text: str, tests: Sequence[PassedTest]) -> Outcome:
        """Run tests on a mutant of a text until one fails."""
        test_limit = min(
            MOST_TEST_TIME, max(LEAST_TEST_TIME, TIMES * max(test.seconds for test in tests))
        )
        limit = max(LEAST_TIME, TIMES * sum(test.seconds for test in tests))
        return self._send_request(
            Order(mutant.path, mutant.apply(text), [test.id for test in tests], test_limit, limit)
        )

    def _send_request(self, order: TraceOrder | Order) -> Outcome:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(msgspec.json.encode(order) + b"\n")
        self._program.stdin.flush()
        line = self._program.stdout.readline()
        if not line:
            raise RuntimeError(f"the process in {self._folder} ended")
        return msgspec.json.decode(line, type=Outcome)


@contextmanager
def copies(root: Path, folder: Path, count: int) -> Iterator["Copies"]:
    """Make so many copies below a folder."""
    with ExitStack() as stack:
        yield Copies(
            [stack.enter_context(Copy.of(root, folder / f"w{number}")) for number in range(count)]
        )


class Copies:
    """Copies of which each is used by one thread at a time."""

    def __init__(self, every: Sequence[Copy]) -> None:
        self.count = len(every)
        self._idle: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for one in every:
            self._idle.put(one)

    @contextmanager
    def one(self) -> Iterator[Copy]:
        """Wait for a copy that is idle, and use it as long as the block lasts."""
        copy = self._idle.get()
        try:
            yield copy
        finally:
            self._idle.put(copy)


def _copy(root: Path, folder: Path) -> None:
    """Copy every file that git knows, as it is in the work tree."""
    listed = subprocess.run(
        ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
        cwd=root,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, folder / name)
    # By its hash, bytecode fits its source even where a change leaves size and second as they were.
    checked = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(folder / "src", quiet=2, invalidation_mode=checked)
