"""Files with a word in every place that can hold one, made by the libraries that write such files.

Each function returns a file and, for each place, its words. A word is in one place of one file
only.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from tests.support.documents import docx as docx_by_hand
from tests.support.documents import odt as odt_by_hand
from tests.support.documents import pptx as pptx_by_hand


@dataclass(slots=True)
class Planted:
    """A file, and the words in it by their places."""

    name: str
    content: bytes = b""
    places: dict[str, list[str]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def word(self, place: str) -> str:
        """Return a new word for a place."""
        word = f"planted{next(self._numbers)}in{''.join(filter(str.isalpha, self.name))}"
        self.places.setdefault(place, []).append(word)
        return word

    def words(self, place: str, many: int) -> Sequence[str]:
        """Return new words for a place."""
        return [self.word(place) for _ in range(many)]

    @property
    def all_words(self) -> Sequence[str]:
        """All words of all places."""
        return [word for words in self.places.values() for word in words]


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows, columns, and pages, sheets or slides a file has."""

    rows: int
    columns: int
    pages: int


def csv(size: Size) -> Planted:
    """A table in text."""
    file = Planted("rows.csv")
    lines = [",".join(file.words("row", 2)) for _ in range(size.rows)]
    lines.append(",".join(file.words("column", size.columns)))
    file.content = "\n".join(lines).encode()
    return file


def by_openpyxl(size: Size) -> Planted:
    """A workbook with sheets, comments, headers, formulas without values, and a chart."""
    from openpyxl import Workbook  # noqa: PLC0415 - slow to load, as the others
    from openpyxl.chart import BarChart, Reference  # noqa: PLC0415
    from openpyxl.comments import Comment  # noqa: PLC0415

    file = Planted("openpyxl.xlsx")
    book = Workbook()
    book.remove(book.active)
    for _ in range(size.pages):
        sheet = book.create_sheet(file.word("name of a sheet"))
        for _ in range(size.rows):
            sheet.append(file.words("row", 2))
        sheet.append(file.words("column", size.columns))
        sheet.append([f'=CONCATENATE("{file.word("formula")}", A1)'])
        sheet["A1"].comment = Comment(file.word("comment"), "Ann")
        sheet.oddHeader.center.text = file.word("header")
        sheet.oddFooter.left.text = file.word("footer")
        chart = BarChart()
        chart.title = file.word("title of a chart")
        chart.add_data(Reference(sheet, min_col=1, min_row=1, max_row=2))
        sheet.add_chart(chart, "F1")
    return _saved(file, book.save)


def by_xlsxwriter(size: Size) -> Planted:
    """A workbook with rich texts, a hidden sheet, a text box, and a sheet that is a chart."""
    from xlsxwriter import Workbook  # noqa: PLC0415 - slow to load

    file = Planted("xlsxwriter.xlsx")
    content = io.BytesIO()
    book = Workbook(content)
    for page in range(size.pages):
        sheet = book.add_worksheet(file.word("name of a sheet"))
        for row in range(size.rows):
            sheet.write_row(row, 0, file.words("row", 2))
        sheet.write_row(size.rows, 0, file.words("column", size.columns))
        sheet.write_rich_string(
            size.rows + 1, 0, file.word("rich text"), book.add_format({"bold": True}), " bold"
        )
        sheet.write_formula(size.rows + 2, 0, "=A1", None, file.word("value of a formula"))
        sheet.write_comment(0, 1, file.word("comment"))
        sheet.insert_textbox(4, 4, file.word("text box"))
        sheet.set_header(f"&C&12{file.word('header')} &P")
        sheet.set_footer(f'&L&"Arial"{file.word("footer")}')
        if page:
            sheet.hide()
    charts = book.add_chartsheet("Charts")
    chart = book.add_chart({"type": "bar"})
    assert chart is not None
    chart.add_series(
        {
            "values": f"={file.places['name of a sheet'][0]}!$A$1:$A$2",
            "name": file.word("name of a series"),
        }
    )
    chart.set_title({"name": file.word("title of a chart")})
    charts.set_chart(chart)
    book.close()
    file.content = content.getvalue()
    return file


