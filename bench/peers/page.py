"""The run whose figures README.md and the documentation show: `bench/peers/run.json`, and the
tables made of it.

`make bench-peers ARGS=--update` measures and writes all three. `python -m bench.peers.page` writes
the tables anew.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.process import ROOT
from bench.report import short

RUN = ROOT / "bench/peers/run.json"
README = ROOT / "README.md"
PAGE = ROOT / "docs/operate/speed-of-gateways.md"

ORDER = ("antiphon", "OGX", "agentic-api", "LiteLLM", "SGLang gateway", "nginx")
"""The columns: as in the README's table of requirements, and the proxy that translates nothing
last.
"""

TITLES = {"antiphon": "Antiphon"}


class Server(msgspec.Struct):
    """A server that was measured: its figures by kind of request, and by name."""

    name: str
    version: str
    figures: dict[str, dict[str, float]]


class Run(msgspec.Struct):
    """What one run has measured, and what it could not."""

    date: str
    servers: list[Server]
    troubles: list[str]


Line = tuple[str, str, str]
"""A line of a table: its title, the kind of request, and the figure."""

FULL: Sequence[Line] = (
    ("plain request, CPU µs", "plain", "CPU, µs"),
    ("plain requests per second", "plain", "requests/s"),
    ("plain request, stored, CPU µs", "plain, stored", "CPU, µs"),
    ("stream of 256 deltas, CPU µs", "stream of 256 deltas", "CPU, µs"),
    ("streams of 256 deltas per second", "stream of 256 deltas", "requests/s"),
    ("stream of 256 deltas, stored, CPU µs", "stream of 256 deltas, stored", "CPU, µs"),
    ("stream of 256 deltas with one tool, CPU µs", "stream, one tool", "CPU, µs"),
    (
        "an agent's first request (7 functions, 36 kB), CPU µs",
        "stream, 7 functions, 36 kB",
        "CPU, µs",
    ),
    ("the same, first byte later by, ms", "stream, 7 functions, 36 kB", "first byte, ms"),
    ("an agent's long history (236 items, 825 kB), CPU µs", "stream, 236 items, 825 kB", "CPU, µs"),
    ("the same: first byte later by, ms", "stream, 236 items, 825 kB", "first byte, ms"),
    ("Codex's first request (39 kB), CPU µs", "stream, Codex's first request, 39 kB", "CPU, µs"),
    (
        "Codex's first request, first byte later by, ms",
        "stream, Codex's first request, 39 kB",
        "first byte, ms",
    ),
    ("Codex with 400 items (1 MB), CPU µs", "stream, Codex, 400 items, 1 MB", "CPU, µs"),
    (
        "Codex with 400 items, first byte later by, ms",
        "stream, Codex, 400 items, 1 MB",
        "first byte, ms",
    ),
    ("start, s", "start", "start, s"),
    ("memory, idle, MB", "start", "idle, MB"),
    ("memory at the end, highest, MB", "memory", "peak, MB"),
)
SHORT = tuple(FULL[number] for number in (0, 3, 5, 7, 9, 10, 11, 16))


def pages(run: Run) -> dict[Path, str]:
    """Return the text of each page with the figures of the run."""
    troubles = "".join(map(_line, run.troubles)) or "Everything was measured.\n"
    page = _with(_with(PAGE.read_text(), "speed", _table(run, FULL)), "troubles", troubles)
    return {README: _with(README.read_text(), "speed", _table(run, SHORT)), PAGE: page}


def update(run: Run) -> None:
    """Keep a run, and write its figures into the pages."""
    RUN.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=2) + b"\n")
    for path, text in pages(run).items():
        path.write_text(text)


def stored() -> Run:
    """Return the run that was kept."""
    return msgspec.json.decode(RUN.read_bytes(), type=Run)


def _line(trouble: str) -> str:
    what, _, why = trouble.partition(": ")
    return f"- {what}: `{why}`\n"


def _with(page: str, name: str, new: str) -> str:
    """Return a page with a new text between two comments."""
    begin = f"<!-- {name} -->\n"
    end = f"<!-- /{name} -->"
    return page[: page.index(begin)] + begin + new + page[page.index(end) :]


def _table(run: Run, lines: Sequence[Line]) -> str:
    found = {server.name: server for server in run.servers}
    servers = [found[name] for name in ORDER if name in found]
    rows = [
        ["", *(TITLES.get(server.name, server.name) for server in servers)],
        ["---"] * (len(servers) + 1),
        ["Version", *(server.version.partition(",")[0] for server in servers)],
        *(
            [title, *(_cell(server, kind, figure) for server in servers)]
            for title, kind, figure in lines
        ),
    ]
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"Measured on {run.date}, {found['antiphon'].version.partition(', ')[2]}.\n\n{text}\n"


def _cell(server: Server, kind: str, figure: str) -> str:
    row = server.figures.get(kind)
    return short(row[figure]) if row and row[figure] else "-"


if __name__ == "__main__":
    update(stored())
