"""Files of a request that were read for it: their text, the images of their pages, or their data.

The translation does not wait. If it needs a file that was not read yet, it raises `UnreadFile`; the
run reads the files and starts the translation again (`history/attachments.py`). So requests without
files never check for them.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from antiphon.errors import ClientError
from antiphon.protocol.items.content import InputFile

Form = Literal["text", "pages", "data"]
"""What a backend needs of a file: its text; its text and images of its pages; its content, to read
it itself.
"""

DELETED = "[Something stood here that this model cannot read.]"
"""Replaces an unreadable file of an earlier turn."""


PAST = "input"
"""The path in errors about files of earlier turns, which have no position in the request."""


class ReadFile(Struct, frozen=True):
    """A file that was read. Only the fields of the requested form are set."""

    part: InputFile
    """The part of the request. It is kept, because files are found by its identity."""
    name: str = ""
    text: str = ""
    """The text in its frame, as the model receives it."""
    images: Sequence[str] = ()
    """Pages, as `data:` URLs."""
    data: str = ""
    """The content, as a `data:` URL."""
    error: ClientError | None = None
    """Why the file is unreadable, with the path of the part."""
    is_opaque: bool = False
    """The file has no text that can be read here, but a model that reads files can read it."""


class UnreadFile(Exception):  # noqa: N818 - not a failure: the file is read, and the translation starts again
    """A file must be read before the request can be translated."""

    def __init__(self, part: InputFile, form: Form) -> None:
        super().__init__(form)
        self.part = part
        self.form: Form = form


class ReadFiles:
    """The files of one request, by part and form. Empty at first."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Form], ReadFile] = {}
        self.used = 0
        """How many times a file was found: higher than before if what was translated contains
        files.
        """

    def add(self, file: ReadFile, form: Form) -> None:
        """Add a file that was read in this form, or that is unreadable."""
        self._known[id(file.part), form] = file

    def has(self, part: InputFile, form: Form) -> bool:
        """Whether the file was read in this form."""
        return (id(part), form) in self._known

    def find(self, part: InputFile, form: Form) -> ReadFile:
        """Return a file, possibly with an error. Raises `UnreadFile`."""
        found = self._known.get((id(part), form))
        if found is None:
            raise UnreadFile(part, form)
        self.used += 1
        return found


NONE_READ = ReadFiles()
"""What a request begins with."""
