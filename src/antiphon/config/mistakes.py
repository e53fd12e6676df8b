"""Describes an invalid setting and the allowed values in plain words, read from its type instead of
the decoder.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from antiphon.config.models import ModelConfig, PromptConfig
from antiphon.config.settings import BackendConfig, McpServerConfig, Settings
from antiphon.errors import closest_name

_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `\$\.?(.*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*?)`(?: - at `\$\.?(.*)`)?", re.DOTALL)
_OTHER = re.compile(r".* - at (`key` in )?`\$\.(.*)`", re.DOTALL)
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\.\.\.)\]")

_TABLES: dict[str, tuple[type[Struct], str, str]] = {
    "backends": (BackendConfig, "backend", "name"),
    "mcp_servers": (McpServerConfig, "MCP server", "label"),
    "models": (ModelConfig, "model", "name"),
}
"""Settings that are lists of tables: the type of a table, the word for one, and the key with its
name.
"""

_NAMED: Mapping[str, tuple[type[Struct], str]] = {"prompts": (PromptConfig, "a prompt")}
"""Settings that are tables of named entries, and the word for one entry: the decoder does not
report its name.
"""

_SIMPLE: Mapping[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
}

_WRITTEN: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (str, "text"),
    (int, "a number"),
    (float, "a number"),
    (list, "a list"),
    (dict, "a table"),
)
"""The word for a value of each type; the first match counts."""

_EXAMPLES = {
    "backends": 'url = "http://127.0.0.1:11434/v1"',
    "mcp_servers": 'label = "docs"',
    "models": 'name = "qwen3"',
}
"""A key of each table, in TOML."""


class Mistake(NamedTuple):
    """A mistake in the settings."""

    setting: str
    """Name of the setting, empty if it does not exist."""
    text: str


def mistake(stated: str, values: Mapping[str, Any], *, is_file: bool) -> Mistake:
    """Return the mistake in these values, from the message of the decoder, and what to write
    instead.

    With `is_file`, the text includes the syntax in TOML.
    """
    if unknown := _UNKNOWN.fullmatch(stated):
        steps = _steps(unknown[2] or "")
        text = _unknown_key(unknown[1], steps, _found(values, (*steps, unknown[1])))
        return Mistake(steps[0] if steps else unknown[1], f"{_table_name(steps, values)}{text}")
    if missing := _MISSING.fullmatch(stated):
        steps = _steps(missing[2] or "")
        displayed = steps[2:] if steps and steps[0] in _TABLES else steps
        place = _place((*displayed, missing[1]))
        return Mistake(
            steps[0] if steps else "",
            f"{_table_name(steps, values)}the required key `{place}` is missing. Add it.",
        )
    other = _OTHER.fullmatch(stated)
    if other is None:
        return Mistake(
            "", "a value is not valid. `docs/reference/settings.md` lists every setting."
        )
    steps = _steps(other[2])
    return Mistake(steps[0], _wrong_value(steps, values, is_key=bool(other[1]), is_file=is_file))


def _steps(place: str) -> tuple[str, ...]:
    return tuple(name or index for name, index in _STEP.findall(place))


def _unknown_key(name: str, steps: tuple[str, ...], value: object) -> str:
    """Return the text for a key that does not exist: the key that was probably meant, or the table
    that has it.
    """
    kind: type[Struct] = Settings
    if steps:
        kind = (
            _TABLES[steps[0]][0] if steps[0] in _TABLES else _NAMED.get(steps[0], (Settings, ""))[0]
        )
    what = "setting" if kind is Settings else "key"
    near = closest_name(name, kind.__struct_fields__)
    if near:
        table = (
            f" Begin the table with [[{near}]]."
            if isinstance(value, dict) and near in _TABLES
            else ""
        )
        return f"unknown {what} `{name}`. Did you mean `{near}`?{table}"
    if kind is Settings:
        homes = [
            f"[[{tables}]]"
            for tables, (one, *_) in _TABLES.items()
            if name in one.__struct_fields__
        ]
        home = f" It is a key of {' and '.join(homes)}: move it below that line." if homes else ""
    else:
        is_general = name in Settings.__struct_fields__
        home = (
            " It is a setting of the server: move it above the first [[…]] of the file."
            if is_general
            else ""
        )
    return f"unknown {what} `{name}`.{home}"


def _wrong_value(
    steps: tuple[str, ...], values: Mapping[str, Any], *, is_key: bool, is_file: bool
) -> str:
    in_table = len(steps) > 1 and steps[0] in _TABLES
    displayed = steps[2:] if in_table else steps
    prefix = _table_name(steps, values)
    value = _found(values, steps)
    kind, bounds = _type_at(steps)
    if not displayed:  # a value in a list of tables is not a table
        return (
            f"{prefix}it must be a table, "
            f"not {_written(value)}.{_table_advice(steps[0]) if is_file else ''}"
        )
    place = _place(displayed)
    if is_key:
        return (
            f"{prefix}`{place}` has a key that is not allowed. Allowed: "
            f"{', '.join(_choices(kind))}."
        )
    if not in_table and steps[0] in _TABLES:
        return (
            f"`{place}` must be a list of tables, "
            f"not {_written(value)}.{_table_advice(place) if is_file else ''}"
        )
    if (choices := _choices(kind)) and isinstance(value, str):
        near = closest_name(value, choices)
        hint = f" Did you mean '{near}'?" if near else ""
        return (
            f"{prefix}`{place}` is '{value[:100]}', which is not allowed.{hint} Allowed: "
            f"{_listed(choices)}."
        )
    each = "each value of " if steps[-1] == "..." else ""
    provided = "" if value is _NOTHING or _may_be(kind, value) else f", not {_written(value)}"
    return f"{prefix}{each}`{place}` must be {', '.join([_described(kind), *bounds])}{provided}."


def _may_be(kind: Any, value: object) -> bool:
    """Return whether a value has this type in TOML; variables hold every value as text."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return kind in _SIMPLE and (isinstance(value, str) or (is_number and kind in {int, float}))