def by_python_docx(size: Size) -> Planted:
    """A document with headings, lists, nested tables, headers, footers and comments."""
    from docx import Document  # noqa: PLC0415 - slow to load

    file = Planted("python.docx")
    document = Document()
    for _ in range(size.pages):
        document.add_heading(file.word("heading"))
        run = document.add_paragraph(file.word("paragraph")).add_run(f" {file.word('run')}")
        document.add_comment(run, file.word("comment"), author="Ann")
        document.add_paragraph(file.word("list"), style="List Bullet")
        document.add_page_break()
    table = document.add_table(0, 2)
    for _ in range(size.rows):
        for cell in table.add_row().cells:
            cell.text = file.word("row")
    inner = table.add_row().cells[0].add_table(2, 2)
    for row in inner.rows:
        for cell in row.cells:
            cell.text = file.word("nested table")
    section = document.sections[0]
    section.different_first_page_header_footer = True
    for place in ("header", "footer", "first_page_header", "first_page_footer"):
        getattr(section, place).paragraphs[0].text = file.word(place.replace("_", " "))
    return _saved(file, document.save)


def by_python_pptx(size: Size) -> Planted:
    """A presentation with tables, groups, charts and notes."""
    from pptx import Presentation  # noqa: PLC0415 - slow to load
    from pptx.chart.data import CategoryChartData  # noqa: PLC0415
    from pptx.enum.chart import XL_CHART_TYPE  # noqa: PLC0415
    from pptx.util import Inches  # noqa: PLC0415

    file = Planted("python.pptx")
    slides = Presentation()
    inch = Inches(1)
    for number in range(size.pages):
        slide = slides.slides.add_slide(slides.slide_layouts[5])
        slide.shapes.title.text = file.word("title")
        slide.shapes.add_textbox(inch, inch, inch, inch).text_frame.text = file.word("text box")
        slide.notes_slide.notes_text_frame.text = file.word("notes")
        group = slide.shapes.add_group_shape()
        group.shapes.add_textbox(inch, inch, inch, inch).text_frame.text = file.word("group")
        if number:
            continue
        table = slide.shapes.add_table(size.rows, 2, inch, inch, inch, inch).table
        for row in table.rows:
            for cell in row.cells:
                cell.text = file.word("row")
        data = CategoryChartData()
        data.categories = file.words("category of a chart", 2)
        data.add_series(file.word("series of a chart"), (4711.5, 2))
        chart = slide.shapes.add_chart(XL_CHART_TYPE.PIE, inch, inch, inch, inch, data).chart
        chart.chart_title.text_frame.text = file.word("title of a chart")
    return _saved(file, slides.save)


def by_reportlab(size: Size) -> Planted:
    """A PDF with pages, form fields, a comment, a table in a table, and a chart."""
    from reportlab.graphics import renderPDF  # noqa: PLC0415 - slow to load, as the others
    from reportlab.graphics.charts.barcharts import VerticalBarChart  # noqa: PLC0415
    from reportlab.graphics.shapes import Drawing  # noqa: PLC0415
    from reportlab.pdfgen.canvas import Canvas  # noqa: PLC0415
    from reportlab.platypus import Table  # noqa: PLC0415

    file = Planted("reportlab.pdf")
    content = io.BytesIO()
    canvas = Canvas(content)
    for _ in range(size.pages):
        canvas.drawString(72, 800, file.word("page"))
        canvas.showPage()
    canvas.acroForm.textfield(
        name="name", value=file.word("form field"), x=72, y=700, forceBorder=True
    )
    options = file.words("chosen option", 1)
    canvas.acroForm.choice(
        name="choice", value=options[0], options=[*options, "other"], x=72, y=650
    )
    canvas.acroForm.listbox(
        name="list", value=(chosen := file.word("list box")), options=[chosen, "other"], x=72, y=500
    )
    canvas.acroForm.checkbox(name=file.word("checked box"), checked=True, x=72, y=450)
    canvas.textAnnotation(file.word("comment"), (72, 400, 90, 420))
    table = Table([[file.word("cell"), Table([file.words("nested table", 2)])]])
    table.wrapOn(canvas, 500, 200)
    table.drawOn(canvas, 10, 300)
    drawing = Drawing(400, 100)
    chart = VerticalBarChart()
    chart.data, chart.categoryAxis.categoryNames = [(1, 2)], file.words("category of a chart", 2)
    chart.width = 380
    drawing.add(chart)
    renderPDF.draw(drawing, canvas, 72, 100)
    canvas.showPage()
    canvas.save()
    file.content = content.getvalue()
    return file


