"""`python -m bench.code [FOLDER]` (`make code-figures`): prints figures of the code."""

import argparse
import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from bench.report import table

SOURCE = Path(__file__).parents[1] / "src" / "antiphon"

SHORT = 50
"""Lines; a file with fewer is a short one."""

Graph = Mapping[str, frozenset[str]]
"""The modules that each module imports, wherever it does: at its top, inside a function, or for its types alone."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method: where it is, and its lines from `def` to its end, with its docstring."""

    name: str
    lines: int


@dataclass(frozen=True, slots=True)
class Module:
    """A file of the package; its name is without the package's."""

    name: str
    lines: int
    functions: Sequence[Function]
    imported: frozenset[str]
    """Every name that it imports from the package: `from antiphon.a import b` is `a.b`."""

    @property
    def package(self) -> str:
        """The folder below the package's own, or the file's own name where it is in no folder."""
        return self.name.partition(".")[0]


def read(folder: Path) -> list[Module]:
    """Return the modules of a package."""
    return [_module(path, folder) for path in sorted(folder.rglob("*.py"))]


def _module(path: Path, folder: Path) -> Module:
    parts = path.relative_to(folder).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "__init__"
    code = path.read_text()
    tree = ast.parse(code)
    functions = [
        Function(f"{name}.{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return Module(name, len(code.splitlines()), functions, frozenset(_imported(tree, folder.name)))


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.removeprefix(f"{package}.") for name in names if name.startswith(f"{package}."))


def graph_of(modules: Iterable[Module]) -> Graph:
    """Return which module imports which."""
    modules = list(modules)
    names = {module.name for module in modules}
    return {module.name: frozenset(_targets(module, names)) for module in modules}


def _targets(module: Module, names: set[str]) -> Iterator[str]:
    for name in module.imported:
        target = name if name in names else name.rpartition(".")[0]
        if target in names and target != module.name:
            yield target


def cycles(graph: Graph) -> list[list[str]]:
    """Return the sets of modules that import each other, over others or directly."""
    reached = {name: _reached(graph, name) for name in graph}
    circles = {frozenset(other for other in reached[name] if name in reached[other]) for name in graph}
    return sorted(sorted(circle) for circle in circles if circle)


def _reached(graph: Graph, start: str) -> set[str]:
    reached: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        if (name := waiting.pop()) not in reached:
            reached.add(name)
            waiting += graph[name]
    return reached


def between_packages(modules: Sequence[Module], graph: Graph) -> Counter[tuple[str, str]]:
    """Return how many modules of a package import one of another, by the two packages."""
    packages = {module.name: module.package for module in modules}
    pairs = ((packages[name], packages[target]) for name, targets in graph.items() for target in targets)
    return Counter((one, other) for one, other in pairs if one != other)


def report(folder: Path) -> str:
    """Return the figures as text."""
    modules = read(folder)
    graph = graph_of(modules)
    pairs = between_packages(modules, graph)
    circles = cycles(graph)
    by_package: dict[str, list[Module]] = {}
    for module in modules:
        by_package.setdefault(module.package, []).append(module)
    rows = [_row(package, members) for package, members in by_package.items() if len(members) > 1]
    longest = max((function for module in modules for function in module.functions), key=lambda one: one.lines)
    return "\n".join(
        [
            table([_HEADER, *rows, _row("all", modules)]),
            "",
            f"longest function: {longest.name}, {longest.lines} lines",
            f"imports between packages: {pairs.total()} in {len(pairs)} pairs",
            f"cycles (imports for types alone count): {len(circles)}",
            *(f"  {len(circle)} modules: {', '.join(circle)}" for circle in circles),
        ]
    )


_HEADER = ("package", "files", "lines", "median", f"under {SHORT}", "functions", "median", "p90", "longest")


def _row(name: str, modules: Sequence[Module]) -> tuple[str, ...]:
    lines = [module.lines for module in modules]
    functions = [function.lines for module in modules for function in module.functions] or [0]
    p90 = quantiles(functions, n=10, method="inclusive")[-1] if len(functions) > 1 else functions[0]
    short = sum(count < SHORT for count in lines)
    figures = (len(modules), sum(lines), median(lines), short, len(functions), median(functions), p90, max(functions))
    return (name, *(f"{figure:,.0f}" for figure in figures))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.code", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=SOURCE, help="a package; src/antiphon by default")
    print(report(parser.parse_args().folder))
