"""The cells of a sheet of a workbook, as lines of CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from antiphon.documents.extraction import number_formats
from antiphon.documents.extraction.markup import Attributes, unescaped
from antiphon.documents.extraction.output import Output

MOST_POSSIBLE = 16_384
"""Columns of a sheet in Excel: a cell that claims to be further right is placed after the one
before it.
"""

HEADERS = frozenset({"oddHeader", "evenHeader", "firstHeader"})
FOOTERS = frozenset({"oddFooter", "evenFooter", "firstFooter"})
MARGINS = HEADERS | FOOTERS


@dataclass(frozen=True, slots=True)
class Workbook:
    """What the cells of all sheets refer to: texts and styles, by their numbers."""

    strings: Sequence[str]
    styles: Mapping[int, str]
    """The styles that show a number as a date, a time or a duration (`number_formats.kind_of`)."""
    is_1904: bool
    """Days are counted from 1904 instead of 1900."""


class Cells:
    """Converts events of SpreadsheetML to lines of CSV."""

    def __init__(self, workbook: Workbook, output: Output) -> None:
        self._workbook = workbook
        self._output = output
        self.margins: dict[str, str] = {}
        """The headers and footers, with their codes."""
        self._rows = self._columns = 0
        """Rows with content, and the number of the last column with content."""
        self._cells: list[str] = []
        self._is_blank = True
        """The row has no content so far, also beyond the last column that is read."""
        self._reference = ""
        self._column = 0
        self._type = "n"
        self._style = 0
        self._value: list[str] = []
        self._formula: list[str] = []
        self._shared = ""
        self._formulas: dict[str, tuple[str, str]] = {}
        """The formulas that several cells share: the first cell, and its formula."""
        self._retained: list[str] | None = None
        """What the present text belongs to."""

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "c":
            self._reference = attributes.get("r", "")
            column = _column(self._reference)
            self._column = column if 0 < column <= MOST_POSSIBLE else self._column + 1
            self._type = attributes.get("t", "n")
            style = attributes.get("s", "0")
            self._style = int(style) if style.isdecimal() and len(style) < 10 else -1
            self._value = []
            self._formula = []
            self._shared = ""
        elif name in ("v", "t"):
            self._retained = self._value
        elif name == "f":
            self._retained, self._shared = self._formula, attributes.get("si", "")
        elif name == "row":
            self._cells = []
            self._column = 0
            self._is_blank = True
        elif name in MARGINS:
            self._retained = []

    def end(self, name: str) -> None:
        if name == "c":
            self._end_cell()
        elif name == "row" and not self._is_blank:
            self._rows += 1
            if self._output.bounds.rows is None or self._rows <= self._output.bounds.rows:
                self._output.write(_line(self._cells))
        elif name in MARGINS and self._retained:
            self.margins[name] = "".join(self._retained)
        if name in ("v", "t", "f") or name in MARGINS:
            self._retained = None

    def text(self, text: str) -> None:
        if self._retained is not None:
            self._retained.append(text)

    def finish(self) -> None:
        """Say how much of the sheet is omitted."""
        rows = self._output.bounds.rows
        columns = self._output.bounds.columns
        if rows is not None and self._rows > rows:
            self._output.leave_out("rows", rows, self._rows)
        if columns is not None and self._columns > columns:
            self._output.leave_out("columns", columns, self._columns)

    def _end_cell(self) -> None:
        value = "".join(self._value) if self._value else self._written_formula()
        if not value:
            return
        self._is_blank = False
        self._columns = max(self._columns, self._column)
        bounds = self._output.bounds
        if (bounds.columns is None or self._column <= bounds.columns) and (
            bounds.rows is None or self._rows < bounds.rows
        ):
            self._cells += [""] * (self._column - len(self._cells))
            self._cells[self._column - 1] = self._formatted(value) if self._value else value

    def _written_formula(self) -> str:
        """Return the formula of a cell without a value; one that is shared is written in its first
        cell only.
        """
        formula = "".join(self._formula)
        if formula and self._shared:
            self._formulas[self._shared] = self._reference, formula
        if formula and self._type != "str":  # an empty text is a value
            return f"={formula}"
        if self._shared in self._formulas and self._type != "str":
            first, formula = self._formulas[self._shared]
            return f"(formula of {first}: ={formula})"
        return ""

    def _formatted(self, value: str) -> str:
        if self._type == "s":
            place = int(value) if value.isdecimal() and len(value) < 10 else -1
            return self._workbook.strings[place] if 0 <= place < len(self._workbook.strings) else ""
        if self._type == "b":
            return "TRUE" if value == "1" else "FALSE"
        if self._type in ("str", "inlineStr"):
            return unescaped(value)
        if self._type == "n" and (kind := self._workbook.styles.get(self._style)):
            return number_formats.formatted(value, kind, is_1904=self._workbook.is_1904)
        return value


def _line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _column(reference: str) -> int:
    """Return the number of a cell's column, from 1: `C7` is in the third. 0 if the cell does not
    state it.
    """
    letters = reference.rstrip("0123456789")[:4].upper()
    if not (letters.isascii() and letters.isalpha()):
        return 0
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number
