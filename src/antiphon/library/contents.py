"""The content of a file, as the library returns it."""

import os
from pathlib import Path


class BinaryContent:
    """The content of a file, held in memory: `content` is its bytes, `text` its text in UTF-8."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    @property
    def text(self) -> str:
        """The content as text; bytes that are not UTF-8 become the replacement character."""
        return self.content.decode("utf-8", "replace")

    def read(self) -> bytes:
        """Return the bytes."""
        return self.content

    def write_to_file(self, file: str | os.PathLike[str]) -> None:
        """Write the content to a path. Raises `OSError`."""
        Path(file).write_bytes(self.content)
