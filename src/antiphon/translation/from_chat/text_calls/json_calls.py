"""Calls in JSON: `{"name": …, "arguments": {…}}`, one or several, in a list or not, between marks
or bare.
"""

import re
from collections.abc import Iterator
from typing import Any

from antiphon.translation.broken_json import repaired
from antiphon.translation.from_chat.text_calls.found import (
    NoCallError,
    Offers,
    Parse,
    RawCall,
    UnfinishedError,
)
from antiphon.translation.from_chat.text_calls.values import decode_at

_BETWEEN = re.compile(r"[\s;,]*")
_KEYS = frozenset({"type", "id", "name", "function", "arguments", "parameters"})
"""All keys of a call without marks around it: any other key makes it an answer in JSON."""


def marked(opening: str, closing: str = "") -> Parse:
    """Return the parser of JSON calls between these marks, of which the model can omit the
    second.
    """
    begins = re.compile(opening)

    def parse(text: str, offers: Offers) -> tuple[list[RawCall], int]:
        begun = begins.match(text)
        if begun is None:
            raise NoCallError("The opening mark is missing.")
        values, end = _read_or_repair(text, begins, begun.end(), closing)
        calls = [call for value in values for call in calls_in(value)]
        behind = len(text) - len(text[end:].lstrip())
        if closing and text.startswith(closing, behind):
            end = behind + len(closing)
        return calls, end

    return parse


def _read_or_repair(
    text: str, begins: re.Pattern[str], at: int, closing: str
) -> tuple[list[Any], int]:
    """Return the JSON values that begin at `at`, and where they end.

    A malformed call counts if the closing mark ends it, no other call begins before that, and its
    meaning is certain.
    """
    try:
        return read_values(text, at)
    except UnfinishedError:
        raise
    except NoCallError:
        end = text.find(closing, at) if closing else -1
        value = None if end < 0 or begins.search(text, at, end) else repaired(text[at:end])
        if value is None or not value.keys() <= _KEYS:
            raise
        return [value], end


def bare(text: str, offers: Offers) -> tuple[list[RawCall], int]:
    """Parse JSON calls without marks. Each has a name and arguments, and no other keys."""
    values, end = read_values(text, 0)
    for value in values:
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, dict) or not each.keys() <= _KEYS or not _arguments_in(each):
                raise NoCallError("It is JSON, and not a call.")
    return [call for value in values for call in calls_in(value)], end


def fenced(text: str, offers: Offers) -> tuple[list[RawCall], int]:
    """Parse a code block that holds bare JSON calls."""
    block = re.match(r"```(?:json|tool_call)?[ \t]*\n(.*?)\n?```", text, re.DOTALL)
    if block is None:
        raise NoCallError("The code block does not end.")
    calls, end = bare(block[1].strip(), offers)
    if end != len(block[1].strip()):
        raise NoCallError("The code block holds more than calls.")
    return calls, block.end()


def read_values(text: str, at: int) -> tuple[list[Any], int]:
    """Return the JSON objects and arrays that begin at `at`, and where the last one ends."""
    values: list[Any] = []
    end = at
    while text.startswith(("{", "["), at := _end_of(text, end)):
        try:
            value, end = decode_at(text, at)
        except NoCallError:
            if not values:
                raise
            break
        values.append(value)
    if not values:
        raise NoCallError("The text contains no JSON.")
    return values, end


def _end_of(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    return between.end() if between else at


def calls_in(value: Any) -> Iterator[RawCall]:
    """Yield the calls in a JSON value. Raises `NoCallError` if it contains none."""
    for call in value if isinstance(value, list) else [value]:
        if not isinstance(call, dict):
            raise NoCallError("A call is an object.")
        inner = call.get("function")
        reported = inner if isinstance(inner, dict) else call
        name = reported.get("name", inner)
        if not isinstance(name, str):
            raise NoCallError("The call has no name.")
        arguments = next(iter(_arguments_in(call)), None)
        yield RawCall(name, {} if arguments is None else arguments)


def _arguments_in(call: dict[str, Any]) -> list[Any]:
    inner = call.get("function")
    reported = inner if isinstance(inner, dict) else call
    return [reported[key] for key in ("arguments", "parameters") if key in reported]
