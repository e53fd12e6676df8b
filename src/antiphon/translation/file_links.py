"""Citations of files that code created in a container (specification section 5, Annotation).

Models link to such a file by its path, with the scheme `sandbox:` before it. The link stays in the
text, and the citation covers its destination.

| In the text | Cited |
|---|---|
| `[name](sandbox:/mnt/data/a.png)`, also as an image, with more slashes or percent-encoded | the destination |
| `sandbox:/mnt/data/a.png` outside of a link, in code too | all of it |
| `[name](/mnt/data/a.png)` or `[name](file:///mnt/data/a.png)` | the destination |
| `/mnt/data/a.png` outside of a link | not: it is as often a path in an explanation or in code |
| a path without a file that code created | not |
"""  # noqa: E501 - a table, a diagram or an example

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any
from urllib.parse import unquote

from antiphon.protocol.sources import CreatedFile

_BEGIN = re.compile(
    r"(?:sandbox:|(?<=\()<?(?:file:)?(?=/)|(?<=\(<)(?:file:)?(?=/))/{0,3}(?=mnt/data/)"
)
"""What precedes the path: a scheme, or the parenthesis that begins a link's destination."""

_SPLIT = re.compile(r"[\s<>\"'`()\[\]{}|\\]")
_END = re.compile(rf"{_SPLIT.pattern}|\Z")
"""Characters that end a path, unless the name of a file has such a character."""

AFTER = ".,;:!?*_~"
"""What can follow a path directly without being part of it."""

FOLDER = "/mnt/data/"

LONGEST = 3 * 255
"""Characters of a path below the folder, percent-encoded."""

MOST_AFTER = 4
"""Characters of `AFTER` that can follow a path."""

MOST_LINKS = 200
"""Links of a text that are checked: a model can write any number of them."""


class FileLinks:
    """Finds the citations in the texts of one answer. A figure without a link in any text is cited
    by the first text.
    """

    def __init__(self, files: Sequence[CreatedFile]) -> None:
        self._files = {file.path.removeprefix(FOLDER): file for file in files}
        self._figures = [file for file in files if file.is_figure]
        self._lengths = sorted({len(name) for name in self._files if _SPLIT.search(name)})
        """Names that a path in a text does not end after."""

    def annotations(self, text: str) -> list[dict[str, Any]]:
        """Return the citations of a whole text: of figures that were only shown, then of files in
        their order.
        """
        linked = [(file, start, end) for start, end, file in self._links(text)]
        known = {file.file_id for file, _, _ in linked}
        figures = self._figures
        self._figures = []
        displayed = [
            _citation(file, 0, 0, f"{file.file_id}.png")
            for file in figures
            if file.file_id not in known
        ]
        return [
            *displayed,
            *(_citation(file, start, end, file.filename) for file, start, end in linked),
        ]

    def _links(self, text: str) -> list[tuple[int, int, CreatedFile]]:
        found = []
        if FOLDER.strip("/") not in text:
            return []
        for begin in islice(_BEGIN.finditer(text), MOST_LINKS):
            start = begin.start() + begin[0].startswith("<")
            name_at = begin.end() + len(FOLDER) - 1
            name = self._name_at(text, name_at)
            if name:
                found.append((start, name_at + len(name), self._file(name)))
        return found

    def _name_at(self, text: str, at: int) -> str:
        """Return the name in the text, empty if it is not that of a file."""
        end = _END.search(text, at, at + LONGEST)
        name = text[at : end.start() if end else len(text)]
        for _ in range(MOST_AFTER):
            if self._is_known(name) or name[-1:] not in AFTER:
                break
            name = name[:-1]
        # A name can contain spaces and parentheses.
        longer = [
            each
            for size in self._lengths
            if size > len(name) and (each := text[at : at + size]) in self._files
        ]
        return max(longer, key=len, default=name if self._is_known(name) else "")

    def _is_known(self, name: str) -> bool:
        return name in self._files or unquote(name) in self._files

    def _file(self, name: str) -> CreatedFile:
        return self._files[name] if name in self._files else self._files[unquote(name)]


def _citation(file: CreatedFile, start: int, end: int, filename: str) -> dict[str, Any]:
    return {
        "type": "container_file_citation",
        "container_id": file.container_id,
        "file_id": file.file_id,
        "filename": filename,
        "start_index": start,
        "end_index": end,
    }
