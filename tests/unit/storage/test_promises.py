"""Each operation of the store is called by a promise of `tests/store`, which proves it on both
databases: directly, or by a method of the store or a function over it.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.rules import ROOT

STORAGE = ROOT / "src/antiphon/storage"
PACKAGE = "antiphon.storage.operations"

ELSEWHERE = {
    ("expiry", "purge_size"): "tests/integration/jobs/test_cleaner.py",
    ("facts_values", "values"): "tests/integration/storage/test_finding.py",
    ("finding", "find"): "tests/integration/storage/test_finding.py",
}
"""Operations that another test of both databases calls."""

Name = tuple[str, str]
"""A module of operations, and a function in it."""


def operations() -> Iterator[Name]:
    """Yield the functions with `@reads` or `@writes`."""
    for path in (STORAGE / "operations").glob("*.py"):
        for node in _tree(path).body:
            if isinstance(node, ast.FunctionDef) and any(map(_declares, node.decorator_list)):
                yield path.stem, node.name


def _declares(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(function, ast.Name) and function.id in {"reads", "writes"}


def uses(path: Path) -> Iterator[Name]:
    """Yield the operations that a file imports, or uses of a module that it imports."""
    nodes = list(ast.walk(_tree(path)))
    modules: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            yield from ((str(node.module).rpartition(".")[2], alias.name) for alias in node.names)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield modules.get(node.value.id, ""), node.attr


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def test_each_operation_is_called_by_a_promise() -> None:
    paths = [*(ROOT / "tests/store").glob("*.py"), *STORAGE.rglob("*.py")]
    called = {name for path in paths for name in uses(path)}
    called |= {name for name, path in ELSEWHERE.items() if name in set(uses(ROOT / path))}
    names = set(operations())

    assert len(names) > 100
    assert names - called == set(), "write a function in tests/store that calls it"
