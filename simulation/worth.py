"""`python -m simulation.worth`: shows what the simulation is worth: each mutation must be found
within `MOST` seeds.
"""

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from simulation.faults import FAULTS
from simulation.runs import run

MOST = 60
"""Seeds within which each mutation must be found."""

FIRST = 1


def seeds_until_found(mutation: str, most: int = MOST) -> int | None:
    """Return how many seeds it takes to find a mutation; None if they do not show it."""
    for count, result in enumerate(
        run(range(FIRST, FIRST + most), stops=True, mutation=mutation), start=1
    ):
        if result.violations:
            print(f"{mutation:22} {count:4}  {result.violations[0][:110]}", flush=True)
            return count
    print(f"{mutation:22} not found", flush=True)
    return None


def main() -> None:
    """Run the mutations; the exit code is 1 if one is not found."""
    parser = argparse.ArgumentParser(prog="python -m simulation.worth", description=__doc__)
    parser.add_argument("names", nargs="*", help="mutations; default: all")
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    names = options.names or list(FAULTS)
    with ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(lambda name: seeds_until_found(name, options.most), names))
    print(f"{len(names) - found.count(None)} of {len(names)} found within {options.most} seeds")
    sys.exit(None in found)


if __name__ == "__main__":
    main()
