"""A request to an image server, as JSON or as a form."""

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any

import msgspec

from antiphon.tools.images.content import Picture

JSON = "application/json"


def as_json(fields: Mapping[str, Any]) -> tuple[bytes, str]:
    """Return a request without images, and its content type."""
    return msgspec.json.encode(fields), JSON


def as_form(
    fields: Mapping[str, Any],
    images: Sequence[Picture],
    mask: Picture | None,
    *,
    many: bool = False,
) -> tuple[bytes, str]:
    """Return a request with images as `multipart/form-data`, and its content type."""
    boundary = token_hex(16)
    parts: list[bytes] = []
    for name, value in fields.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        parts += [_head(boundary, f'name="{name}"'), text.encode(), b"\r\n"]
    named = [("image[]" if many else "image", one) for one in images] + (
        [("mask", mask)] if mask else []
    )
    for number, (name, picture) in enumerate(named):
        about = f'name="{name}"; filename="{number}.{picture.format}"'
        parts += [_head(boundary, about, picture.media_type), picture.data, b"\r\n"]
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"


def _head(boundary: str, about: str, media_type: str = "") -> bytes:
    kind = f"content-type: {media_type}\r\n" if media_type else ""
    return f"--{boundary}\r\ncontent-disposition: form-data; {about}\r\n{kind}\r\n".encode()
