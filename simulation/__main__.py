"""`python -m simulation` (`make simulate`): simulates servers, their store, backends and clients,
and shows which promises they break.

The seed of a simulation decides everything in it. Without `--seed`, each run tries others.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator

from simulation.runs import Result, run, run_many

HOURS = 1.0


def main() -> None:
    """Run simulations; the exit code is 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="the first seed")
    parser.add_argument(
        "--hours", type=float, help=f"simulated hours; default: {HOURS:g}, or one seed with --seed"
    )
    parser.add_argument("--seconds", type=float, default=1e9, help="begin none after this time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--only", default="", help="only these events of the plan of --seed")
    parser.add_argument("--trace", action="store_true", help="print what happens in --seed")
    options = parser.parse_args()
    if options.seed is not None and options.hours is None:
        only = [int(number) for number in options.only.split(",") if number]
        results = run([options.seed], only=only, shrinks=not only, is_traced=options.trace)
        sys.exit(_report(results))
    first = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    hours = HOURS if options.hours is None else options.hours
    sys.exit(_report(_until(first, hours, options.seconds, options.jobs)))


def _until(first: int, hours: float, seconds: float, jobs: int) -> Iterator[Result]:
    """Run seeds from the first until one of the limits is reached."""
    end = time.monotonic() + seconds
    simulated = 0.0

    def seeds() -> Iterator[int]:
        seed = first
        while time.monotonic() < end and simulated < hours * 3600:
            yield seed
            seed += 1

    for result in run_many(seeds(), jobs):
        simulated += result.simulated
        yield result


def _report(results: Iterator[Result]) -> int:
    began = time.monotonic()
    simulated = 0.0
    steps = count = failed = 0
    for result in results:
        count += 1
        simulated += result.simulated
        steps += result.steps
        for line in result.trace:
            print(line)
        if result.violations:
            failed += 1
            print(describe(result))
    took = time.monotonic() - began
    print(
        f"{count} simulations, {failed} failed; {steps} steps, {simulated / 3600:.2f} simulated "
        f"hours in {took:.0f} s: {simulated / took:.0f} simulated hours per hour"
    )
    return 1 if failed else 0


def describe(result: Result) -> str:
    """Describe a failure: what was broken, what led to it, and how to repeat it."""
    numbers = ",".join(map(str, result.numbers))
    return "\n".join(
        [
            f"seed {result.seed} fails ({result.setting}):",
            *(f"  {text[:500]}" for text in result.violations),
            "after these events, with which the seed still fails:",
            *(f"  {event}" for event in result.events),
            f'repeat it: make simulate SEED={result.seed} ARGS="--only {numbers} --trace"',
        ]
    )


if __name__ == "__main__":
    main()
