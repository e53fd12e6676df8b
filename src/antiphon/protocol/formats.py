"""The format of an answer, and the reasoning effort: set by requests, and by items that change them
from then on.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class TextFormat(Struct, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="text"):
    """Free text."""


class JsonObjectFormat(
    Struct, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="json_object"
):
    """Any JSON object."""


class JsonSchemaFormat(
    Struct, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="json_schema"
):
    """JSON that matches `schema`."""

    name: Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[a-zA-Z0-9_-]+$(?!\n)")]
    schema: dict[str, Any]
    strict: bool | None = None
    description: str | None = None


Format = TextFormat | JsonObjectFormat | JsonSchemaFormat


class ReasoningUpdate(Struct, kw_only=True, forbid_unknown_fields=True):
    """Another effort from here on."""

    effort: Effort | None = None


class TextUpdate(Struct, kw_only=True, forbid_unknown_fields=True):
    """Another format from here on."""

    format: Format | None = None
