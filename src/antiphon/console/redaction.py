"""Redacts what the console must not show: secrets of tools, and sealed content."""

from typing import Any

STRUCK_OUT = "••••••"
"""Replaces a secret."""

SECRETS = frozenset({"authorization", "headers", "api_key", "secret", "encrypted_content"})
"""Fields with secrets of tools, which are not stored, and with sealed content, which only the
server can read.
"""

SCHEMAS = frozenset({"parameters", "schema", "input_schema"})
"""Fields with JSON schemas: the arguments of a function can have the names of secrets."""


def redacted(value: Any) -> Any:
    """Return JSON with each secret replaced."""
    if isinstance(value, dict):
        return {name: _redacted_field(name, one) for name, one in value.items()}
    return [redacted(one) for one in value] if isinstance(value, list) else value


def _redacted_field(name: str, value: Any) -> Any:
    if name in SECRETS:
        return STRUCK_OUT if value else value
    return value if name in SCHEMAS else redacted(value)
