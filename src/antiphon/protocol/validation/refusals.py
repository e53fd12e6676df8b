"""The messages with which a request is rejected, with their codes (specification section 13).

Every function returns the `ClientError` to raise. `path` names the place in the request, such as
`input[0].content[1].text`, and becomes the error's `param`.
"""

import re
from collections.abc import Iterable
from typing import Any

from antiphon.errors import ClientError

JSON_TYPES: dict[type, str] = {
    str: "string",
    int: "integer",
    float: "decimal number",
    bool: "boolean",
    list: "array",
    dict: "object",
    type(None): "null",
}
"""The name of a value in messages, by its Python type."""

UNKNOWN_PARAMETER = "unknown_parameter"

_DISPLAYED = 100
_ITEM_SELECTOR = re.compile(r"^(input\[\d+\])\.(?:type|role)$")


def json_type(value: Any) -> str:
    """Return what the API calls the type of this value."""
    return JSON_TYPES[type(value)]


def quoted(value: Any) -> str:
    """Return the value as a message shows it: no longer than a line, whatever the client sent."""
    text = str(value)
    return text if len(text) <= _DISPLAYED else f"{text[:_DISPLAYED]}…"


def below(path: str, name: str) -> str:
    """Return the path of `name` inside `path`; the empty path is the body itself."""
    return f"{path}.{quoted(name)}" if path else quoted(name)


def listed(values: Iterable[str]) -> str:
    """Return the values quoted and enumerated: `'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`."""
    quoted = [f"'{value}'" for value in values]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


def invalid(path: str, words: str, code: str | None = "invalid_value") -> ClientError:
    """An error without a form of its own: `words` describe it, after the name of the place."""
    return ClientError(f"Invalid '{path}': {words}", code=code, param=path)


def malformed(reason: str) -> ClientError:
    """The body is not JSON."""
    return ClientError(f"We could not parse the JSON body of your request: {reason}.")


def invalid_type(path: str, expected: Iterable[str], value: Any) -> ClientError:
    """The value is of the wrong JSON type.

    For a scalar, null is called an object, as OpenAI does.
    """
    nouns = list(expected)
    got = json_type(value)
    if value is None and not any(noun.startswith(("array", "object")) for noun in nouns):
        got = "object"
    wanted = (
        _with_article(nouns[0])
        if len(nouns) == 1
        else f"one of {_with_article(' or '.join(nouns))}"
    )
    place = f" for '{path}'" if path else ""
    article = got if got == "null" else _with_article(got)
    return ClientError(
        f"Invalid type{place}: expected {wanted}, but got {article} instead.",
        code="invalid_type" if path else None,
        param=path or None,
    )


def missing(path: str) -> ClientError:
    """A required parameter is absent."""
    return ClientError(
        f"Missing required parameter: '{path}'.", code="missing_required_parameter", param=path
    )


def unknown(path: str, intended: str | None = None) -> ClientError:
    """The parameter does not exist; `intended` is the one that it resembles."""
    hint = f" Did you mean '{intended}'?" if intended else ""
    return ClientError(f"Unknown parameter: '{path}'.{hint}", code=UNKNOWN_PARAMETER, param=path)


def invalid_value(path: str, value: str, supported: Iterable[str]) -> ClientError:
    """The value is not one of the supported ones.

    For an item's type and role OpenAI names the item as the place.
    """
    return ClientError(
        f"Invalid value: '{quoted(value)}'. Supported values are: {listed(supported)}.",
        code="invalid_value",
        param=_ITEM_SELECTOR.sub(r"\1", path),
    )


def unsupported(path: str) -> ClientError:
    """The API has this parameter, this server does not support it."""
    return ClientError(
        f"Unsupported parameter: '{path}' is not supported by this server.",
        code="unsupported_parameter",
        param=path,
    )


def unsupported_value(path: str, value: Any, supported: Iterable[str]) -> ClientError:
    """The API has this value, this server does not support it."""
    return ClientError(
        f"Unsupported value: '{quoted(value)}' is not supported by this server. "
        f"Supported values are: {listed(supported)}.",
        code="unsupported_value",
        param=_ITEM_SELECTOR.sub(r"\1", path),
    )


def number_out_of_range(path: str, kind: str, side: str, bound: float, value: float) -> ClientError:
    """The number is out of range; `kind` is "integer" or "decimal", `side` is "below" or
    "above".
    """
    extreme, sign = ("minimum", ">=") if side == "below" else ("maximum", "<=")
    words = (
        f"{kind} {side} {extreme} value. Expected a value {sign} {bound}, "
        f"but got {quoted(value)} instead."
    )
    return invalid(path, words, f"{kind}_{side}_{extreme[:3]}_value")


def too_long(path: str, kind: str, bound: int, length: int) -> ClientError:
    """A string or an array has too many members."""
    noun = _with_article(kind)
    words = (
        f"{kind} too long. Expected {noun} with maximum length {bound}, "
        f"but got {noun} with length {length} instead."
    )
    return invalid(path, words, f"{kind}_above_max_length")


def empty(path: str, kind: str) -> ClientError:
    """A string or an array has no members."""
    noun = _with_article(kind)
    words = f"empty {kind}. Expected {noun} with minimum length 1, but got an empty {kind} instead."
    return invalid(path, words, f"empty_{kind}")


def too_many_properties(path: str, bound: int, count: int) -> ClientError:
    """An object has too many keys."""
    words = (
        f"too many properties. Expected an object with at most {bound} properties, "
        f"but got an object with {count} properties instead."
    )
    return invalid(path, words, "object_above_max_properties")


def no_match(path: str, value: str, pattern: str, title: str | None) -> ClientError:
    """A string does not match; `title` describes what would, if the pattern is no help."""
    if title:
        return ClientError(
            f"Invalid '{path}': '{quoted(value)}'. Expected {title}.",
            code="invalid_value",
            param=path,
        )
    pattern = pattern.removesuffix(r"(?!\n)")
    return invalid(
        path,
        f"string does not match pattern. Expected a string that matches the pattern '{pattern}'.",
    )


def too_many_containers(limit: int) -> ClientError:
    """Return the error for a body with too many small parts."""
    return ClientError(
        f"Invalid JSON body: too many arrays and objects. Expected at most {limit} of them."
    )


def too_deep(path: str | None, limit: int) -> ClientError:
    """The JSON is nested too deeply; `path` is None if no single parameter is the cause."""
    place = f"'{path}'" if path else "JSON body"
    return ClientError(
        f"Invalid {place}: nested too deeply. Expected at most {limit} levels.", param=path
    )


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
