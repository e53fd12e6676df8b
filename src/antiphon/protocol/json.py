"""Bytes to plain data: the one place where a client's JSON is parsed.

One parser for all, so that two parts never read the same bytes differently (a key that stands twice, the last wins).
"""

import re
from typing import Any

import msgspec

from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.refusals import below

MAX_DEPTH = 512
"""Levels of arrays and objects in a body. Encoders recurse: deeper data would come in and never go out again."""

MAX_CONTAINERS = 500_000
"""Arrays and objects in a body. Ten million empty ones take few bytes, and seconds in which nobody else is served."""

_STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)
"""A string, or what would be one if it ended. In linear time whatever the body: nothing is tried twice."""

FREE_FORM = frozenset({"metadata", "parameters", "schema", "output_schema", "client_metadata", "prompt_cache_options"})
"""Parameters whose depth is the client's own: they are named where they are nested too deeply."""

_ENCODING_HINTS = (
    (b"", "the body is empty"),
    (b"\xef\xbb\xbf", "it begins with a byte order mark"),
    (b"\xff\xfe", "it is not UTF-8"),
    (b"\xfe\xff", "it is not UTF-8"),
)


def decode_json(body: bytes) -> Any:
    """Return what the JSON says, as plain Python data.

    Strict: UTF-8 without byte order mark, no NaN or Infinity, no lone surrogates, numbers that a double can hold or
    integers of at most 4,300 digits, at most `MAX_DEPTH` levels and `MAX_CONTAINERS` arrays and objects. Raises
    `ClientError` (400) otherwise.
    """
    containers = body.count(b"{") + body.count(b"[")
    if containers > MAX_CONTAINERS and _holds_too_many(body):
        raise refusals.too_many_containers(MAX_CONTAINERS)
    try:
        data = msgspec.json.decode(body)
    except RecursionError:
        raise refusals.too_deep(None, MAX_DEPTH) from None
    except UnicodeDecodeError:
        raise refusals.malformed("it is not UTF-8") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise refusals.malformed(_hint(body) or _reason(error)) from None
    # Fewer brackets than levels allowed: it cannot be too deep, and most bodies end here.
    if containers > MAX_DEPTH and _is_deep(data):
        raise refusals.too_deep(_deep_parameter(data), MAX_DEPTH)
    return data


def decode_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object that the body is. Raises `ClientError` (400) where it is anything else."""
    data = decode_json(body)
    if type(data) is not dict:
        raise refusals.invalid_type("", ["object"], data)
    return data


def _holds_too_many(body: bytes) -> bool:
    """Whether it holds too many arrays and objects, brackets in strings left aside."""
    bare = _STRING.sub(b"", body)
    return bare.count(b"{") + bare.count(b"[") > MAX_CONTAINERS


def _hint(body: bytes) -> str | None:
    return next((hint for start, hint in _ENCODING_HINTS if (body.startswith(start) if start else not body)), None)


def _reason(error: Exception) -> str:
    words = str(error).removeprefix("JSON is malformed: ").partition(" - at ")[0]
    # msgspec says the same of the first half of a surrogate pair at the end of a string.
    if words == "Input data was truncated":
        return "it ends too early, or a string holds half a surrogate pair"
    return words[:1].lower() + words[1:]


def _is_deep(data: Any, limit: int = MAX_DEPTH) -> bool:
    level = [data]
    for _ in range(limit):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


def _deep_parameter(data: Any) -> str | None:
    """Follow the deep branch down to the first free-form parameter; None where it meets none near the top."""
    path = ""
    for depth in range(1, 5):
        entries = data.items() if type(data) is dict else enumerate(data)
        key, data = next((key, child) for key, child in entries if _is_deep([child], MAX_DEPTH + 1 - depth))
        path = f"{path}[{key}]" if isinstance(key, int) else below(path, key)
        if key in FREE_FORM:
            return path
    return None
