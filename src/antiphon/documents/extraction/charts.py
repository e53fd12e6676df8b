"""Charts of documents: their titles, and their data as a table."""

import zipfile
from collections.abc import Mapping, Sequence
from posixpath import basename, dirname, join, normpath

from antiphon.documents.extraction import archive, markup
from antiphon.documents.extraction.markup import Attributes
from antiphon.documents.extraction.output import Output

PARTS = ("tx", "cat", "xVal", "val", "yVal", "bubbleSize")
"""The parts of a series: its name, and the texts or numbers of its points."""


def write_chart(opened: zipfile.ZipFile, place: str, output: Output) -> None:
    """Write a chart: a column for the categories, one for each series."""
    chart = _Chart()
    markup.parse(archive.parts(opened, place), chart.start, chart.end, chart.text)
    if not chart.titles and not chart.series:
        return
    output.mark("Chart:")
    output.write(" " + " · ".join(chart.titles) + "\n")
    for row in chart.rows():
        output.write("| " + " | ".join(cell.replace("\n", " ") for cell in row) + " |\n")
    output.write("\n")


def write_related_charts(opened: zipfile.ZipFile, place: str, output: Output) -> None:
    """Write the charts that a part of a document refers to."""
    names = set(opened.namelist())
    for target in related(opened, place).values():
        if "/charts/chart" in target and target in names:
            write_chart(opened, target, output)


def related(opened: zipfile.ZipFile, name: str) -> dict[str, str]:
    """Return the other parts that a part of a document refers to, by the id of the reference."""
    found: dict[str, str] = {}

    def start(element: str, attributes: Attributes) -> None:
        if element == "Relationship" and attributes.get("TargetMode") != "External":
            target = attributes.get("Target", "")
            place = target[1:] if target.startswith("/") else normpath(join(dirname(name), target))
            found[attributes.get("Id", "")] = place

    rels = join(dirname(name), "_rels", f"{basename(name)}.rels")
    if rels in opened.namelist():
        markup.parse(archive.parts(opened, rels), start, markup.ignore, markup.ignore)
    return found


class _Chart:
    """Collects the titles and the series of a chart."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.series: list[dict[str, dict[int, str]]] = []
        """For each series the points of each part, by their number."""
        self._part = ""
        self._point = 0
        self._retained: list[str] | None = None
        """The text of the present value or title."""

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "ser":
            self.series.append({})
        elif name in PARTS and self.series:
            self._part = name
            self._point = 0
        elif name == "pt":
            index = attributes.get("idx", "")
            self._point = int(index) if index.isdecimal() and len(index) < 10 else 0
        elif name in ("v", "t"):
            self._retained = []

    def end(self, name: str) -> None:
        if name == "ser" or name == self._part:
            self._part = ""
        elif name in ("v", "t") and self._retained is not None:
            text = "".join(self._retained).strip()
            self._retained = None
            if text and name == "t":
                self.titles.append(text)
            elif text and self._part:
                self.series[-1].setdefault(self._part, {})[self._point] = text

    def text(self, text: str) -> None:
        if self._retained is not None:
            self._retained.append(text)

    def rows(self) -> Sequence[Sequence[str]]:
        """Return the table with its head: the points of all series, each by its number."""
        columns: list[tuple[str, Mapping[int, str]]] = []
        for one in self.series:
            name = next(iter(one.get("tx", {}).values()), "")
            for part in PARTS[1:]:
                points = one.get(part, {})
                is_shared = part in ("cat", "xVal") and any(points == other for _, other in columns)
                if points and not is_shared:
                    columns.append(("" if part in ("cat", "xVal") else name, points))
        numbers = sorted({number for _, points in columns for number in points})
        table = [[name for name, _ in columns]] if columns else []
        return table + [[points.get(number, "") for _, points in columns] for number in numbers]
