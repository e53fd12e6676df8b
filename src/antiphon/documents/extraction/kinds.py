"""Detects the kind of a file: from its first bytes, then from its name."""

import re
import zipfile

from antiphon.documents.extraction import archive
from antiphon.documents.extraction.endings import NAMES, ending_of
from antiphon.documents.extraction.problem import Problem, damaged, protected

MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"{\\rtf", "rtf"),
    (b"\xff\xfe", "text"),
    (b"\xfe\xff", "text"),
    (b"\xef\xbb\xbf", "text"),
)
"""First bytes of supported formats. A ZIP archive is examined, and a PDF can begin later."""

BINARY: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"\x1f\x8b", "a compressed file"),
    (b"7z\xbc\xaf", "an archive"),
    (b"Rar!", "an archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"ID3", "a recording"),
    (b"OggS", "a recording"),
    (b"fLaC", "a recording"),
    (b"SQLite format 3\0", "a database"),
)
"""First bytes of files that contain no text."""

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""Begins `.doc`, `.xls` and `.ppt`, and a modern document that is encrypted."""
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")

INSIDE: tuple[tuple[str, str], ...] = (
    ("word/document.xml", "docx"),
    ("ppt/presentation.xml", "pptx"),
    ("xl/workbook.xml", "xlsx"),
)
"""A file inside a ZIP archive, and the document that has it."""

OPEN_DOCUMENT = b"application/vnd.oasis.opendocument.text"

BINARY_KINDS = {"pdf": "PDF", "docx": "Word document", "pptx": "presentation", "xlsx": "workbook",
                "odt": "OpenDocument text", "rtf": "RTF document"}  # fmt: skip
"""Formats with characteristic first bytes: a name alone does not identify them."""

SUPPORTED = (
    "PDF, docx, pptx, xlsx, odt, HTML, RTF, CSV, Markdown, JSON, XML, source code and plain text"
)

_HTML = re.compile(
    rb"\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)


def kind_of(content: bytes, filename: str) -> str:
    """Return the kind of a file, a key of `formats.FORMATS`.

    Raises `Problem` for an unsupported one.
    """
    ending = ending_of(filename)
    if b"%PDF-" in content[:1024]:
        return "pdf"
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _kind_of_archive(content)
    if content.startswith(OLE):
        if ENCRYPTED in content:
            raise protected("document")
        raise unsupported("an old Office document", "Save it as docx, pptx or xlsx.")
    named = NAMES.get(ending, "text")
    found = next((kind for magic, kind in MAGIC if content.startswith(magic)), None)
    if found is not None:
        return named if found == "text" and named in ("html", "csv") else found
    for magic, what in BINARY:
        if content.startswith(magic):
            raise unsupported(what, "Send an image as `input_image`." if what == "an image" else "")
    if named == "unsupported":
        raise unsupported(f"a '{ending}' file")
    if named in BINARY_KINDS:
        raise damaged(BINARY_KINDS[named])
    return "html" if named == "text" and not ending and _HTML.match(content) else named


def _kind_of_archive(content: bytes) -> str:
    with archive.opened(content) as opened:
        names = set(opened.namelist())
        for name, kind in INSIDE:
            if name in names:
                return kind
        if "mimetype" in names and _mimetype(opened).startswith(OPEN_DOCUMENT):
            return "odt"
    raise unsupported("an archive", "Send the files in it one by one.")


def _mimetype(opened: zipfile.ZipFile) -> bytes:
    return archive.read(opened, "mimetype", 200)


def unsupported(what: str, hint: str = "") -> Problem:
    """Return the problem of a file in an unsupported format."""
    rest = f" {hint}" if hint else ""
    return Problem(
        f"The file is {what}, which cannot be read.{rest} Supported: {SUPPORTED}.",
        "unsupported_file",
    )
