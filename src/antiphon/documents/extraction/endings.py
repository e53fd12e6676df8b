"""The meaning of file name extensions. The parent process reads this table too."""

from collections.abc import Mapping
from pathlib import PurePosixPath

NAMES: Mapping[str, str] = {
    ".pdf": "pdf", ".docx": "docx", ".docm": "docx", ".pptx": "pptx", ".pptm": "pptx", ".xlsx": "xlsx",  # noqa: E501 - one text, or a row of a table
    ".xlsm": "xlsx", ".odt": "odt", ".rtf": "rtf", ".html": "html", ".htm": "html", ".xhtml": "html",  # noqa: E501 - one text, or a row of a table
    ".csv": "csv", ".tsv": "csv", ".iif": "csv",
    ".doc": "unsupported", ".ppt": "unsupported", ".xls": "unsupported", ".xlsb": "unsupported",
    ".ods": "unsupported", ".odp": "unsupported", ".pages": "unsupported", ".numbers": "unsupported",  # noqa: E501 - one text, or a row of a table
    ".key": "unsupported", ".epub": "unsupported",
}  # fmt: skip
"""Extensions that do not mean plain text. Every other file is text if it can be decoded."""

BY_NAME = frozenset({"text", "html", "csv"})
"""Kinds of files without characteristic first bytes: their extension decides."""


def ending_of(filename: str) -> str:
    """Return the extension of a name with its dot, in lower case."""
    return PurePosixPath(filename.lower()).suffix


def is_as_named(kind: str, filename: str) -> bool:
    """Whether a file with this name would be read as this kind: the same bytes can have several
    names.
    """
    return kind not in BY_NAME or NAMES.get(ending_of(filename), "text") == kind
