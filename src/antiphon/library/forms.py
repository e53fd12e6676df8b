"""A form with files (`multipart/form-data`), from what a program passes as a file. Content is read
as it is sent.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

PIECE = 256 * 1024
"""Bytes that are read from a file at once, in a thread."""

FileContent = IO[bytes] | bytes | os.PathLike[str]
"""The content of a file: bytes, a path, or an object that was opened for reading bytes."""

FileInput = FileContent | tuple[str, FileContent] | tuple[str, FileContent, str]
"""A file: its content, or a tuple of name and content, and optionally its media type."""

UNNAMED = "upload"
"""The name of a file that has none: bytes, or an object without a name."""


class MultipartForm:
    """A form with text fields and files. `content_type` belongs to its body."""

    def __init__(self, fields: Mapping[str, str], files: Sequence[tuple[str, FileInput]]) -> None:
        self._fields, self._boundary = fields, token_hex(16)
        self._files = [(name, *_parts_of(name, file)) for name, file in files]
        self.content_type = f"multipart/form-data; boundary={self._boundary}"

    async def body(self) -> AsyncGenerator[bytes, None]:
        """Yield the body. Raises `OSError` if a file cannot be read."""
        for name, value in self._fields.items():
            yield f"{self._head(name)}\r\n\r\n{value}\r\n".encode()
        for name, filename, content, kind in self._files:
            yield (
                f"{self._head(name)}; "
                f'filename="{_escaped(filename)}"\r\ncontent-type: {kind}\r\n\r\n'
            ).encode()
            async for piece in _pieces(content):
                yield piece
            yield b"\r\n"
        yield f"--{self._boundary}--\r\n".encode()

    def _head(self, name: str) -> str:
        return f'--{self._boundary}\r\ncontent-disposition: form-data; name="{_escaped(name)}"'


def form_fields(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters as the text fields of a form, without the absent ones; an object is a field
    for each entry.

    Raises `TypeError` for what has no text, such as a list: the server accepts each field once.
    """
    fields: dict[str, str] = {}
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            fields |= form_fields({f"{name}[{key}]": inner for key, inner in value.items()})
        elif isinstance(value, bool):
            fields[name] = str(value).lower()
        elif isinstance(value, str | int | float):
            fields[name] = str(value)
        elif value is not None:
            raise TypeError(
                f"`{name}` is a {type(value).__name__}. Pass a text, a number, "
                "a bool or a dictionary."
            )
    return fields


def _parts_of(name: str, file: FileInput) -> tuple[str, FileContent, str]:
    """Return name, content and media type of a file. Raises `TypeError` for anything else."""
    filename = ""
    content = file
    kind = "application/octet-stream"
    if isinstance(file, tuple):
        filename, content, *rest = file
        kind = str(rest[0]) if rest else kind
    if not isinstance(content, bytes | os.PathLike) and not callable(
        getattr(content, "read", None)
    ):
        text = (
            "Pass bytes, a path, an object that was opened for reading bytes, "
            "or a tuple of a name and one of them."
        )
        raise TypeError(f"`{name}` is a {type(content).__name__}. {text}")
    if any(mark in kind for mark in "\r\n\0"):
        raise ValueError(f"The media type of `{name}` has characters that no header can have.")
    return filename or _name_of(content), content, kind  # type: ignore[return-value]  # checked above


def _name_of(content: Any) -> str:
    name = content if isinstance(content, os.PathLike) else getattr(content, "name", None)
    return Path(os.fspath(name)).name if isinstance(name, str | os.PathLike) else UNNAMED


async def _pieces(content: FileContent) -> AsyncGenerator[bytes, None]:
    if isinstance(content, bytes):
        for start in range(0, len(content), PIECE):
            yield content[start : start + PIECE]
        return
    if isinstance(content, os.PathLike):
        opened = await asyncio.to_thread(Path(content).open, "rb")
        try:
            async for piece in _pieces(opened):
                yield piece
        finally:
            opened.close()
        return
    while piece := await asyncio.to_thread(content.read, PIECE):
        if not isinstance(piece, bytes):
            raise TypeError("The file was opened for reading text. Open it with the mode 'rb'.")
        yield piece


def _escaped(text: str) -> str:
    """Return a name as browsers write it in the head of a part (HTML, multipart/form-data)."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
