"""`python -m bench.agents --ref COMMIT`: what the requests of agents cost, beside another commit of
ours.

Both servers run before the same backend, and each figure is measured of one and then of the other,
so that a busy moment is in both. `--update` keeps the figures in `growth.json` and draws
`docs/images/growth.svg` from them.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import msgspec

from bench.agents.chart import Panel, drawn
from bench.agents.figures import ADDITIONAL, GROWN, ITEM, MEGABYTE, ONE, each
from bench.agents.measure import MODEL, of_chat, of_scenario
from bench.agents.scenarios import SCENARIOS, encoded, ways
from bench.peers import install
from bench.process import ROOT
from bench.report import machine, short, table
from bench.server import RunningServer, antiphon, module

ROUNDS = 3
SECONDS = 0.5
QUICK_SECONDS = 0.05

NOW = "now"
BEFORE = "before"

RETAINED = ROOT / "bench/agents/growth.json"
IMAGE = ROOT / "docs/images/growth.svg"

PANELS = {
    ITEM: "µs of one item of a history",
    ADDITIONAL: "µs of one tool in the input",
    MEGABYTE: "µs of one MB of an image",
}
"""The kinds that are drawn, and the titles of their panels."""


class Growth(msgspec.Struct):
    """The figures that are drawn: the µs that one takes, by curve, by kind, and by how many there
    are.
    """

    date: str
    commits: dict[str, str]
    costs: dict[str, dict[str, dict[int, float]]]


def main() -> None:
    """Measure, and print both beside each other."""
    parser = argparse.ArgumentParser(prog="python -m bench.agents", description=__doc__)
    parser.add_argument(
        "--ref", metavar="COMMIT", required=True, help="the commit of ours to compare with"
    )
    parser.add_argument(
        "--quick", action="store_true", help="once and shortly: whether it runs, not how fast"
    )
    parser.add_argument("--update", action="store_true", help="keep the growth, and draw it")
    arguments = parser.parse_args()
    rounds, seconds = (1, QUICK_SECONDS) if arguments.quick else (ROUNDS, SECONDS)
    print(machine(), flush=True)
    python = install.installed(arguments.ref) / "python"
    figures: dict[str, dict[str, list[float]]] = {}
    with ExitStack() as stack:
        backend = stack.enter_context(module("bench.backend"))
        servers = {}
        for side, program in ((NOW, sys.executable), (BEFORE, str(python))):
            folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="antiphon-agents-"))
            )
            started = antiphon(backend.port, folder, f"sqlite://{folder}/agents.db", python=program)
            servers[side] = stack.enter_context(started)
        for _ in range(rounds):
            for name, side, value in (
                *_costs(servers, backend, seconds),
                *_growth(servers, seconds),
            ):
                figures.setdefault(name, {}).setdefault(side, []).append(value)
                print(".", end="", file=sys.stderr, flush=True)
    medians = {
        name: {side: median(values) for side, values in sides.items()}
        for name, sides in figures.items()
    }
    rows = [
        (name, *map(short, (row[BEFORE], row[NOW])), f"{row[NOW] / row[BEFORE]:.2f}")
        for name, row in medians.items()
    ]
    print(table([("median", arguments.ref, "now", "times"), *rows]))
    if arguments.update:
        growth = _stored(medians, {NOW: install.commit(), BEFORE: install.commit(arguments.ref)})
        RETAINED.write_bytes(msgspec.json.format(msgspec.json.encode(growth), indent=2) + b"\n")
        IMAGE.write_text(chart(growth))


Reading = tuple[str, str, float]
"""Name of a figure, the side that it was measured of, and the value."""


def _costs(
    servers: dict[str, RunningServer], backend: RunningServer, seconds: float
) -> Iterator[Reading]:
    for way in ways():
        scenario = SCENARIOS[way.scenario]()
        size = len(encoded(scenario.body, model=MODEL, stream=way.stream, store=False))
        direct = of_chat(backend, size, seconds / 2, stream=way.stream).first if way.stream else 0.0
        for side, server in servers.items():
            taken = of_scenario(server, scenario, seconds, stream=way.stream, store=way.store)
            yield f"{way.name}, CPU ms", side, taken.cpu * 1e3
            if way.stream:
                yield f"{way.name}, first byte later by, ms", side, (taken.first - direct) * 1e3


def _growth(servers: dict[str, RunningServer], seconds: float) -> Iterator[Reading]:
    for found in zip(*(each(server, seconds) for server in servers.values()), strict=True):
        for side, (name, count, cost) in zip(servers, found, strict=True):
            yield ONE.format(name, count), side, cost * 1e6


def _stored(medians: dict[str, dict[str, float]], commits: dict[str, str]) -> Growth:
    costs = {
        kind: {
            side: {count: medians[ONE.format(kind, count)][side] for count in counts}
            for side in commits
        }
        for kind, counts in GROWN.items()
    }
    return Growth(time.strftime("%Y-%m-%d", time.gmtime()), commits, costs)


def chart(growth: Growth) -> str:
    """Return the SVG of the growth."""
    panels = [Panel(title, growth.costs[kind]) for kind, title in PANELS.items()]
    names = {side: f"{side}: {commit}" for side, commit in growth.commits.items()}
    title = "What one item, tool or megabyte costs, by how many a request has"
    return drawn(title, f"µs of CPU time in Antiphon, measured on {growth.date}.", panels, names)


if __name__ == "__main__":
    main()
