"""Programs that the bench starts, what they take of the machine, and their end."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[1]

Program = subprocess.Popen[str]

T = TypeVar("T", int, float)


@contextmanager
def running(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    folder: Path = ROOT,
    *,
    log: Path | None = None,
) -> Iterator[Program]:
    """Run a program beside us, and end it. What it prints goes to `log` where that is named."""
    with ExitStack() as stack:
        output = stack.enter_context(log.open("w")) if log else None
        program = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output or subprocess.PIPE,
            stderr=output,
            text=True,
        )
        stack.callback(_end, program)
        yield program


def _end(program: Program) -> None:
    program.terminate()
    try:
        program.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        program.kill()
        program.communicate()


def line(program: Program) -> str:
    """Return the next line that a program prints. Raises `RuntimeError` where it ended instead."""
    assert program.stdout is not None
    text = program.stdout.readline().strip()
    if not text:
        raise RuntimeError(f"{program.args!r} ended without a result")
    return text


def cpu(pid: int) -> float:
    """Return the seconds of processor time that a process took until now, all its threads together.

    Every process of Linux has a clock of it that counts nanoseconds (`clock_getcpuclockid`);
    `/proc` counts hundredths of a second.
    """
    return time.clock_gettime(~pid << 3 | 2)


def parent(pid: int) -> int:
    """Return the process that started a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def memory(pid: int) -> int:
    """Return the bytes that a process holds in memory (its resident set)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_memory(pid: int) -> int:
    """Return the most bytes that a process has held in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def peak_memory_of_all(pid: int) -> int:
    """Return the sum of the most that a process, and each that it has started and that still runs,
    has held.
    """
    return _sum_of_all(peak_memory, pid)


def cpu_of_all(pid: int) -> float:
    """Return the processor time of a process and of all that it has started."""
    return _sum_of_all(cpu, pid)


def memory_of_all(pid: int) -> int:
    """Return the memory of a process and of all that it has started."""
    return _sum_of_all(memory, pid)


def processes_of_all(pid: int) -> int:
    """Return the number of a process and of all that it has started."""
    return _sum_of_all(lambda _: 1, pid)


def _sum_of_all(figure: Callable[[int], T], pid: int) -> T:
    """Return the sum of a figure of a process and of all that it has started; one that ends
    meanwhile counts 0.
    """
    total = figure(pid)
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(OSError):
            total += _sum_of_all(figure, int(child))
    return total


def wait_until(is_so: Callable[[], bool], program: Program, seconds: float = 30.0) -> None:
    """Wait, looking every 5 ms.

    Raises `RuntimeError` where the program ends or the time is over before.
    """
    end = time.monotonic() + seconds
    while not is_so():
        if program.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"{program.args!r} does not answer")
        time.sleep(0.005)
