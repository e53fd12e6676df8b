"""A form with a file, as clients upload it."""

from collections.abc import Mapping

BOUNDARY = "antiphon-verify"

TYPE = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}
"""The header of such a body."""


def form(fields: Mapping[str, str], filename: str, content: bytes) -> bytes:
    """Return the body of a form with these fields and one file."""
    parts = [f'name="{name}"\r\n\r\n{value}' for name, value in fields.items()]
    parts.append(
        f'name="file"; filename="{filename}"\r\nContent-Type: application/octet-stream\r\n\r\n'
    )
    heads = [f"--{BOUNDARY}\r\nContent-Disposition: form-data; {part}" for part in parts]
    return "\r\n".join(heads).encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()
