"""`python -m bench.trace` (`make trace`): prints the Python calls of each path by package, and beside its budget."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import uvloop

from bench.report import table
from bench.trace.budgets import BUDGETS, is_within
from bench.trace.counter import by_package, files_of_ours
from bench.trace.scenarios import DELTA, PLAIN, Costs, figures, trace


def main() -> None:
    """Trace, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m bench.trace", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures that have a budget, as JSON")
    parser.add_argument("--functions", metavar="PATH", help="print the functions of the path whose name begins so")
    parser.add_argument("--files", action="store_true", help="print the files of ours that are touched")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="antiphon-trace-") as folder:
        costs = uvloop.run(trace(Path(folder)))
    if arguments.json:
        print(json.dumps(figures(costs)))
    elif arguments.functions:
        print(_functions(costs, arguments.functions))
    else:
        print("\n\n".join([_packages(costs), *([_files(costs)] if arguments.files else []), _budgets(costs)]))


def _packages(costs: dict[str, Costs]) -> str:
    columns = [by_package(calls) for calls in costs.values()]
    names = sorted(set().union(*columns), key=lambda name: (not name.startswith("antiphon"), name))
    ours = [sum(count for name, count in column.items() if name.startswith("antiphon")) for column in columns]
    rows = [
        ("Python calls", *(path.partition(",")[0].partition(":")[0] for path in costs)),
        *((name, *(column.get(name, 0) for column in columns)) for name in names),
        ("ours", *ours),
        ("all", *(sum(column.values()) for column in columns)),
    ]
    return table([tuple(map(_cell, row)) for row in rows])


def _budgets(costs: dict[str, Costs]) -> str:
    rows: list[tuple[str, ...]] = [("per request", "counted", "budget", "")]
    for name, count in figures(costs).items():
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
