"""`python -m mutation` (`make mutate`): changes the code in small ways, and shows which changes no
test notices.

The work is done in temporary copies. Every run chooses the same mutants; `ANTIPHON_SEED` chooses
others.
"""

import argparse
import hashlib
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutation.copies import Copies, copies
from mutation.mutants import Mutant, mutants
from mutation.relevance import Relevance
from mutation.table import AREAS, STATEMENTS, expand
from mutation.tracing import Trace
from mutation.worker import Outcome

ROOT = Path(__file__).parents[1]
COUNT = 200
SEED = 1
MOST_SURVIVORS = 0.05


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant, and how many tests run the statement that it changes."""

    area: str
    mutant: Mutant
    outcome: Outcome
    tests: int

    @property
    def survived(self) -> bool:
        """Whether all tests passed."""
        return self.outcome.code == 0


def main() -> None:
    """Run mutants, and print those that survive."""
    parser = argparse.ArgumentParser(prog="python -m mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="how many mutants")
    parser.add_argument(
        "--area", choices=AREAS, action="append", help="mutate this area only; may be repeated"
    )
    parser.add_argument("--path", default="", help="mutate files only whose path contains this")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="how many runs of tests at once"
    )
    parser.add_argument(
        "--seconds", type=float, default=1e9, help="begin no further mutant after this time"
    )
    arguments = parser.parse_args()
    seed = os.environ.pop("ANTIPHON_SEED", "") or str(SEED)
    areas = arguments.area or list(AREAS)
    texts = sources(areas)
    chosen = choose(areas, texts, arguments.path, arguments.count, seed)
    print(f"ANTIPHON_SEED={seed}: {len(chosen)} mutants of {', '.join(areas)}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mut-") as folder:
        Path(folder).chmod(0o755)  # some tests run as another user
        with copies(ROOT, Path(folder), arguments.jobs) as places:
            verdicts = list(judge(chosen, areas, texts, places, began + arguments.seconds))
    survivors = [verdict for verdict in verdicts if verdict.survived]
    print(report(verdicts, survivors), f"{time.monotonic() - began:.0f} s in all", sep="\n")
    if len(survivors) > MOST_SURVIVORS * len(verdicts):
        sys.exit(1)


def sources(areas: Sequence[str]) -> dict[str, str]:
    """Return the text of each file that is mutated or traced, by its path: files may change while
    mutants run.
    """
    patterns = [*(source for area in areas for source in AREAS[area].sources), STATEMENTS]
    return {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in expand(ROOT, patterns)}


def choose(
    areas: Sequence[str], texts: Mapping[str, str], path: str, count: int, seed: str
) -> list[tuple[str, Mutant]]:
    """Choose so many mutants, the same number from each area where it has as many."""
    pools = {area: _mutants_of(area, texts, path, seed) for area in areas}
    chosen: list[tuple[str, Mutant]] = []
    while len(chosen) < count and any(pools.values()):
        chosen += [(area, pool.pop()) for area, pool in pools.items() if pool]
    return chosen[:count]


def _mutants_of(area: str, texts: Mapping[str, str], part: str, seed: str) -> list[Mutant]:
    """Return the mutants of an area in an order that depends on the seed and on the changed lines.

    So most of the chosen mutants stay chosen where code moves, or changes elsewhere.
    """
    found: dict[Mutant, bytes] = {}
    for file in expand(ROOT, AREAS[area].sources):
        path = str(file.relative_to(ROOT))
        if part in path:
            for one in mutants(path, texts[path]):
                change = "\n".join(one.diff(texts[path]).splitlines()[3:])
                found[one] = hashlib.sha256(f"{seed}\n{file.name}\n{change}".encode()).digest()
    return sorted(found, key=lambda one: found[one])


def judge(
    chosen: Sequence[tuple[str, Mutant]],
    areas: Sequence[str],
    texts: Mapping[str, str],
    places: Copies,
    until: float,
) -> Iterator[Verdict]:
    """Run the tests of each mutant, several at once, and print what survives as it is found."""
    tests = {
        area: [str(path.relative_to(ROOT)) for path in expand(ROOT, AREAS[area].tests)]
        for area in areas
    }
    with ThreadPoolExecutor(places.count) as threads:
        relevance = Relevance(texts, _trace(areas, texts, places, threads))

        def verdict(area: str, mutant: Mutant) -> Verdict | None:
            if time.monotonic() > until:
                return None
            relevant = relevance.of(mutant, tests[area])
            if not relevant:
                return Verdict(area, mutant, Outcome(0, 0.0, ""), 0)
            with places.one() as place:
                return Verdict(
                    area, mutant, place.judge(mutant, texts[mutant.path], relevant), len(relevant)
                )

        for number, future in enumerate([threads.submit(verdict, *one) for one in chosen], 1):
            if found := future.result():
                _show(f"{number} of {len(chosen)}", found, texts[found.mutant.path])
                yield found


def _trace(
    areas: Sequence[str], texts: Mapping[str, str], places: Copies, threads: ThreadPoolExecutor
) -> list[Trace]:
    """Run all tests of these areas once, without a change."""
    began = time.monotonic()
    files = [path for path in texts if path.endswith(".py")]
    folders = expand(ROOT, (test for area in areas for test in AREAS[area].tests))
    tests = sorted(
        {str(path.relative_to(ROOT)) for folder in folders for path in _test_files(folder)}
    )

    def trace(part: list[str]) -> Trace:
        with places.one() as place:
            return place.trace(files, part)

    parts: list[Future[Trace]] = [
        threads.submit(trace, tests[number :: places.count]) for number in range(places.count)
    ]
    traces = [part.result() for part in parts]
    count = sum(len(trace.tests) for trace in traces)
    failed = [test for trace in traces for test in trace.failed]
    print(f"{count} tests pass without a change, in {time.monotonic() - began:.0f} s", flush=True)
    print(
        *(f"{test} fails without a change, so it judges none" for test in failed),
        sep="\n",
        flush=True,
    )
    return traces


def _test_files(path: Path) -> Iterator[Path]:
    yield from path.rglob("test_*.py") if path.is_dir() else [path]


def _show(which: str, verdict: Verdict, text: str) -> None:
    if verdict.survived:
        how = f"{verdict.tests} tests run it, {verdict.outcome.seconds:.0f} s"
        print(
            f"\n{which} SURVIVED ({verdict.area}; {how}):\n{verdict.mutant.diff(text)}\n",
            flush=True,
        )


def report(verdicts: Sequence[Verdict], survivors: Sequence[Verdict]) -> str:
    """Return the figures of each area and of all."""
    tried = Counter(one.area for one in verdicts)
    left = Counter(one.area for one in survivors)
    late = sum(one.outcome.code is None for one in verdicts)
    lines = [f"{area}: {left[area]} of {count} mutants survived" for area, count in tried.items()]
    share = len(survivors) / len(verdicts) if verdicts else 0.0
    seconds = sum(one.outcome.seconds for one in verdicts) / max(1, len(verdicts))
    lines.append(
        f"{len(survivors)} of {len(verdicts)} mutants survived ({share:.1%}, at most "
        f"{MOST_SURVIVORS:.0%} may); "
        f"{late} ended at their time limit; {seconds:.1f} s each"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