def _table_advice(name: str) -> str:
    return (
        f" Begin each table with a line [[{name}]], followed by its keys, such as "
        f"{_EXAMPLES[name]}."
    )


def _table_name(steps: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """Return the table that the mistake is in, by its number and its name."""
    if len(steps) > 1 and steps[0] in _NAMED:
        return f"{_NAMED[steps[0]][1]}: "
    if len(steps) < 2 or steps[0] not in _TABLES:
        return ""
    _, what, key = _TABLES[steps[0]]
    table = _found(values, steps[:2])
    name = table.get(key) if isinstance(table, dict) else None
    number = int(steps[1]) + 1
    return (
        f"{what} {number} ('{name}'): " if isinstance(name, str) and name else f"{what} {number}: "
    )


_NOTHING = object()


def _found(values: Any, steps: tuple[str, ...]) -> Any:
    """Return the value at a place, `_NOTHING` if the place matches several."""
    for step in steps:
        if isinstance(values, Mapping) and step in values:
            values = values[step]
        elif isinstance(values, list) and step.isdigit():
            values = values[int(step)]
        else:
            return _NOTHING
    return values


def _written(value: object) -> str:
    return next((words for kind, words in _WRITTEN if isinstance(value, kind)), "another value")


def _place(steps: tuple[str, ...]) -> str:
    first, *rest = steps
    return first + "".join(
        "" if step == "..." else f"[{step}]" if step.isdigit() else f".{step}" for step in rest
    )


def _type_at(steps: tuple[str, ...]) -> tuple[Any, list[str]]:
    """Return the type of the value at a place, and its bounds in words."""
    kind: Any = Settings
    for step in steps:
        kind = _plain(kind)[0]
        if isinstance(kind, type) and issubclass(kind, Struct):
            kind = get_type_hints(kind, include_extras=True)[step]
        else:
            kind = next((one for one in reversed(get_args(kind)) if one is not Ellipsis), Any)
    return _plain(kind)


def _plain(kind: Any) -> tuple[Any, list[str]]:
    """Return a type without its bounds and without None, and the bounds in words."""
    bounds: list[str] = []
    while True:
        if get_origin(kind) is Annotated:
            kind, *notes = get_args(kind)
            bounds += [
                words
                for note in notes
                if isinstance(note, msgspec.Meta) and (words := _bounds(note))
            ]
        elif get_origin(kind) in {Union, UnionType} and NoneType in get_args(kind):
            rest = [one for one in get_args(kind) if one is not NoneType]
            if len(rest) > 1:
                return reduce(or_, rest), bounds
            kind = rest[0]
        else:
            return kind, bounds


def _bounds(meta: msgspec.Meta) -> str:
    limits = (("at least", meta.ge), ("above", meta.gt), ("at most", meta.le))
    return " and ".join(f"{word} {limit}" for word, limit in limits if limit is not None)


def _choices(kind: Any) -> Collection[str]:
    """Return the allowed words for a value, or for the keys of a table; empty if every word is
    allowed.
    """
    if get_origin(kind) is dict:
        kind = get_args(kind)[0]
    return [str(one) for one in get_args(kind)] if get_origin(kind) is Literal else []


def _listed(choices: Collection[str]) -> str:
    return ", ".join(one or "'' (empty)" for one in choices)


def _described(kind: Any) -> str:
    """Return the description of a type, with an example if that helps."""
    origin = get_origin(kind)
    parts = get_args(kind)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if origin is Literal:
        return f"one of {_listed(_choices(kind))}"
    if origin in {list, tuple}:
        return f"a list, such as {_example(kind)}"
    if origin is dict:
        return f"a table, such as {_example(kind)}"
    if origin in {Union, UnionType}:
        return " or ".join(_alternatives(parts))
    return "a table"


def _alternatives(parts: tuple[Any, ...]) -> Iterator[str]:
    for part in parts:
        choices = _choices(part)
        yield f'"{choices[0]}"' if len(choices) == 1 else _described(part)  # type: ignore[index]


def _example(kind: Any) -> str:
    """Return an example of this type in TOML."""
    origin = get_origin(kind)
    parts = get_args(kind)
    if origin in {list, tuple}:
        return f"[{_example(parts[0])}]"
    if origin is dict:
        key = (_choices(kind) or ["name"])[0]  # type: ignore[index]
        return f"{{ {key} = {_example(parts[1])} }}"
    if origin is Literal:
        return f'"{parts[0]}"'
    return '"name"' if kind is str else "1"
