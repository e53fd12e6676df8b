"""Workbooks: xlsx. Each sheet becomes CSV, limited to its first rows."""

import csv
import io
import re
import zipfile
from collections.abc import Sequence
from datetime import datetime, timedelta

from antiphon.documents.extraction import archive, markup
from antiphon.documents.extraction.markup import Attributes
from antiphon.documents.extraction.output import Output
from antiphon.documents.extraction.slides import related
from antiphon.documents.extraction.tables import MOST_ROWS, left_out

MOST_COLUMNS = 1_000
"""Columns of a row; cells further right are omitted."""

_WORKBOOK = "xl/workbook.xml"
_DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
"""Numbers of the built-in formats that show a date or a time."""
_QUOTED = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_DAY_ZERO = datetime(1899, 12, 30)
_LAST_DAY = 2_958_465
"""31 December 9999."""


def read_xlsx(content: bytes, output: Output) -> None:
    """Write each sheet of a workbook: its name, and its rows as CSV."""
    with archive.opened(content) as opened:
        places = related(opened, _WORKBOOK)
        strings = _strings(opened, places)
        dates = _date_styles(opened, places)
        sheets = [(name, places[one]) for name, one in _sheets(opened) if one in places]
        output.pages = len(sheets)
        for name, place in sheets:
            output.mark(f"## Sheet: {name}\n\n")
            _write_sheet(opened, place, strings, dates, output)
            output.write("\n")


def _sheets(opened: zipfile.ZipFile) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []

    def start(element: str, attributes: Attributes) -> None:
        if element == "sheet":
            found.append((attributes.get("name", ""), attributes.get("id", "")))

    markup.parse(archive.parts(opened, _WORKBOOK), start, _nothing, _nothing)
    return found


def _place(places: dict[str, str], ending: str) -> str:
    return next((place for place in places.values() if place.lower().endswith(ending.lower())), "")


def _strings(opened: zipfile.ZipFile, places: dict[str, str]) -> Sequence[str]:
    """Return the texts that cells refer to by their number."""
    found: list[str] = []
    parts: list[str] = []
    is_text, phonetic = False, 0

    def start(element: str, attributes: Attributes) -> None:
        nonlocal is_text, phonetic
        if element == "si":
            parts.clear()
        phonetic += element == "rPh"
        is_text = element == "t" and not phonetic

    def end(element: str) -> None:
        nonlocal is_text, phonetic
        is_text = False
        phonetic -= element == "rPh"
        if element == "si":
            found.append("".join(parts))

    def text(content: str) -> None:
        if is_text:
            parts.append(content)

    place = _place(places, "sharedStrings.xml")
    if place in opened.namelist():
        markup.parse(archive.parts(opened, place), start, end, text)
    return found


def _date_styles(opened: zipfile.ZipFile, places: dict[str, str]) -> frozenset[int]:
    """Return the numbers of the cell styles that show a number as a date or a time."""
    formats: dict[int, bool] = {}
    styles: list[int] = []
    is_cell_style = False

    def start(element: str, attributes: Attributes) -> None:
        nonlocal is_cell_style
        if element == "numFmt":
            code = _QUOTED.sub("", attributes.get("formatCode", "")).lower()
            formats[_number(attributes.get("numFmtId", ""))] = any(sign in code for sign in "ymdhs")
        elif element == "cellXfs":
            is_cell_style = True
        elif element == "xf" and is_cell_style:
            styles.append(_number(attributes.get("numFmtId", "")))

    def end(element: str) -> None:
        nonlocal is_cell_style
        if element == "cellXfs":
            is_cell_style = False

    place = _place(places, "styles.xml")
    if place in opened.namelist():
        markup.parse(archive.parts(opened, place), start, end, _nothing)
    return frozenset(n for n, style in enumerate(styles) if formats.get(style, style in _DATE_FORMATS))


def _write_sheet(
    opened: zipfile.ZipFile, place: str, strings: Sequence[str], dates: frozenset[int], output: Output
) -> None:
    sheet = _Sheet(strings, dates, output)
    if place in opened.namelist():
        markup.parse(archive.parts(opened, place), sheet.start, sheet.end, sheet.text)
    if sheet.rows > MOST_ROWS:
        output.mark(left_out(sheet.rows))


class _Sheet:
    """Converts events of SpreadsheetML to lines of CSV."""

    def __init__(self, strings: Sequence[str], dates: frozenset[int], output: Output) -> None:
        self._strings, self._dates, self._output = strings, dates, output
        self.rows = 0
        """Rows with content."""
        self._cells: list[str] = []
        self._column = 0
        self._type = "n"
        self._style = 0
        self._value: list[str] = []
        self._is_value = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "row":
            self._cells, self._column = [], 0
            self._value.clear()
        elif name == "c":
            self._column = _column(attributes.get("r", "")) or self._column + 1
            self._type = attributes.get("t", "n")
            self._style = _number(attributes.get("s", "0"))
            self._value.clear()
        elif name in ("v", "t"):
            self._is_value = True

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            self._is_value = False
        elif name == "c" and self._value and self._column <= MOST_COLUMNS and self.rows < MOST_ROWS:
            self._cells += [""] * (self._column - len(self._cells))
            self._cells[self._column - 1] = self._shown("".join(self._value))
        elif name == "row" and (self._cells or (self.rows >= MOST_ROWS and self._value)):
            self.rows += 1
            if self.rows <= MOST_ROWS:
                self._output.write(_line(self._cells))

    def text(self, text: str) -> None:
        if self._is_value:
            self._value.append(text)

    def _shown(self, value: str) -> str:
        if self._type == "s":
            place = _number(value)
            return self._strings[place] if 0 <= place < len(self._strings) else ""
        if self._type == "b":
            return "TRUE" if value == "1" else "FALSE"
        if self._type == "n" and self._style in self._dates:
            return _date(value)
        return value


def _line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _column(reference: str) -> int:
    """Return the number of a cell's column, from 1: `C7` is in the third. 0 if the cell does not state it."""
    letters = reference.rstrip("0123456789")[:4].upper()
    if not (letters.isascii() and letters.isalpha()):
        return 0
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _date(value: str) -> str:
    try:
        days = float(value)
        if not 0 <= days <= _LAST_DAY:
            return value
        moment = _DAY_ZERO + timedelta(seconds=round(days * 86_400))
    except (ValueError, OverflowError):
        return value
    if days < 1:
        return moment.strftime("%H:%M:%S")
    return moment.strftime("%Y-%m-%d" if days.is_integer() else "%Y-%m-%d %H:%M:%S")


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else -1


def _nothing(*_: object) -> None:
    """Ignore an event."""
