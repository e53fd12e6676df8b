"""Workbooks: xlsx. Each sheet becomes CSV, followed by what is not in its cells."""

import re
import zipfile
from collections.abc import Mapping, Sequence

from antiphon.documents.extraction import archive, markup, number_formats
from antiphon.documents.extraction.cells import FOOTERS, HEADERS, Cells, Workbook
from antiphon.documents.extraction.charts import related, write_related_charts
from antiphon.documents.extraction.markup import Attributes
from antiphon.documents.extraction.output import Output
from antiphon.documents.extraction.slides import write_paragraphs

_WORKBOOK = "xl/workbook.xml"
_CODES = re.compile(r'&(?:"[^"]*"|\d+|K[0-9A-Fa-f]{6}|.)', re.DOTALL)
"""Fonts, sizes, colours, positions, and fields of headers and footers."""


def read_xlsx(content: bytes, output: Output) -> None:
    """Write each sheet of a workbook: its name, its rows as CSV, then headers, comments, text boxes
    and charts.
    """
    with archive.opened(content) as opened:
        places = related(opened, _WORKBOOK)
        sheets, is_1904 = _sheets(opened)
        workbook = Workbook(_strings(opened, places), _styles(opened, places), is_1904)
        found = [(name, places[one]) for name, one in sheets if one in places]
        output.pages = len(found)
        for name, place in found:
            output.mark(f"## Sheet: {name}\n\n")
            _write_sheet(opened, place, workbook, output)
            output.write("\n")


def _sheets(opened: zipfile.ZipFile) -> tuple[list[tuple[str, str]], bool]:
    """Return the names of the sheets with the ids of their parts, and whether days are counted from
    1904.
    """
    found: list[tuple[str, str]] = []
    is_1904 = False

    def start(element: str, attributes: Attributes) -> None:
        nonlocal is_1904
        if element == "sheet":
            found.append((attributes.get("name", ""), attributes.get("id", "")))
        elif element == "workbookPr":
            is_1904 = attributes.get("date1904", "") in ("1", "true")

    markup.parse(archive.parts(opened, _WORKBOOK), start, markup.ignore, markup.ignore)
    return found, is_1904


def _place(places: dict[str, str], ending: str) -> str:
    return next((place for place in places.values() if place.lower().endswith(ending.lower())), "")


def _strings(opened: zipfile.ZipFile, places: dict[str, str]) -> Sequence[str]:
    """Return the texts that cells refer to by their number."""
    place = _place(places, "sharedStrings.xml")
    return [text for _, text in _texts(opened, place, "si")] if place in opened.namelist() else []


def _texts(opened: zipfile.ZipFile, place: str, whole: str) -> Sequence[tuple[str, str]]:
    """Return the text of each element `whole` of a part, with its reference to a cell."""
    found: list[tuple[str, str]] = []
    parts: list[str] = []
    reference = ""
    is_text = False
    phonetic = 0

    def start(element: str, attributes: Attributes) -> None:
        nonlocal is_text, phonetic, reference
        if element == whole:
            parts.clear()
            reference = attributes.get("ref", "")
        phonetic += element == "rPh"
        is_text = element == "t" and not phonetic

    def end(element: str) -> None:
        nonlocal is_text, phonetic
        is_text = False
        phonetic -= element == "rPh"
        if element == whole:
            found.append((reference, markup.unescaped("".join(parts))))

    def text(content: str) -> None:
        if is_text:
            parts.append(content)

    markup.parse(archive.parts(opened, place), start, end, text)
    return found


def _styles(opened: zipfile.ZipFile, places: dict[str, str]) -> Mapping[int, str]:
    """Return the numbers of the cell styles that show a number as a date, a time or a duration, and
    as which.
    """
    formats: dict[int, str] = {}
    styles: list[int] = []
    is_cell_style = False

    def start(element: str, attributes: Attributes) -> None:
        nonlocal is_cell_style
        if element == "numFmt":
            formats[_number(attributes.get("numFmtId", ""))] = number_formats.kind_of(
                attributes.get("formatCode", "")
            )
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
        markup.parse(archive.parts(opened, place), start, end, markup.ignore)
    kinds = (
        (n, formats.get(style, number_formats.BUILT_IN.get(style, "")))
        for n, style in enumerate(styles)
    )
    return {n: kind for n, kind in kinds if kind}


def _write_sheet(opened: zipfile.ZipFile, place: str, workbook: Workbook, output: Output) -> None:
    names = set(opened.namelist())
    if place not in names:
        return
    cells = Cells(workbook, output)
    markup.parse(archive.parts(opened, place), cells.start, cells.end, cells.text)
    cells.finish()
    for what, elements in (("Header", HEADERS), ("Footer", FOOTERS)):
        for text in dict.fromkeys(
            _plain(cells.margins[name]) for name in sorted(elements & cells.margins.keys())
        ):
            output.write(f"{what}: {text}\n" if text else "")
    for target in related(opened, place).values():
        if target in names and "/comments" in target:
            for reference, text in _texts(opened, target, "comment"):
                output.write(f"Comment on {reference}: {text}\n")
        elif target in names and "/drawings/drawing" in target:
            write_paragraphs(opened, target, output)
            write_related_charts(opened, target, output)
            for part in related(opened, target).values():
                if "/diagrams/data" in part and part in names:
                    write_paragraphs(opened, part, output)


def _plain(margin: str) -> str:
    """Return the text of a header or footer without its codes."""
    return " ".join(_CODES.sub(lambda code: "&" if code[0] == "&&" else " ", margin).split())


def _number(text: str) -> int:
    """Return a number in an attribute, -1 for anything else."""
    return int(text) if text.isdecimal() and len(text) < 10 else -1
