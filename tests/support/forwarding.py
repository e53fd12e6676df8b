"""Finds functions that only forward, for `tests/unit/test_forwarding.py`: hops that a reader
follows for nothing.

`bench.shape.only_forwards` counts each function whose body is one call that passes on what it has.
Some of these say something: they name a call with values of their own, make an object, or fulfil a
contract. The others are needless.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.shape import Definition, only_forwards

BUILTINS = frozenset(dir(builtins))


def needless_forwards(folder: Path) -> list[str]:
    """Return the functions of a package that only forward and say nothing, as
    `upstream.call.Reply.succeeded`.
    """
    trees = {path: ast.parse(path.read_text()) for path in sorted(folder.rglob("*.py"))}
    contracts = {name for tree in trees.values() for name in _contract_methods(tree)}
    return [
        f"{'.'.join(path.relative_to(folder).with_suffix('').parts)}.{name}"
        for path, tree in trees.items()
        for name, function in _functions(tree)
        if only_forwards(function) and not is_justified(function, contracts)
    ]


def is_justified(function: Definition, contracts: set[str]) -> bool:
    """Return whether a function that only forwards does so for a reason that its code shows."""
    if function.name in contracts or function.name.startswith("__"):
        return True
    call = _call(function)
    called = ast.unparse(call.func).rpartition(".")[2].lstrip("_")
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    return called[:1].isupper() or called in BUILTINS or any(map(_is_own_value, values))


def _call(function: Definition) -> ast.Call:
    """Return the one call of a function that only forwards."""
    value = next(
        node.value for node in reversed(function.body) if isinstance(node, ast.Return | ast.Expr)
    )
    value = value.value if isinstance(value, ast.Await) else value
    assert isinstance(value, ast.Call), ast.unparse(function)
    return value


def _is_own_value(node: ast.expr) -> bool:
    """Return whether a value is the function's own: a constant, or a name of the module, such as
    `LIMIT` or `_read`.
    """
    if isinstance(node, ast.Name):
        return node.id.isupper() or node.id.startswith("_") or node.id[:1].isupper()
    return isinstance(node, ast.Constant | ast.Lambda)


def _contract_methods(tree: ast.AST) -> Iterator[str]:
    """Yield the methods of protocols, of abstract classes, and of classes whose base is from
    another package.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and _is_contract(node):
            yield from (each.name for each in node.body if isinstance(each, Definition))


def _is_contract(node: ast.ClassDef) -> bool:
    bases = [ast.unparse(base) for base in node.bases]
    decorators = [
        ast.unparse(each)
        for one in node.body
        if isinstance(one, Definition)
        for each in one.decorator_list
    ]
    return any("Protocol" in base for base in bases) or "abstractmethod" in decorators


def _functions(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    """Yield the functions and methods of a module with their names, without those inside
    functions.
    """
    scopes: Mapping[str, list[ast.stmt]] = {
        "": tree.body,
        **{f"{node.name}.": node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef)},
    }
    for prefix, body in scopes.items():
        yield from ((prefix + node.name, node) for node in body if isinstance(node, Definition))
