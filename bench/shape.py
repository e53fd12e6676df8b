"""What the code of a file consists of, for `make code-figures`: statements, functions that only
forward, comments.
"""

import ast
import tokenize
from collections.abc import Iterator, Sequence
from io import StringIO

Definition = ast.FunctionDef | ast.AsyncFunctionDef

IMPORTS = (ast.Import, ast.ImportFrom)

DIRECTIVES = ("noqa", "type:", "pragma:", "fmt:")
"""What comments for tools begin with; they tell a reader nothing about the code."""


def statements(tree: ast.AST) -> int:
    """Return the number of statements without imports, docstrings and `...`."""
    counted = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and not isinstance(node, IMPORTS)
    )
    return sum(not _is_bare(node) for node in counted)


def comments(code: str) -> int:
    """Return the number of comments, except those for tools, such as `noqa`."""
    tokens = tokenize.generate_tokens(StringIO(code).readline)
    texts = (token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT)
    return sum(not text.startswith(DIRECTIVES) for text in texts)


def public_classes(tree: ast.AST) -> Iterator[str]:
    """Yield the names of the classes that other modules can import: those without an underscore
    before them.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def only_forwards(function: Definition) -> bool:
    """Return whether a function only forwards: it makes one call, and computes nothing.

    Its body, besides docstrings and imports, is one call whose result it returns or drops, awaited
    or not. Each argument is passed on as it is: a parameter, an attribute such as `self._store` or
    `file.tenant`, or a constant. It may also be a call without arguments, such as `self._now()`, or
    a `lambda` for a call that only forwards. So a second call that shows the result in another form
    is more than forwarding: `shown(await self._files.load(name))`.

    At ad3c5389 this counts 84 of 142 functions in `gateway/`, and 133 of 197 in
    `storage/sql_store/`.
    """
    body = [node for node in function.body if not (isinstance(node, IMPORTS) or _is_bare(node))]
    return (
        len(body) == 1
        and isinstance(body[0], ast.Return | ast.Expr)
        and _is_passing_call(body[0].value)
    )


def _is_passing_call(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Await):
        node = node.value
    return (
        isinstance(node, ast.Call)
        and _is_name(node.func)
        and all(map(_is_passed_on, _arguments(node)))
    )


def _arguments(call: ast.Call) -> Sequence[ast.expr]:
    plain = [
        argument.value if isinstance(argument, ast.Starred) else argument for argument in call.args
    ]
    return [*plain, *(keyword.value for keyword in call.keywords)]


def _is_passed_on(node: ast.expr) -> bool:
    if isinstance(node, ast.Lambda):
        return _is_passing_call(node.body)
    return isinstance(node, ast.Constant) or _is_name(node)


def _is_name(node: ast.expr) -> bool:
    """Return whether an expression is `a`, `a.b`, or such a name after a call without arguments:
    `a.b()`, `a().b`.
    """
    while True:
        if isinstance(node, ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call) and not _arguments(node):
            node = node.func
        else:
            return isinstance(node, ast.Name)


def _is_bare(node: ast.AST) -> bool:
    """Return whether a statement is a constant alone: a docstring, also of a field, or `...`."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
