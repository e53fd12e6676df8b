"""`python -m bench.code [FOLDER]` (`make code-figures`): prints figures of the code."""

import argparse
import ast
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from bench.report import table
from bench.shape import Definition, comments, only_forwards, public_classes, statements

ROOT = Path(__file__).parents[1]

SOURCE = ROOT / "src" / "antiphon"

VERIFY = ROOT / "verify"
"""The distribution that judges servers, if it has a folder of its own."""

SHORT = 50
"""Lines; a file with fewer is a short one."""

MANY_FORWARDS = 10
"""Functions that only forward: a folder with fewer is not listed."""

MANY_CLASSES = 3
"""Modules; the name of a class that fewer of them have is counted and not listed."""

Graph = Mapping[str, frozenset[str]]
"""The modules that each module imports, wherever it does: at its top, inside a function, or for its
types alone.
"""


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method: where it is, and its lines from `def` to its end, with its
    docstring.
    """

    name: str
    lines: int
    only_forwards: bool


@dataclass(frozen=True, slots=True)
class Module:
    """A file of the package; its name is without the package's."""

    name: str
    folder: str
    """The path of its folder below the package's; `.` for the package's own."""
    lines: int
    statements: int
    comments: int
    functions: Sequence[Function]
    classes: Sequence[str]
    """The public ones."""
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
    return Module(
        name,
        path.parent.relative_to(folder).as_posix(),
        len(code.splitlines()),
        statements(tree),
        comments(code),
        [_function(node, name) for node in ast.walk(tree) if isinstance(node, Definition)],
        [*public_classes(tree)],
        frozenset(_imported(tree, folder.name)),
    )


def _function(node: Definition, module: str) -> Function:
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    return Function(f"{module}.{node.name}", lines, only_forwards(node))


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (
            name.removeprefix(f"{package}.") for name in names if name.startswith(f"{package}.")
        )


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
    circles = {
        frozenset(other for other in reached[name] if name in reached[other]) for name in graph
    }
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
    pairs = (
        (packages[name], packages[target]) for name, targets in graph.items() for target in targets
    )
    return Counter((one, other) for one, other in pairs if one != other)


def forwards(modules: Iterable[Module]) -> dict[str, tuple[int, int]]:
    """Return how many functions of each folder only forward, and how many it has; the folder with
    the most first.
    """
    counts: dict[str, tuple[int, int]] = {}
    for module in modules:
        forwarding, functions = counts.get(module.folder, (0, 0))
        forwarding += sum(function.only_forwards for function in module.functions)
        counts[module.folder] = forwarding, functions + len(module.functions)
    return dict(sorted(counts.items(), key=lambda item: -item[1][0]))


def repeated_classes(modules: Iterable[Module]) -> dict[str, int]:
    """Return in how many modules each public class name occurs that occurs in several; the most
    frequent first.
    """
    counts = Counter(name for module in modules for name in {*module.classes})
    return {name: count for name, count in counts.most_common() if count > 1}


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
    longest = max(
        (function for module in modules for function in module.functions), key=lambda one: one.lines
    )
    return "\n".join(
        [
            table([_HEADER, *rows, _row("all", modules)]),
            "",
            *_forward_lines(modules),
            _class_line(modules),
            f"longest function: {longest.name}, {longest.lines} lines",
            f"imports between packages: {pairs.total()} in {len(pairs)} pairs",
            f"cycles (imports for types alone count): {len(circles)}",
            *(f"  {len(circle)} modules: {', '.join(circle)}" for circle in circles),
        ]
    )


def _forward_lines(modules: Sequence[Module]) -> Iterator[str]:
    counts = forwards(modules)
    yield f"functions that only forward: {sum(forwarding for forwarding, _ in counts.values()):,}"
    for folder, (forwarding, functions) in counts.items():
        if forwarding >= MANY_FORWARDS:
            yield f"  {folder}: {forwarding} of {functions}"


def _class_line(modules: Sequence[Module]) -> str:
    counts = repeated_classes(modules)
    listed = ", ".join(f"{name} {count}" for name, count in counts.items() if count >= MANY_CLASSES)
    line = f"class names in several modules: {len(counts)}"
    return f"{line} (in {MANY_CLASSES} or more: {listed})" if listed else line


_HEADER = (
    *("package", "files", "lines", "median", f"under {SHORT}", "statements", "comments/100"),
    *("functions", "median", "p90", "longest"),
)


def _row(name: str, modules: Sequence[Module]) -> tuple[str, ...]:
    lines = [module.lines for module in modules]
    functions = [function.lines for module in modules for function in module.functions] or [0]
    p90 = quantiles(functions, n=10, method="inclusive")[-1] if len(functions) > 1 else functions[0]
    short = sum(count < SHORT for count in lines)
    sizes = (
        len(modules),
        sum(lines),
        median(lines),
        short,
        sum(module.statements for module in modules),
    )
    density = 100 * sum(module.comments for module in modules) / max(1, sum(lines))
    lengths = (len(functions), median(functions), p90, max(functions))
    return (name, *map(_whole, sizes), f"{density:.1f}", *map(_whole, lengths))


def _whole(figure: float) -> str:
    return f"{figure:,.0f}"


def statements_line(folder: Path) -> str:
    """Return the number of statements in a folder as a line."""
    return f"statements in {folder.name}: {sum(module.statements for module in read(folder)):,}"


def _depth_line() -> str:
    import uvloop  # noqa: PLC0415 - for the trace alone

    from bench.trace.depth import PATH, depth  # noqa: PLC0415 - it loads a server, for one line

    with tempfile.TemporaryDirectory(prefix="antiphon-trace-") as folder:
        files, functions = uvloop.run(depth(Path(folder)))
    return f"from HTTP to SQL, {PATH} passes {files} files and {functions} functions"


def main() -> None:
    """Print the figures of a package, or those of this repository."""
    parser = argparse.ArgumentParser(prog="python -m bench.code", description=__doc__)
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        help="a package; src/antiphon, and a trace of it, by default",
    )
    folder: Path | None = parser.parse_args().folder
    if folder is not None:
        print(report(folder))
        return
    verify = [statements_line(VERIFY)] if VERIFY.exists() else []
    print("\n".join([report(SOURCE), *verify, _depth_line()]))


if __name__ == "__main__":
    main()
