"""`python -m versions` (`make test-versions`): the tests with other versions of the packages, and
on other Pythons.

Every environment runs, even after one has failed; a table at the end has them all. CPU seconds
above the budget fail.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.support.cpu.budgets import BUDGETS, is_too_dear
from tests.support.cpu.calibration import Calibration

from versions import choice, debian, pins
from versions.environments import Environment, Interpreter, interpreter
from versions.pins import PYTHONS
from versions.record import record
from versions.uv import ROOT

AT_ONCE = 2
"""Environments at once."""


SECONDS_OF_CALIBRATION = 0.2


@dataclass(frozen=True, slots=True)
class Result:
    """What the tests of an environment did: pytest's code, its summary, and CPU seconds, children
    included.
    """

    code: int
    summary: str
    seconds: float

    def count(self, word: str) -> int:
        """Return a number of the summary, such as that of `passed`."""
        match = re.search(rf"(\d+) {word}", self.summary)
        return int(match[1]) if match else 0


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m versions", description=__doc__)
    parser.add_argument("--only", help="run one environment: lowest, newest, python3.12")
    parser.add_argument(
        "--record", action="store_true", help="trace all tests, and write the table of chosen tests"
    )
    arguments = parser.parse_args()
    os.chdir(ROOT)
    if arguments.record:
        return _record()
    found = [one for one in environments() if arguments.only in {None, one.name}]
    if not found:
        print(f"There is no environment '{arguments.only}' here.", file=sys.stderr)
        return 1
    speed = Calibration()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        results = []
        for result in threads.map(tested, found):
            speed.run(SECONDS_OF_CALIBRATION)
            results.append(result)
    _print(found, results)
    spent = sum(result.seconds for result in results) / speed.slowness
    print(
        f"CPU of versions: {spent:.0f} s of {BUDGETS['versions'][0]:.0f}, without the installation"
    )
    return int(any(result.code for result in results) or is_too_dear("versions", spent))


def environments() -> Iterator[Environment]:
    """Each Python that pyproject.toml names and that `make test` does not use; the lowest versions;
    the newest.
    """
    pinned = pins.pinned()
    usual = f"{sys.version_info[0]}.{sys.version_info[1]}"
    pythons = {
        minor: found for minor in PYTHONS if (found := interpreter(minor) or _unpacked(minor))
    }
    for minor in PYTHONS:
        if minor not in pythons:
            print(f"Python {minor} is not installed, so it is not tested.", flush=True)
        elif minor != usual:
            yield Environment(f"python{minor}", pythons[minor], pinned, "Python")
    oldest = pythons.get(PYTHONS[0]) or pythons[usual]
    lowest = pins.lowest()
    yield Environment("lowest", oldest, lowest, *_difference("lowest", lowest, pinned))
    newest = pins.newest(usual)
    what, _ = _difference("newest", newest, pinned)
    yield Environment("newest", pythons[usual], newest, what, overrides=True)


def _unpacked(minor: str) -> Interpreter | None:
    return interpreter(minor) if debian.unpack(minor) else None


def _difference(name: str, versions: pins.Pins, pinned: pins.Pins) -> tuple[str, frozenset[str]]:
    """Print which versions differ from constraints.txt; return that in two words, and the
    packages.
    """
    changes = pins.different(versions, pinned)
    print(f"\n{name}: {len(changes)} versions differ from constraints.txt")
    for package, (before, now) in changes.items():
        print(f"  {package:<42} {before:>12} {now:>12}")
    return f"{len(changes)} versions", frozenset(changes)


def tested(environment: Environment) -> Result:
    """Install an environment and run its tests. Their output is printed when they end."""
    try:
        environment.install()
    except subprocess.CalledProcessError as error:
        return Result(1, f"not installed: {error}", 0.0)
    packages = environment.packages
    command = [
        str(environment.program),
        "-m",
        "pytest",
        "-rfE",
        "-p",
        "versions.selecting",
        "-p",
        "no:cacheprovider",
    ]
    if packages is not None:
        command += ["--packages", ",".join(sorted(packages))]
    log = environment.program.parents[1] / "tests.log"
    with log.open("w+") as output:
        code, seconds = _run(
            [*command, *choice.files(packages)], environment.program.parent, output.fileno()
        )
        output.seek(0)
        text = output.read()
    print(f"\n== {environment.name}: Python {environment.python.version} ==\n{text}", flush=True)
    return Result(code, summary_of(text), seconds)


def summary_of(text: str) -> str:
    """Return the line in which pytest counts its tests; the last line if there is none.

    Others can follow it.
    """
    lines = text.strip().splitlines() or [""]
    return next(
        (line for line in reversed(lines) if re.search(r"\d [a-z]+ in \d", line)), lines[-1]
    )


def _run(command: list[str], programs: Path, output: int) -> tuple[int, float]:
    """Run a command; return its code and its CPU seconds, with those of its children."""
    path = f"{programs}{os.pathsep}{os.environ.get('PATH', '')}"
    process = os.posix_spawn(
        command[0],
        command,
        os.environ | {"PATH": path},
        file_actions=[(os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, output, 2)],
    )
    _, status, used = os.wait4(process, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime


_ROW = "{:<14}{:<10}{:<14}{:>8}{:>8}{:>9}{:>8}  {}"


def _print(environments: Sequence[Environment], results: Sequence[Result]) -> None:
    print(
        "\n"
        + _ROW.format(
            "environment", "Python", "differs", "passed", "failed", "skipped", "CPU s", ""
        )
    )
    for environment, result in zip(environments, results, strict=True):
        counts = (
            result.count("passed"),
            result.count("failed") + result.count("errors?"),
            result.count("skipped"),
        )
        outcome = "ok" if not result.code else f"failed ({result.code}): {result.summary}"
        print(
            _ROW.format(
                environment.name,
                environment.python.version,
                environment.what,
                *counts,
                f"{result.seconds:.1f}",
                outcome,
            )
        )


def _record() -> int:
    """Trace on the newest Python that is installed and has `sys.monitoring`."""
    found = [one for minor in PYTHONS if minor != "3.11" and (one := interpreter(minor))]
    if not found:
        print("Recording needs Python 3.12 or newer.", file=sys.stderr)
        return 1
    environment = Environment("record", found[-1], pins.pinned(), "trace")
    environment.install()
    record(environment.program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
