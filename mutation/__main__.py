"""`python -m mutation` (`make mutate`): changes the code in small ways, and shows which changes no test notices.

The work is done in temporary copies. `ANTIPHON_SEED` chooses the mutants; the first line of the output names the seed.
"""

import argparse
import os
import queue
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mutation.copies import copy, worker
from mutation.mutants import Mutant, mutants
from mutation.table import AREAS, EQUIVALENT, expand
from mutation.worker import Order, Outcome

ROOT = Path(__file__).parents[1]
COUNT = 200
MOST_SURVIVORS = 0.05

LEAST_TIME, TIMES = 30.0, 3.0
"""A mutant may take three times as long as its tests take without it, and half a minute at least."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant."""

    area: str
    mutant: Mutant
    outcome: Outcome

    @property
    def survived(self) -> bool:
        """Whether all tests passed."""
        return self.outcome.code == 0


def main() -> None:
    """Run mutants, and print those that survive."""
    parser = argparse.ArgumentParser(prog="python -m mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="how many mutants")
    parser.add_argument("--area", choices=AREAS, action="append", help="mutate this area only; may be repeated")
    parser.add_argument("--path", default="", help="mutate files only whose path contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many runs of tests at once")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further mutant after this time")
    arguments = parser.parse_args()
    seed = int(os.environ.pop("ANTIPHON_SEED", "") or secrets.randbelow(10**6))
    areas = arguments.area or list(AREAS)
    chosen = choose(areas, arguments.path, arguments.count, random.Random(seed))
    print(f"ANTIPHON_SEED={seed}: {len(chosen)} mutants of {', '.join(areas)}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mut-") as folder:
        Path(folder).chmod(0o755)  # some tests run as another user
        verdicts = list(judge(chosen, Path(folder), arguments.jobs, began + arguments.seconds))
    survivors = [verdict for verdict in verdicts if verdict.survived]
    print(report(verdicts, survivors), f"{time.monotonic() - began:.0f} s in all", sep="\n")
    if len(survivors) > MOST_SURVIVORS * len(verdicts):
        sys.exit(1)


def choose(areas: Sequence[str], path: str, count: int, dice: random.Random) -> list[tuple[str, Mutant]]:
    """Choose so many mutants, the same number from each area where it has as many."""
    pools = {area: _mutants_of(area, path) for area in areas}
    for pool in pools.values():
        dice.shuffle(pool)
    chosen: list[tuple[str, Mutant]] = []
    while len(chosen) < count and any(pools.values()):
        chosen += [(area, pool.pop()) for area, pool in pools.items() if pool]
    return chosen[:count]


def _mutants_of(area: str, part: str) -> list[Mutant]:
    found = []
    for file in expand(ROOT / "src" / "antiphon", AREAS[area].sources):
        path = str(file.relative_to(ROOT))
        text = file.read_text("utf-8")
        if part in path:
            found += [one for one in mutants(path, text) if (path, _line_of(one, text)) not in EQUIVALENT]
    return found


def _line_of(mutant: Mutant, text: str) -> str:
    """Return the first changed line as it is after the change."""
    changed = mutant.apply(text)
    begin = changed.rfind("\n", 0, mutant.begin) + 1
    return changed[begin:].partition("\n")[0].strip()


def judge(chosen: Sequence[tuple[str, Mutant]], folder: Path, jobs: int, until: float) -> Iterator[Verdict]:
    """Run the tests of each mutant, several at once, and print what survives as it is found."""
    waiting: queue.SimpleQueue[tuple[str, Mutant]] = queue.SimpleQueue()
    for one in chosen:
        waiting.put(one)
    verdicts: queue.SimpleQueue[Verdict | BaseException | None] = queue.SimpleQueue()
    limits = Limits()
    threads = [
        threading.Thread(target=_serve, args=(folder / f"w{number}", waiting, verdicts, limits, until), daemon=True)
        for number in range(jobs)
    ]
    for thread in threads:
        thread.start()
    running = len(threads)
    while running:
        verdict = verdicts.get()
        if verdict is None:
            running -= 1
        elif isinstance(verdict, BaseException):
            raise verdict
        else:
            _show(verdict)
            yield verdict


class Limits:
    """The seconds that the tests of an area may take: they run once without a change, and must pass."""

    def __init__(self) -> None:
        self._limits: dict[str, float] = {}
        self._locks = {area: threading.Lock() for area in AREAS}

    def of(self, area: str, ask: "Asking") -> float:
        """Return the limit. Raises `RuntimeError` where the tests fail without a change."""
        with self._locks[area]:
            if area not in self._limits:
                source = str(next(expand(ROOT / "src" / "antiphon", AREAS[area].sources)).relative_to(ROOT))
                outcome = ask(area, source, (ROOT / source).read_text("utf-8"), 1800.0)
                if outcome.code != 0:
                    raise RuntimeError(
                        f"The tests of {area} fail without a change (code {outcome.code}):\n{outcome.output}"
                    )
                self._limits[area] = max(LEAST_TIME, TIMES * outcome.seconds)
                print(f"The tests of {area} take {outcome.seconds:.0f} s.", flush=True)
            return self._limits[area]


class Asking:
    """A worker process in a copy of its own."""

    def __init__(self, folder: Path, program: "subprocess.Popen[bytes]") -> None:
        self._program = program
        self._tests: Mapping[str, list[str]] = {
            area: [str(path.relative_to(folder)) for path in expand(folder, parts.tests)]
            for area, parts in AREAS.items()
        }

    def __call__(self, area: str, path: str, text: str, limit: float) -> Outcome:
        """Run the tests of an area while a file has this text."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        order = Order(path, text, self._tests[area], limit)
        self._program.stdin.write(msgspec.json.encode(order) + b"\n")
        self._program.stdin.flush()
        line = self._program.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended while {path} was changed")
        return msgspec.json.decode(line, type=Outcome)


def _serve(
    folder: Path,
    waiting: "queue.SimpleQueue[tuple[str, Mutant]]",
    verdicts: "queue.SimpleQueue[Verdict | BaseException | None]",
    limits: Limits,
    until: float,
) -> None:
    """Judge mutants in a copy, until none waits."""
    try:
        copy(ROOT, folder)
        with worker(folder) as program:
            ask = Asking(folder, program)
            while not waiting.empty() and time.monotonic() < until:
                try:
                    area, mutant = waiting.get_nowait()
                except queue.Empty:
                    break
                text = mutant.apply((ROOT / mutant.path).read_text("utf-8"))
                verdicts.put(Verdict(area, mutant, ask(area, mutant.path, text, limits.of(area, ask))))
        verdicts.put(None)
    except BaseException as error:
        verdicts.put(error)


def _show(verdict: Verdict) -> None:
    if verdict.survived:
        text = (ROOT / verdict.mutant.path).read_text("utf-8")
        print(f"\nSURVIVED ({verdict.area}):\n{verdict.mutant.diff(text)}\n", flush=True)


def report(verdicts: Sequence[Verdict], survivors: Sequence[Verdict]) -> str:
    """Return the figures of each area and of all."""
    tried, left = Counter(one.area for one in verdicts), Counter(one.area for one in survivors)
    late = sum(one.outcome.code is None for one in verdicts)
    lines = [f"{area}: {left[area]} of {count} mutants survived" for area, count in tried.items()]
    share = len(survivors) / len(verdicts) if verdicts else 0.0
    lines.append(
        f"{len(survivors)} of {len(verdicts)} mutants survived ({share:.1%}, at most {MOST_SURVIVORS:.0%} may); "
        f"{late} ended at their time limit"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
