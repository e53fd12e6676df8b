"""Calls in Python: `[f(a=1), g()]`, or a code block of `tool_code`. Literals are read; nothing is
evaluated.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from antiphon.translation.from_chat.text_calls.found import (
    NoCallError,
    Offers,
    Parse,
    RawCall,
    UnfinishedError,
)

MAX_LENGTH = 1_000_000
"""Characters of code that are parsed."""

_JSON_NAMES = {"true": True, "false": False, "null": None}
"""JSON literals that models write inside Python."""


def marked(opening: str, closing: str) -> Parse:
    """Return the parser of calls between these marks, of which the model can omit the second."""

    def parse(text: str, offers: Offers) -> tuple[list[RawCall], int]:
        end = text.rfind(closing)
        code = text.removeprefix(opening) if end < 0 else text[len(opening) : end]
        return list(calls_in(code, offers)), len(text) if end < 0 else end + len(closing)

    return parse


def bare(text: str, offers: Offers) -> tuple[list[RawCall], int]:
    """Parse a list of calls that is all of the text."""
    return list(calls_in(text, offers)), len(text)


def fenced(text: str, offers: Offers) -> tuple[list[RawCall], int]:
    """Parse one or more code blocks of `tool_code`, which contain only calls."""
    calls: list[RawCall] = []
    at = 0
    while block := _BLOCK.match(text, at):
        calls += calls_in(block[1], offers)
        at = block.end()
    if not calls:
        raise NoCallError("The code block does not end.")
    return calls, at


_BLOCK = re.compile(r"\s*```tool_code[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)


def calls_in(code: str, offers: Offers) -> Iterator[RawCall]:
    """Yield the calls that make up this code. Raises `NoCallError` if it does anything else."""
    for statement in _parsed(code.strip()):
        if not isinstance(statement, ast.Expr):
            raise NoCallError("It does more than call.")
        value = statement.value
        for call in value.elts if isinstance(value, ast.List) else [value]:
            yield _call(call, offers)


def _parsed(code: str) -> Sequence[ast.stmt]:
    if len(code) > MAX_LENGTH:
        raise NoCallError("The code is too long.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in a string is kept unchanged
            return ast.parse(code).body
    except SyntaxError as error:
        raise UnfinishedError(error.msg) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise NoCallError("It is not Python.") from error


def _call(node: ast.expr, offers: Offers) -> RawCall:
    if not isinstance(node, ast.Call):
        raise NoCallError("It is not a call.")
    name = ast.unparse(node.func)
    if name == "print" and name not in offers and len(node.args) == 1 and not node.keywords:
        return _call(node.args[0], offers)
    name = name if name in offers else name.removeprefix("default_api.")
    arguments = {
        **_positional(node.args, name, offers),
        **{each.arg or "": _value(each.value) for each in node.keywords},
    }
    if "" in arguments:
        raise NoCallError("Arguments are unpacked.")
    return RawCall(name, arguments)


def _positional(nodes: Sequence[ast.expr], name: str, offers: Offers) -> dict[str, Any]:
    """Return unnamed arguments, named in the order of the schema's properties."""
    properties = offers[name].parameters.get("properties") if nodes and name in offers else None
    names = list(properties) if isinstance(properties, dict) else []
    if len(nodes) > len(names):
        raise NoCallError("There are more arguments than the tool has.")
    return dict(zip(names, map(_value, nodes), strict=False))


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Name(id=name) if name in _JSON_NAMES:
            return _JSON_NAMES[name]
        case ast.List(elts=members) | ast.Tuple(elts=members):
            return [_value(each) for each in members]
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _value(value) for key, value in zip(keys, values, strict=True)}
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError) as error:
        raise NoCallError("An argument is not a literal.") from error
    if value is None or isinstance(value, str | int | float):
        return value
    raise NoCallError("An argument has no JSON.")


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise NoCallError("A key is not a string.")
