"""The sources that a model can cite, and the annotation of a citation (specification section 5,
Annotation).

The sources of a conversation have one order, and the position of each in it, from 1, is its number.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct


class CitedFile(Struct, frozen=True):
    """A passage of a stored file.

    A citation becomes a `file_citation`, and its mark is removed from the text.
    """

    file_id: str
    filename: str


class CreatedFile(Struct, frozen=True):
    """A file that code created in a container.

    A link to its path becomes a `container_file_citation`.

    A figure that was shown and has no link in the text is cited at 0 to 0.
    """

    container_id: str
    file_id: str
    """`cfile_…`."""
    path: str
    """In the container: the model writes `sandbox:` and this path."""
    filename: str
    is_figure: bool = False
    """The code showed it as a figure."""


Source = str | CitedFile | None
"""One source: the title of a page, a passage of a file, or None for a number that this answer
cannot cite.

A citation of a page becomes a `url_citation` and stays in the text.
"""

Sources = Mapping[str, Source]
"""Sources in the order of their numbers: a page's title by its URL, a passage by a name that no
other passage has.
"""


class SourceNumbers:
    """The numbers of sources while a tool runs: those of the conversation, then those that the tool
    adds.
    """

    def __init__(self, known: Sources) -> None:
        self._numbers = {key: number for number, key in enumerate(known, 1)}
        self.new: dict[str, Source] = {}
        """The sources that the conversation does not have yet, by their keys."""

    def number_of(self, key: str, source: Source) -> int:
        """Return the number of a source; a new one is added at the end."""
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers) + 1
            self.new[key] = source
        return self._numbers[key]


def read_sources(value: Any) -> dict[str, Source]:
    """Return sources from their stored JSON."""
    return msgspec.convert(value or {}, dict[str, str | CitedFile | None])