def html(size: Size) -> Planted:
    """A page with a title, navigation, tables in tables, and a footer."""
    file = Planted("page.html")
    rows = "".join(f"<tr><td>{file.word('row')}</td></tr>" for _ in range(size.rows))
    inner = f"<table><tr><td>{file.word('nested table')}</td></tr></table>"
    file.content = (
        f"<!doctype html><title>{file.word('title')}</title><nav>{file.word('navigation')}</nav>"
        f"<header>{file.word('header')}</header><table>{rows}<tr><td>{inner}</td></tr></table>"
        f"<form>{file.word('form')}</form><aside>{file.word('aside')}</aside><footer>{file.word('footer')}</footer>"
    ).encode()
    return file


def footnotes(_: Size) -> Planted:
    """A Word document with notes, which python-docx does not write."""
    file = Planted("notes.docx")
    notes = {kind: (f"<w:{kind} " f"xmlns:w='w'><w:p><w:r><w:t>{file.word(kind)}</w:t></w:r></w:p></w:{kind}>")  # noqa: E501 - one text, or a row of a table
             for kind in ("footnotes", "endnotes")}  # fmt: skip
    box = f"<w:p><w:r><w:txbxContent><w:p><w:r><w:t>{file.word('text box')}</w:t></w:r></w:p></w:txbxContent></w:r></w:p>"  # noqa: E501 - one text, or a row of a table
    file.content = docx_by_hand(file.word("paragraph"), body=box, **notes)
    return file


def open_document(size: Size) -> Planted:
    """An OpenDocument text with a nested table, a note and a comment."""
    file = Planted("open.odt")
    row = "<table:table-row><table:table-cell>{}</table:table-cell></table:table-row>"
    paragraph = "<text:p>{}</text:p>"
    rows = "".join(row.format(paragraph.format(file.word("row"))) for _ in range(size.rows))
    inner = f"<table:table>{row.format(paragraph.format(file.word('nested table')))}</table:table>"
    comment = f"<office:annotation>{paragraph.format(file.word('comment'))}</office:annotation>"
    note = f"<text:note><text:note-body>{paragraph.format(file.word('footnote'))}</text:note-body></text:note>"  # noqa: E501 - one text, or a row of a table
    body = paragraph.format(f"{file.word('paragraph')}{comment}{note}")
    file.content = odt_by_hand(f"{body}<table:table>{rows}{row.format(inner)}</table:table>")
    return file


def rich_text(size: Size) -> Planted:
    """An RTF with a header, a footer, a note, a comment and a text box."""
    file = Planted("rich.rtf")
    groups = {"header": r"{\header %s\par}", "footer": r"{\footer %s\par}", "footnote": r"{\footnote %s }",  # noqa: E501 - one text, or a row of a table
              "comment": r"{\*\annotation %s }", "text box": r"{\shp{\*\shpinst{\shptxt %s\par}}}"}  # fmt: skip  # noqa: E501 - one text, or a row of a table
    inside = "".join(group % file.word(place) for place, group in groups.items())
    rows = "".join(rf"{file.word('row')}\cell\row " for _ in range(size.rows))
    file.content = rf"{{\rtf1\ansi {inside}{rows}{file.word('paragraph')}\par}}".encode()
    return file


def slides_by_hand(size: Size) -> Planted:
    """Presentations of other programs."""
    file = Planted("slides.pptx")
    file.content = pptx_by_hand(
        *(file.words("slide", 1) for _ in range(size.pages)), notes=file.word("notes")
    )
    return file


def _saved(file: Planted, save: Callable[[io.BytesIO], object]) -> Planted:
    content = io.BytesIO()
    save(content)
    file.content = content.getvalue()
    return file


KINDS: Mapping[str, Callable[[Size], Planted]] = {
    one.__name__: one
    for one in (csv, by_openpyxl, by_xlsxwriter, by_python_docx, by_python_pptx, by_reportlab, html, footnotes,  # noqa: E501 - one text, or a row of a table
                open_document, rich_text, slides_by_hand)
}  # fmt: skip
"""The writers of files, by their names."""
