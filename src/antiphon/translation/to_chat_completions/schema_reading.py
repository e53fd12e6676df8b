"""Limits for reading a tool's schema: through references, a small schema can describe a huge one.

Steps limit the time, and bytes the memory and the size of the schema that results. A schema that
exceeds them is not read in part, which could forbid what it permits: it is replaced by a weaker one
(`schema_roots.flattened`).
"""

import json
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct, field

from antiphon.protocol.json_members import decode_value

Schema = dict[str, Any]

MOST_STEPS = 20_000
"""Steps for all schemas of a request, each of about a microsecond: a property, a value, a keyword,
or 200 bytes.
"""

LARGEST = 256 * 1024
"""About how many bytes the largest schema has that is read."""

PART = 10
"""Steps to read a part, besides those of what it contains."""

_WEIGHED = 100
"""Bytes of a schema that are weighed in one step."""

_NODE = 8
"""About how many bytes a value takes in addition to its text."""

SPARE = 10_000
"""Bytes that a schema can always grow by; beyond them, it can at most double."""

DEEPEST = 20
"""Nested choices and references that are followed."""


class TooLarge(Exception):  # noqa: N818 - the reader of a schema ends with it, nothing failed
    """Reading the schema takes more than its limits."""


class SchemaBudget(Struct):
    """What the schemas of one request can still take.

    One schema can take half of it, so that it stops no other.
    """

    steps: int = MOST_STEPS


class SchemaReading(Struct):
    """One schema that is being read."""

    root: Schema
    steps: int
    """Steps that are left."""
    compared: int = 0
    """Bytes that can still be encoded to compare parts."""
    added: int = 0
    """Bytes that can still be added to the schema."""
    within: set[int] = field(default_factory=set)
    """The identities of the schemas around the one that is being read."""
    _written: dict[int, tuple[Any, str]] = field(default_factory=dict)
    """JSON by identity; the values are kept, so that no other gets their identity."""

    def begin(self) -> None:
        """Set the limits that depend on the size of the schema. Raises `TooLarge`."""
        most = min(LARGEST, self.steps * _WEIGHED)
        found = weight(self.root, most)
        self.take(min(found, most) // _WEIGHED)
        if found > most:
            raise TooLarge
        size = len(encoded(self.root))
        self.take(size // 200)
        self.compared = 4 * size + 2 * SPARE
        self.added = size + SPARE

    def take(self, steps: int) -> None:
        """Use steps. Raises `TooLarge` if too few are left."""
        self.steps -= steps
        if self.steps < 0:
            raise TooLarge

    def add(self, *values: Any) -> None:
        """Add values to the schema, or texts to its description.

        Raises `TooLarge` if they do not fit.
        """
        self.added -= sum(len(one if isinstance(one, str) else self.json(one)) for one in values)
        if self.added < 0:
            raise TooLarge

    def json(self, value: Any) -> str:
        """Return a value as JSON. Raises `TooLarge` if too much was encoded."""
        known = self._written.get(id(value))
        if known is None:
            self.take(1)
            known = self._written[id(value)] = value, encoded(value).decode()
            self.compared -= len(known[1])
            if self.compared < 0:
                raise TooLarge
        return known[1]

    def same(self, first: Any, second: Any) -> bool:
        """Whether two values are the same JSON."""
        return first is second or self.json(first) == self.json(second)

    def once(self, values: Iterable[Any]) -> list[Any]:
        """Return the different values, in order."""
        return list({self.json(value): value for value in values}.values())


def weight(schema: Schema, most: int) -> int:
    """Return about how many bytes a schema has, or a number above `most`, having read no more than
    that.
    """
    found = 0
    pending = list[Any]([schema])
    while pending and found <= most:
        one = pending.pop()
        found += len(one) if isinstance(one, str) else _NODE
        if isinstance(one, dict | list):
            found += _NODE * len(one)
        if isinstance(one, dict) and found <= most:
            found += sum(map(len, one))
            pending += one.values()
        elif isinstance(one, list) and found <= most:
            pending += one
    return found


def encoded(value: Any) -> bytes:
    """Return a value as JSON."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # half a surrogate pair, which an application can pass
        return json.dumps(value, separators=(",", ":")).encode()


def decoded(text: bytes) -> Any:
    """Return the value of JSON that `encoded` wrote."""
    try:
        return decode_value(text)
    except msgspec.DecodeError:
        return json.loads(text)
