"""Input items as the `openai` package types them, each with every optional field absent, and null
where it may be.
"""

import collections.abc
import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, Required, Union, get_args, get_origin

from openai.types.responses import response_input_item_param

from antiphon.protocol.items.messages import ID_PREFIXES

VALUES: dict[str, Any] = {
    "call_id": "call_1",
    "image_url": "data:image/png;base64,iVBORw0KGgo=",
    "file_data": "data:text/plain;base64,SGk=",
    "file_url": "https://example.com/a.txt",
    "arguments": "{}",
    "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    "server_url": "https://example.com/mcp",
    "definition": 'start: "x"',
    "max_output_length": 100,
    "timeout_ms": 1000,
    "start_index": 0,
    "end_index": 1,
}
"""Values of fields that not every text or number fits."""

LEFT_OUT = {"id", "file_id", "file_url", "container", "environment", "tools"}
"""Optional fields that need something stored or exclude another field: they are absent or null
only.
"""

SIMPLE: dict[Any, Any] = {str: "x", int: 1, float: 1.0, bool: True, object: {"a": 1}, Any: {"a": 1}}
"""A value of each type without fields."""

PREFIXES = {str(kind.__struct_config__.tag): prefix for kind, prefix in ID_PREFIXES.items()} | {
    "item_reference": "msg"
}


class Variant(typing.NamedTuple):
    """An item, and how it differs from one with all fields: `output null`, `action.env absent`,
    `bare`.
    """

    kind: str
    change: str
    item: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.kind}, {self.change}"


@cache
def item_types() -> dict[str, Any]:
    """The package's types of input items, by the value of their `type`."""
    found = {}
    for kind in get_args(response_input_item_param.ResponseInputItemParam):
        found[f"{_value(_hints(kind)['type'])}:{kind.__name__}"] = kind
    return found


def variants() -> Iterator[Variant]:
    """Each item: whole, bare, and with each optional field, at any depth, absent or null."""
    for name, kind in item_types().items():
        for number, (change, item) in enumerate(_variants(kind)):
            own = (
                {"id": f"{PREFIXES[name.partition(':')[0]]}_{kind.__name__}_{number}"}
                if item.get("id")
                else {}
            )
            yield Variant(name.partition(":")[0], change, item | own)


def _variants(kind: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    whole = _whole(kind)
    required = _required(kind)
    yield "whole", whole
    yield "bare", {name: value for name, value in whole.items() if name in required}
    for name, hint in _hints(kind).items():
        if name in whole and name not in required:
            yield f"{name} absent", {key: value for key, value in whole.items() if key != name}
        if _may_be_null(hint):
            yield f"{name} null", {**whole, name: None}
        for change, value in _inner(hint):
            yield f"{name}.{change}", {**whole, name: value}


def _inner(hint: Any) -> Iterator[tuple[str, Any]]:
    """Yield the variants of a field's own fields, in each type that it can have."""
    hint = _bare(hint)
    if hasattr(hint, "__total__"):
        yield from _variants(hint)
    elif get_origin(hint) in (Union, types.UnionType):
        for one in get_args(hint):
            yield from _inner(one)
    elif get_origin(hint) in (list, collections.abc.Iterable):
        for change, value in _inner(get_args(hint)[0]):
            yield change, [value]


def _whole(kind: Any) -> dict[str, Any]:
    required = _required(kind)
    hints = {
        name: hint
        for name, hint in _hints(kind).items()
        if name in required or name not in LEFT_OUT
    }
    return {name: VALUES.get(name) or _value(hint) for name, hint in hints.items()}


def _required(kind: Any) -> set[str]:
    """Return the required fields; `__required_keys__` is wrong where the annotations are texts."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {name for name, hint in hints.items() if kind.__total__ or get_origin(hint) is Required}


def _hints(kind: Any) -> dict[str, Any]:
    return {
        name: _bare(hint) for name, hint in typing.get_type_hints(kind, include_extras=True).items()
    }


def _bare(hint: Any) -> Any:
    while get_origin(hint) in (Required, typing.Annotated, typing.NotRequired):
        hint = get_args(hint)[0]
    return getattr(hint, "__value__", hint)


def _may_be_null(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)


def _value(hint: Any) -> Any:
    hint = _bare(hint)
    origin = get_origin(hint)
    inner = get_args(hint)
    if hasattr(hint, "__total__"):
        return _whole(hint)
    if origin is Literal:
        return inner[0]
    if origin in (Union, types.UnionType):
        return _value(next(one for one in inner if one is not type(None)))
    if origin in (list, collections.abc.Iterable, collections.abc.Sequence):
        return [_value(inner[0])]
    if origin in (dict, collections.abc.Mapping):
        return {"a": _value(inner[1])}
    return SIMPLE[hint]
