"""What a step receives and returns, as JSON: the journal has nothing else.

A live step returns what a later attempt would read from the journal, so that both take the same
branches: a tuple becomes a list.
"""

import json
import typing
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import msgspec

DIGEST = 8
"""Bytes of a digest for each field of an input."""


def _other(value: Any) -> Any:
    """Return what JSON encodes of an object that msgspec does not know: a model of pydantic."""
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__module__}.{type(value).__qualname__}")
    return dump(mode="json")


_encode = msgspec.json.Encoder(enc_hook=_other, order="deterministic").encode


def encoded(value: Any, what: str) -> bytes:
    """Return a value as JSON. Raises `TypeError` for one that JSON cannot represent, naming `what`
    it is and the place in it.
    """
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        place = _unknown(value, what)
        raise TypeError(
            f"{place or what} cannot be stored as JSON ({error}). Steps receive and return texts, "
            "numbers, lists, dictionaries, dataclasses, msgspec structs and pydantic models."
        ) from None


def checked_text(value: Any, what: str) -> str:
    """Return a text that UTF-8 can represent. Raises `TypeError` for anything but a text, and
    `ValueError` for a lone surrogate.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} is a {type(value).__name__}, not a text.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{what} is not valid Unicode: {error}.") from None
    return value


def _unknown(value: Any, place: str, depth: int = 0) -> str:
    """Return the place of the first value that cannot be encoded, empty if none is found."""
    parts: Mapping[Any, Any] = {}
    if isinstance(value, dict):
        parts = {f"{place}[{key!r}]": each for key, each in value.items()}
    elif isinstance(value, list | tuple):
        parts = {f"{place}[{index}]": each for index, each in enumerate(value)}
    for name, each in parts.items():
        try:
            _encode(each)
        except (TypeError, ValueError, RecursionError):
            return _unknown(each, name, depth + 1) if depth < 32 else name
    return "" if parts else place


def type_of(function: Callable[..., Any]) -> Any:
    """Return the type that a step's function returns, by its annotation; `Any` without one."""
    try:
        return typing.get_type_hints(function).get("return", Any)
    except (NameError, TypeError, AttributeError):
        return Any


def decoded(body: bytes, into: Any = Any) -> Any:
    """Return a value of the journal, as the type of the annotation."""
    if into is Any or into is None:
        return msgspec.json.decode(body)
    validate = getattr(into, "model_validate_json", None)
    if validate is not None:
        return validate(body)
    try:
        return msgspec.json.decode(body, type=into)
    except (TypeError, msgspec.ValidationError):  # the annotation says less than the value
        return msgspec.json.decode(body)


def digest_of(fields: Mapping[str, Any]) -> bytes:
    """Return the digest of an input: one of each of its fields, so that a difference has a name."""
    digests = {
        name: sha256(encoded(value, name)).hexdigest()[: 2 * DIGEST]
        for name, value in fields.items()
    }
    return json.dumps(digests, separators=(",", ":")).encode()


def difference(before: bytes, now: bytes) -> str:
    """Return the first field in which two digests differ."""
    old, new = json.loads(before), json.loads(now)
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return names[0] if names else "input"
