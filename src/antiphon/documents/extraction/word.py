"""Text documents: docx and odt."""

import re
import zipfile
from collections.abc import Iterable
from functools import partial

from antiphon.documents.extraction import archive, charts, markup
from antiphon.documents.extraction.markup import Attributes
from antiphon.documents.extraction.output import Output
from antiphon.documents.extraction.problem import protected
from antiphon.documents.extraction.slides import write_paragraphs

MOST_REPEATED = 100
"""Spaces that one element of an odt can represent."""


_HEADERS = re.compile(r"word/header\d*\.xml")
_FOOTERS = re.compile(r"word/footer\d*\.xml")
_CHARTS = re.compile(r"word/charts/chart\d*\.xml")
_DIAGRAMS = re.compile(r"word/diagrams/data\d*\.xml")


def read_docx(content: bytes, output: Output) -> None:
    """Write the text of a docx: headers, paragraphs, tables, charts, diagrams, notes, comments,
    footers.
    """
    with archive.opened(content) as opened:
        names = sorted(opened.namelist(), key=lambda name: (len(name), name))
        _write_once(opened, filter(_HEADERS.fullmatch, names), output, "Header: ")
        _write_docx(opened, "word/document.xml", output)
        for name in filter(_CHARTS.fullmatch, names):
            charts.write_chart(opened, name, output)
        for name in filter(_DIAGRAMS.fullmatch, names):
            write_paragraphs(opened, name, output)
        for name in ("word/footnotes.xml", "word/endnotes.xml"):
            _write_docx(opened, name, output)
        _write_once(opened, ["word/comments.xml"], output, "Comments: ")
        _write_once(opened, filter(_FOOTERS.fullmatch, names), output, "Footer: ")


def _write_docx(opened: zipfile.ZipFile, name: str, output: Output) -> None:
    if name in opened.namelist():
        reader = _Docx(output)
        markup.parse(archive.parts(opened, name), reader.start, reader.end, reader.text)


def _write_once(opened: zipfile.ZipFile, names: Iterable[str], output: Output, what: str) -> None:
    """Write each different text of these parts: sections repeat their headers and footers."""
    written = {""}
    for name in names:
        text = output.apart(partial(_write_docx, opened, name)).strip()
        if text not in written:
            written.add(text)
            output.mark(what)
            output.write(text + "\n\n")


def read_odt(content: bytes, output: Output) -> None:
    """Write the text of an odt."""
    with archive.opened(content) as opened:
        if _is_encrypted(opened):
            raise protected("document")
        for name in (
            "styles.xml",
            "content.xml",
        ):  # the styles of pages have the headers and footers
            reader = _Odt(output)
            if name in opened.namelist():
                markup.parse(archive.parts(opened, name), reader.start, reader.end, reader.text)


def _is_encrypted(opened: zipfile.ZipFile) -> bool:
    return b"encryption-data" in archive.read(opened, "META-INF/manifest.xml", archive.SMALL)


class _Docx:
    """Converts events of WordprocessingML to text."""

    SKIPPED = frozenset({"Fallback", "del", "moveFrom", "instrText", "pPrChange", "rPrChange"})
    """Content that a reader does not see: alternative forms, deleted text, and the code of
    fields.
    """

    def __init__(self, output: Output) -> None:
        self._write = output.write
        self._skipped = 0
        self._is_text = False
        self._cells = 0
        """Table cells around the current position: their paragraphs end with a space, and inner
        tables are text.
        """

    def start(self, name: str, attributes: Attributes) -> None:
        if self._skipped or name in self.SKIPPED:
            self._skipped += 1
        elif name == "t":
            self._is_text = True
        elif name == "tab":
            self._write("\t")
        elif name in ("br", "cr"):
            self._write(" " if self._cells else "\n")
        elif name == "pStyle" and (level := _heading(attributes.get("val", ""))):
            self._write("#" * level + " ")
        elif name == "numPr":
            self._write("- ")
        elif name == "txbxContent":
            self._write(" " if self._cells else "\n")
        elif name == "noBreakHyphen":
            self._write("-")
        elif name == "tc":
            self._cells += 1
            self._write("| " if self._cells == 1 else "")

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif name == "t":
            self._is_text = False
        elif name == "p":
            self._write(" " if self._cells else "\n\n")
        elif name == "tc":
            self._cells -= 1
            self._write("; " if self._cells else "")
        elif name == "tr":
            self._write(" " if self._cells else "|\n")
        elif name == "tbl":
            self._write(" " if self._cells else "\n")

    def text(self, text: str) -> None:
        if self._is_text and not self._skipped:
            self._write(text)


class _Odt:
    """Converts events of OpenDocument to text."""

    SKIPPED = frozenset(
        {"tracked-changes", "forms", "styles", "automatic-styles", "font-face-decls", "scripts"}
    )

    def __init__(self, output: Output) -> None:
        self._write = output.write
        self._skipped = 0
        self._paragraphs = 0
        self._cells = 0

    def start(self, name: str, attributes: Attributes) -> None:
        if self._skipped or name in self.SKIPPED:
            self._skipped += 1
        elif name in ("p", "h"):
            self._paragraphs += 1
            if name == "h" and (level := attributes.get("outline-level", "1")).isdecimal():
                self._write("#" * min(6, int(level)) + " ")
        elif name == "s":
            count = attributes.get("c", "1")
            self._write(" " * (min(MOST_REPEATED, int(count)) if count.isdecimal() else 1))
        elif name == "tab":
            self._write("\t")
        elif name == "line-break":
            self._write(" " if self._cells else "\n")
        elif name == "list-item":
            self._write("- ")
        elif name == "note-body":
            self._write(" ")
        elif name == "annotation":
            self._write(" [Comment: ")
        elif name == "table-cell":
            self._cells += 1
            self._write("| " if self._cells == 1 else "")

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        elif name in ("p", "h"):
            self._paragraphs -= 1
            self._write(" " if self._cells else "\n\n")
        elif name == "annotation":
            self._write("] ")
        elif name == "table-cell":
            self._cells -= 1
            self._write("; " if self._cells else "")
        elif name == "table-row":
            self._write(" " if self._cells else "|\n")

    def text(self, text: str) -> None:
        if self._paragraphs and not self._skipped:
            self._write(text)


def _heading(style: str) -> int:
    """Return the level of a heading by the name of its style, 0 for other paragraphs: `Heading2`,
    `berschrift2`.
    """
    kind = style[:-1].lower()
    level = style[-1:]
    if style.lower() == "title":
        return 1
    is_heading = kind.rstrip(" ") in {"heading", "berschrift", "überschrift", "titre"}
    return min(6, int(level)) if is_heading and level.isdecimal() and level != "0" else 0
