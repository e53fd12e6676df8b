"""`python -m bench.peers` (`make bench-peers`): Antiphon beside nginx, LiteLLM and agentic-api, all from PyPI."""

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import msgspec

from bench.load import Count, Load
from bench.measure import PLAIN_CHAT, under
from bench.peers.servers import Peer, peers
from bench.process import cpu_of_all, line, memory_of_all
from bench.report import machine, short, table
from bench.server import Served, module

ROUNDS, SECONDS, QUICK_SECONDS = 3, 2.0, 0.5
CONNECTIONS = 32
MODEL = "burst"

KINDS = {
    "plain": (False, False),
    "plain, stored": (False, True),
    "stream": (True, False),
    "stream, stored": (True, True),
}
"""What is asked for: whether as a stream (of 256 deltas), and whether stored."""

MARKS = {False: ("Hello there", "Hello there"), True: ('"response.output_text.delta"', '"response.completed"')}
CHAT_MARKS = {False: ("Hello there", "Hello there"), True: ('"delta":{"content"', "[DONE]")}
"""What each delta and each end of an answer holds once, plain and streamed."""

START = "start"

Row = tuple[float, float]
"""Requests a second, and the processor time of a request in µs; of a start the seconds, and the memory in MB."""


def main() -> None:
    """Compare, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="once and shortly: whether it runs, not how fast")
    parser.add_argument("--ref", metavar="COMMIT", help="compare with this commit of ours too")
    arguments = parser.parse_args()
    rounds, seconds = (1, QUICK_SECONDS) if arguments.quick else (ROUNDS, SECONDS)
    print(machine(), flush=True)
    found = list(peers(arguments.ref))
    servers = [peer for peer in found if isinstance(peer, Peer)]
    results: dict[tuple[str, str], list[Row]] = {}
    troubles = [peer for peer in found if isinstance(peer, str)]
    with tempfile.TemporaryDirectory(prefix="antiphon-peers-") as folder, module("bench.peers.backend") as backend:
        for _, peer in itertools.product(range(rounds), servers):
            try:
                for kind, row in _measure(peer, backend, Path(folder) / peer.name, seconds, troubles):
                    results.setdefault((kind, peer.name), []).append(row)
            except RuntimeError as error:
                troubles.append(f"{peer.name}: {error}")
    print(_report(results, sorted(set(troubles))))
    sys.exit(0 if results else 1)


def _measure(
    peer: Peer, backend: Served, folder: Path, seconds: float, troubles: list[str]
) -> Iterator[tuple[str, Row]]:
    """Yield a row for the start and for each kind of request; one that fails is a trouble, and the others go on."""
    folder.mkdir(exist_ok=True)
    with peer.start(backend.port, folder) as served:
        yield START, (served.started_in, memory_of_all(served.pid) / 1e6)
        for kind, (stream, store) in KINDS.items():
            if store and not peer.stores:
                continue
            try:
                row = _rate(_load(peer, served.port, seconds, stream=stream, store=store), served)
            except RuntimeError as error:
                troubles.append(f"{peer.name}, {kind}: {error}")
            else:
                yield kind, row


def _load(peer: Peer, port: int, seconds: float, *, stream: bool, store: bool) -> Load:
    if peer.path == PLAIN_CHAT[0]:
        body: dict[str, object] = {"model": MODEL, "messages": [{"role": "user", "content": "Hello!"}]}
        marks = CHAT_MARKS[stream]
    else:
        body, marks = {"model": MODEL, "input": "Hello!", "store": store}, MARKS[stream]
    content = msgspec.json.encode({**body, "stream": stream}).decode()
    return Load(port, peer.path, content, CONNECTIONS, seconds, *marks)


def _rate(load: Load, served: Served) -> Row:
    with under(load) as program:
        before = cpu_of_all(served.pid)
        count = msgspec.json.decode(line(program), type=Count)
        spent = cpu_of_all(served.pid) - before
    if count.ends < 0.95 * count.answers - 1 or not count.answers:
        raise RuntimeError(f"of {count.answers} answers to {load.body} only {count.ends} were whole")
    return count.answers / count.seconds, spent / count.answers * 1e6


def _report(results: dict[tuple[str, str], list[Row]], troubles: list[str]) -> str:
    columns = {**dict.fromkeys(KINDS, ("requests/s", "CPU µs")), START: ("start, s", "idle, MB")}
    parts = []
    for kind, names in columns.items():
        rows = [(name, *_medians(rows)) for (of, name), rows in results.items() if of == kind]
        parts.append(table([(kind, *names), *rows]))
    return "\n\n".join([*parts, *troubles])


def _medians(rows: list[Row]) -> tuple[str, ...]:
    return tuple(short(median(column)) for column in zip(*rows, strict=True))


if __name__ == "__main__":
    main()
