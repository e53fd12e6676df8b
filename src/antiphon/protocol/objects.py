"""Methods of every object of the API, and items of types that this version does not know."""

from typing import Any

import msgspec
from msgspec import Struct


class ApiObject(Struct, kw_only=True, repr_omit_defaults=True):
    """An object of the API. Its `repr` shows the fields that differ from their defaults."""

    def to_dict(self) -> dict[str, Any]:
        """Return the object as plain data, as the API sends it; absent fields are omitted."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the object as JSON, on one line unless `indent` is the number of spaces for each
        level.
        """
        return to_json(self.to_dict(), indent)


class UnknownItem(dict[str, Any]):
    """An item, or a part of one, of a type that this version does not know: its JSON object,
    unchanged.

    Sent back as input, it has the same fields as before.
    """

    @property
    def type(self) -> str:
        """The type that the server named; empty if it named none."""
        return str(self.get("type", ""))

    def to_dict(self) -> dict[str, Any]:
        """Return the object as plain data."""
        return dict(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the object as JSON, on one line unless `indent` is the number of spaces for each
        level.
        """
        return to_json(self, indent)


def to_json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON, on one line unless `indent` is the number of spaces for each
    level.
    """
    encoded = msgspec.json.encode(value)
    return (encoded if indent is None else msgspec.json.format(encoded, indent=indent)).decode()
