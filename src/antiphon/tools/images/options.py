"""The options of an `image_generation` tool (specification section 8), which the protocol layer
does not parse.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET

from antiphon.protocol.tools import ImageGenerationTool, Tool
from antiphon.protocol.validation import refusals

CHOICES: Mapping[str, tuple[str, ...]] = {
    "action": ("generate", "edit", "auto"),
    "background": ("transparent", "opaque", "auto"),
    "input_fidelity": ("high", "low"),
    "moderation": ("auto", "low"),
    "output_format": ("png", "webp", "jpeg", "gif", "svg"),
    "quality": ("low", "medium", "high", "xhigh", "max", "auto"),
}
"""The values of each enumerated field."""

MOST_PARTIAL = 3

SENT = (
    "size",
    "quality",
    "background",
    "output_format",
    "output_compression",
    "moderation",
    "input_fidelity",
)
"""Fields that are sent to the server if the request sets them to other values than the API's
default.
"""

EDITS_ONLY = frozenset({"input_fidelity"})

_SIZE = re.compile(r"[1-9]\d{0,4}x[1-9]\d{0,4}")
_WITH_ALPHA = ("png", "webp")


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """The fields of the tool."""

    action: str = "auto"
    partial_images: int = 0
    sent: Mapping[str, Any] = field(default_factory=dict)
    """The fields for the server."""
    mask: Mapping[str, Any] | None = None
    """The mask of edits: `{image_url}` or `{file_id}`."""


def read_options(tool: Tool, path: str = "tools") -> ImageOptions:
    """Return the options of the tool at `path` of the request. Raises `ClientError` (400)."""
    if not isinstance(tool, ImageGenerationTool):
        raise refusals.unsupported(path)
    for name, values in CHOICES.items():
        provided = _provided(tool, name)
        if provided is not None and provided not in values:
            raise refusals.invalid_value(f"{path}.{name}", provided, values)
    size = _provided(tool, "size")
    if size not in (None, "auto") and not _SIZE.fullmatch(size):
        raise refusals.invalid(
            f"{path}.size",
            f"'{refusals.quoted(size)}'. Expected 'auto', or a size such as 1024x1024.",
        )
    _check_number(tool, path, "output_compression", 100)
    _check_number(tool, path, "partial_images", MOST_PARTIAL)
    if _provided(tool, "background") == "transparent" and _provided(tool, "output_format") not in (
        None,
        *_WITH_ALPHA,
    ):
        raise refusals.invalid(
            f"{path}.background", "a transparent background needs the output format png or webp."
        )
    return ImageOptions(
        _provided(tool, "action") or "auto",
        _provided(tool, "partial_images") or 0,
        {name: value for name in SENT if (value := _provided(tool, name)) not in (None, "auto")},
        _mask(tool, f"{path}.input_image_mask"),
    )


def _provided(tool: ImageGenerationTool, name: str) -> Any:
    value = getattr(tool, name)
    return None if value is UNSET else value


def _check_number(tool: ImageGenerationTool, path: str, name: str, most: int) -> None:
    value = _provided(tool, name)
    if value is not None and value < 0:
        raise refusals.number_out_of_range(f"{path}.{name}", "integer", "below", 0, value)
    if value is not None and value > most:
        raise refusals.number_out_of_range(f"{path}.{name}", "integer", "above", most, value)


def _mask(tool: ImageGenerationTool, path: str) -> Mapping[str, Any] | None:
    provided: Mapping[str, Any] | None = _provided(tool, "input_image_mask")
    if provided is None:
        return None
    for name in provided:
        if name not in ("image_url", "file_id"):
            raise refusals.unknown(refusals.below(path, name))
        if provided[name] is not None and not isinstance(provided[name], str):
            raise refusals.invalid_type(f"{path}.{name}", ["string"], provided[name])
    if not (provided.get("image_url") or provided.get("file_id")):
        raise refusals.missing(f"{path}.image_url")
    return provided
