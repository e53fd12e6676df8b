"""`python -m bench.peers` (`make bench-peers`): Antiphon beside nginx, and beside other gateways
from PyPI.
"""

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.peers.kinds import KINDS, Row
from bench.peers.page import Run, Server, update
from bench.peers.servers import Peer, peers
from bench.process import memory_of_all, peak_memory_of_all
from bench.report import machine, short, table
from bench.server import RunningServer, module

ROUNDS = 3
SECONDS = 3.0
QUICK_SECONDS = 0.5

MOST_WORDS = 150
"""Characters of what failed, in the report."""

START = "start"
END = "memory"
STARTED = "start, s"
IDLE = "idle, MB"
PEAK = "peak, MB"


def main() -> None:
    """Compare, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="once and shortly: whether it runs, not how fast"
    )
    parser.add_argument("--ref", metavar="COMMIT", help="compare with this commit of ours too")
    parser.add_argument("--only", metavar="NAME", help="only the gateways with this in their names")
    parser.add_argument(
        "--update",
        action="store_true",
        help="write the figures into README.md and the documentation",
    )
    arguments = parser.parse_args()
    rounds, seconds = (1, QUICK_SECONDS) if arguments.quick else (ROUNDS, SECONDS)
    print(machine(), flush=True)
    found = list(peers(arguments.ref, arguments.only))
    servers = [peer for peer in found if isinstance(peer, Peer)]
    troubles = {(peer, ""): peer for peer in found if isinstance(peer, str)}
    rows: dict[tuple[str, str], list[Row]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="antiphon-peers-") as folder,
        module("bench.peers.backend") as backend,
    ):
        for number, peer in itertools.product(range(rounds), servers):
            for kind, row in _measure(
                peer, backend, Path(folder) / f"{peer.name.replace(' ', '-')}-{number}", seconds
            ):
                if isinstance(row, str):
                    troubles.setdefault((peer.name, kind), f"{peer.name}, {kind}: {row}")
                else:
                    rows.setdefault((peer.name, kind), []).append(row)
                    print(".", end="", file=sys.stderr, flush=True)
    run = Run(
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        servers=[Server(peer.name, peer.version, _medians(rows, peer.name)) for peer in servers],
        troubles=[*troubles.values()],
    )
    print(_report(run))
    if arguments.update:
        update(run)
    sys.exit(0 if rows else 1)


def _measure(
    peer: Peer, backend: RunningServer, folder: Path, seconds: float
) -> Iterator[tuple[str, Row | str]]:
    """Yield a row for the start, for each kind of request, and for the end; for what fails, a
    sentence.
    """
    folder.mkdir()
    try:
        with peer.start(backend.port, folder) as server:
            yield START, {STARTED: server.started_in, IDLE: memory_of_all(server.pid) / 1e6}
            for kind in KINDS:
                if kind.store and not peer.stores:
                    continue
                try:
                    yield kind.name, kind.send_request(peer, server, backend, seconds)
                except (RuntimeError, OSError) as error:
                    yield kind.name, _short(error)
            yield END, {PEAK: peak_memory_of_all(server.pid) / 1e6}
    except (RuntimeError, OSError) as error:
        yield START, _short(error)


def _short(error: Exception) -> str:
    """Return what failed in a few words: of an answer, its status and its message."""
    text = " ".join(str(error).split()) or type(error).__name__
    status, _, body = text.removeprefix("HTTP/1.1 ").partition(" ")
    _, found, message = body.partition('"message":"')
    return (f"status {status}: {message}" if found else text)[:MOST_WORDS]


def _medians(rows: dict[tuple[str, str], list[Row]], name: str) -> dict[str, Row]:
    return {
        kind: {figure: median(row[figure] for row in found) for figure in found[0]}
        for (of, kind), found in rows.items()
        if of == name
    }


def _report(run: Run) -> str:
    parts = []
    for kind in (START, *(kind.name for kind in KINDS), END):
        measured = [(one.name, one.figures[kind]) for one in run.servers if kind in one.figures]
        if measured:
            figures = [*measured[0][1]]
            lines = [(name, *(short(row[figure]) for figure in figures)) for name, row in measured]
            parts.append(table([(kind, *figures), *lines]))
    return "\n\n".join([*parts, *run.troubles])


if __name__ == "__main__":
    main()
