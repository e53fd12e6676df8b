"""`python -m bench`: measures the server beside nginx and prints a table. `--quick` measures once and shortly."""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench import figures
from bench.nginx import find, nginx
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
        servers = figures.Servers(
            backend=backend,
            antiphon=stack.enter_context(antiphon(backend.port, folder)),
            relay=stack.enter_context(module("bench.relay", str(backend.port))),
            nginx=stack.enter_context(nginx(program, backend.port, folder)) if program else None,
        )
        for _ in range(rounds):
            yield from figures.translation()
            yield from figures.rates(servers, seconds)
            yield from figures.drip(servers, seconds)
            yield from figures.first_delta(servers, seconds / 4)
            yield from figures.start(backend, folder)


if __name__ == "__main__":
    main()
