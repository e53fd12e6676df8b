"""`python -m bench.trace` (`make trace`): prints the Python calls of each path by package, and
beside its budget.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import uvloop

from bench.report import table
from bench.trace.agents import trace_agents
from bench.trace.budgets import BUDGETS, is_within
from bench.trace.counter import by_package, files_of_ours
from bench.trace.depth import depth
from bench.trace.fronts import MOST, ratios
from bench.trace.scenarios import DELTA, PLAIN, Costs, figures, sums, trace
from bench.trace.shares import Shares, shares


def main() -> None:
    """Trace, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m bench.trace", description=__doc__)
    parser.add_argument(
        "--json", action="store_true", help="print the figures that have a budget, as JSON"
    )
    parser.add_argument(
        "--functions", metavar="PATH", help="print the functions of the path whose name begins so"
    )
    parser.add_argument(
        "--shares",
        metavar="PATH",
        help="print where the CPU time of a path of agents goes, by part",
    )
    parser.add_argument(
        "--files", action="store_true", help="print the files of ours that are touched"
    )
    parser.add_argument(
        "--fronts",
        action="store_true",
        help="print the CPU time of a stream of the other APIs, in that of a stream of responses",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="antiphon-trace-") as folder:
        if arguments.shares:
            print(_shares(uvloop.run(shares(Path(folder), arguments.shares))))
            return
        if arguments.fronts:
            print(_ratios(uvloop.run(ratios(Path(folder)))))
            return
        costs = uvloop.run(trace(Path(folder)))
        agents = uvloop.run(trace_agents(Path(folder)))
        files_passed, functions_passed = uvloop.run(depth(Path(folder)))
    counted = {
        **figures(costs),
        **sums(agents),
        "files of ours from HTTP to SQL": files_passed,
        "functions of ours from HTTP to SQL": functions_passed,
    }
    if arguments.json:
        print(json.dumps(counted))
    elif arguments.functions:
        print(_functions({**costs, **agents}, arguments.functions))
    else:
        files = [_files(costs)] if arguments.files else []
        print("\n\n".join([_packages(costs), _agents(agents), *files, _budgets(counted)]))


def _packages(costs: dict[str, Costs]) -> str:
    columns = [by_package(calls) for calls in costs.values()]
    names = sorted(set().union(*columns), key=lambda name: (not name.startswith("antiphon"), name))
    ours = [
        sum(count for name, count in column.items() if name.startswith("antiphon"))
        for column in columns
    ]
    rows = [
        ("Python calls", *(path.partition(",")[0].partition(":")[0] for path in costs)),
        *((name, *(column.get(name, 0) for column in columns)) for name in names),
        ("ours", *ours),
        ("all", *(sum(column.values()) for column in columns)),
    ]
    return table([tuple(map(_cell, row)) for row in rows])


def _agents(costs: dict[str, Costs]) -> str:
    """Return a line for each path of agents: there are too many for columns."""
    lines = {path: by_package(calls) for path, calls in costs.items()}
    ours = sorted({name for line in lines.values() for name in line if name.startswith("antiphon")})
    rows: list[tuple[object, ...]] = [
        (
            "Python calls of agents",
            *(name.removeprefix("antiphon.") for name in ours),
            "libraries",
            "all",
        )
    ]
    for path, line in lines.items():
        counts = [line.get(name, 0) for name in ours]
        rows.append((path, *counts, sum(line.values()) - sum(counts), sum(line.values())))
    return table([tuple(map(_cell, row)) for row in rows])


def _shares(found: Shares) -> str:
    parts = found.microseconds.items()
    rows = [
        ("part", "CPU µs", "share"),
        *((part, f"{used:,.0f}", f"{used / found.total:.0%}") for part, used in parts),
    ]
    return table([*rows, ("all", f"{found.total:,.0f}", f"{found.samples:,} samples")])


def _ratios(found: dict[str, float]) -> str:
    rows: list[tuple[str, ...]] = [("CPU time, in streams of responses", "measured", "most", "")]
    for name, ratio in found.items():
        verdict = "within" if ratio <= MOST else "EXCEEDED"
        rows.append((name, f"{ratio:.2f}", _cell(MOST), verdict))
    return table(rows)


def _budgets(counted: dict[str, float]) -> str:
    rows: list[tuple[str, ...]] = [("per request", "counted", "budget", "")]
    for name, count in counted.items():
        budget = BUDGETS.get(name)
        verdict = "" if budget is None else "within" if is_within(name, count) else "EXCEEDED"
        rows.append((name, _cell(count), "" if budget is None else _cell(budget), verdict))
    return table(rows)


def _files(costs: dict[str, Costs]) -> str:
    return "\n".join(
        f"{path}, {len(files)} files of ours: {', '.join(sorted(files))}"
        for path in (PLAIN, DELTA)
        for files in [files_of_ours(costs[path])]
    )


def _functions(costs: dict[str, Costs], prefix: str) -> str:
    path = next((path for path in costs if path.startswith(prefix)), None)
    if path is None:
        sys.exit(f"There is no path {prefix!r}; there are: {', '.join(costs)}.")
    ranked = sorted(costs[path].items(), key=lambda cost: -cost[1])
    return "\n".join(f"{count:9.2f}  {module} {function}" for (module, function), count in ranked)


def _cell(value: object) -> str:
    return f"{value:,.2f}".removesuffix(".00") if isinstance(value, int | float) else str(value)


if __name__ == "__main__":
    main()
