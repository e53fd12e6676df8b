"""The description of each setting, read from the text below its field in the source."""

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

GROUP = re.compile(r"    # --- (.+) ---")


class Described(NamedTuple):
    """A field of a settings class."""

    name: str
    group: str
    """Title of the group, from the comment above it; empty if the class has no groups."""
    text: str
    """Its description, in Markdown on one line; empty if it has none."""


def described(kind: type[Any]) -> list[Described]:
    """The fields of a class in their order, each with its group and its description."""
    source = inspect.getsource(kind)
    titles = [
        (number, found[1])
        for number, line in enumerate(source.splitlines(), 1)
        if (found := GROUP.match(line))
    ]
    (body,) = ast.parse(source).body
    assert isinstance(body, ast.ClassDef)
    return [
        Described(name, next((title for at, title in reversed(titles) if at < line), ""), text)
        for name, line, text in _fields(body)
    ]


def _fields(body: ast.ClassDef) -> Iterator[tuple[str, int, str]]:
    """The name of each field, its line, and the text below it."""
    for field, after in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = (
                after.value.value
                if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                else ""
            )
            yield field.target.id, field.lineno, " ".join(str(text).split())
