"""What a server says, less the credentials that it was sent: it may repeat them, and its words are shown and kept."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

SHORTEST = 6
"""Characters; a shorter secret is none, and would be found in any text."""

_IS_SECRET = re.compile(r"auth|key|token|secret|pass|credential|cookie|signature", re.IGNORECASE)
"""Names of headers and variables whose values are credentials; others may well stand in what was asked for."""

_SCHEME = re.compile(r"(?:bearer|basic|token)\s+", re.IGNORECASE)
HIDDEN = "[removed]"

T = TypeVar("T")


def secrets_of(*named: Mapping[str, str]) -> tuple[str, ...]:
    """Return the credentials among named values, the longest first, so that none leaves a part of another."""
    found = {value for values in named for value in _values(values.items())}
    return tuple(sorted(found, key=len, reverse=True))


def without(secrets: Iterable[str], value: T) -> T:
    """Return JSON in whose texts and names no secret stands."""
    # Hardly ever does one stand there, and lists have hundreds of thousands of texts.
    encoded = msgspec.json.encode(value)
    found = [secret for secret in secrets if msgspec.json.encode(secret)[1:-1] in encoded]
    cleaned: T = _cleaned(found, value) if found else value
    return cleaned


def _cleaned(secrets: Iterable[str], value: Any) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
        return value
    if isinstance(value, Mapping):
        return {_cleaned(secrets, name): _cleaned(secrets, inner) for name, inner in value.items()}
    return [_cleaned(secrets, inner) for inner in value] if isinstance(value, list) else value


def _values(named: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, value in named:
        bare = _SCHEME.sub("", value, count=1).strip()
        if _IS_SECRET.search(name) and len(bare) >= SHORTEST:
            yield bare
