"""Ways to put a fault into the code of this Python process, each of which can be undone.

A change fails if the code that it changes is no longer there, so that no refactoring makes a
mutation void: `tests/unit/simulation` applies and undoes each.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from antiphon.storage.sql import queries_of

Undo = Callable[[], None]

Change = Callable[[], Undo]
"""Changes the code, and returns what undoes it."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One fault: `apply` puts it into the code of this Python process."""

    meaning: str
    apply: Change


def sql(query: str, old: str, new: str) -> Change:
    """Change a statement."""

    def apply() -> Undo:
        queries: Any = queries_of("sqlite")
        before = queries[query]
        assert old in before, before
        queries[query] = before.replace(old, new)
        return lambda: queries.__setitem__(query, before)

    return apply


def code(function: Any, old: str, new: str) -> Change:
    """Change a text in the source of a function, wherever the function is already referenced.

    The function is compiled without its decorators; an operation of the store is its function.
    """

    def apply() -> Undo:
        target = inspect.unwrap(getattr(function, "begin", function))
        assert isinstance(target, FunctionType), target
        source = textwrap.dedent(inspect.getsource(target))
        assert source.count(old) == 1, f"{old!r} is not once in\n{source}"
        tree = ast.parse(source.replace(old, new))
        (definition,) = tree.body
        assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
        definition.decorator_list = []
        names: dict[str, Any] = {}
        exec(compile(tree, target.__code__.co_filename, "exec"), target.__globals__, names)
        before = target.__code__
        target.__code__ = names[target.__name__].__code__
        return lambda: setattr(target, "__code__", before)

    return apply


def method(owner: Any, name: str, make: Callable[[Any], Any]) -> Change:
    """Replace a function of a class or a module; `make` gets the original."""

    def apply() -> Undo:
        before = vars(owner)[name]
        setattr(owner, name, make(before))
        return lambda: setattr(owner, name, before)

    return apply


def together(*changes: Change) -> Change:
    """Make several changes."""

    def apply() -> Undo:
        undone = [change() for change in changes]

        def undo() -> None:
            for one in reversed(undone):
                one()

        return undo

    return apply


def nothing(_: Any) -> Any:
    """Replace a function by one that does nothing."""
    return lambda *args, **kwargs: None


def nothing_async(_: Any) -> Any:
    """Replace a coroutine function by one that does nothing."""

    async def nothing(*args: Any, **kwargs: Any) -> None:
        pass

    return nothing
