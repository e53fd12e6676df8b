"""Each format of files becomes text, and what cannot be read says why."""

import io
import sys
import zipfile
from html import unescape

import pytest

from antiphon.documents.extraction import formats
from antiphon.documents.extraction.kinds import OLE
from antiphon.documents.extraction.output import ExtractionBounds
from antiphon.documents.extraction.pdf import images as images_of
from antiphon.documents.extraction.problem import INSTALL, Problem
from antiphon.extras import command
from tests.support.cases import each
from tests.support.documents import (
    A,
    W,
    crowd,
    deep,
    docx,
    docx_bomb,
    entities,
    odt,
    pdf,
    pptx,
    relations,
    text_of_all_kinds,
    xlsx,
    zipped,
)
from tests.support.extras import without

WHOLE = ExtractionBounds(1_000_000)
MOST_ROWS = 50
FIRST_ROWS = ExtractionBounds(1_000_000, rows=MOST_ROWS, columns=4, pages=2)
TEXTS = ["Plain words", "Größe, Maß & Übermut", "人人生而自由", "يولد جميع الناس أحرارا"]


def read(content: bytes, name: str = "", bounds: ExtractionBounds = WHOLE) -> str:
    _, output = formats.read(content, name, bounds)
    return output.content().decode()


def problem(content: bytes, name: str = "") -> tuple[str, str, str]:
    with pytest.raises(Problem) as raised:
        read(content, name)
    return raised.value.code, raised.value.reason, raised.value.message


@each("text", TEXTS)
@each("name", text_of_all_kinds("x"))
def test_every_format_keeps_the_text_in_every_script(name: str, text: str) -> None:
    assert text in unescape(read(text_of_all_kinds(text)[name], name))


@pytest.mark.parametrize("name", text_of_all_kinds("x"))
def test_the_bytes_decide_and_not_the_name(name: str) -> None:
    content = text_of_all_kinds("seen")[name]
    if name.rpartition(".")[2] in ("pdf", "docx", "pptx", "xlsx", "odt", "rtf"):
        assert formats.read(content, "wrong.txt", WHOLE)[0] == name.rpartition(".")[2]


def test_a_word_document_has_headings_lists_tables_and_notes() -> None:
    body = (
        "<w:p><w:pPr><w:pStyle w:val='Heading2'/></w:pPr><w:r><w:t>Head</w:t></w:r></w:p>"
        "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>item</w:t></w:r></w:p>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
        "<w:p><w:r><w:t>one</w:t><w:br/><w:t>two</w:t><w:tab/><w:t>three</w:t></w:r></w:p>"
        "<w:p><w:del><w:r><w:t>unseen</w:t></w:r></w:del></w:p>"
        "<mc:AlternateContent "
        "xmlns:mc='m'><mc:Fallback><w:t>unseen</w:t></mc:Fallback></mc:AlternateContent>"
    )
    notes = "<w:footnotes xmlns:w='w'><w:p><w:r><w:t>a note</w:t></w:r></w:p></w:footnotes>"
    text = read(docx("first", body=body, footnotes=notes))
    assert text == "first\n\n## Head\n\n- item\n\n| a | b |\n\none\ntwo\tthree\n\n\n\na note\n\n"


def test_an_open_document_has_headings_tables_and_blanks() -> None:
    body = (
        "<text:h text:outline-level='2'>Head</text:h><text:p>a<text:s "
        "text:c='3'/>b<text:line-break/>c</text:p>"
        "<table:table><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>"
    )
    assert read(odt(body)) == "## Head\n\na   b\nc\n\n| x |\n"


def test_slides_come_in_their_order_with_their_notes() -> None:
    text = read(pptx(["One", "first"], ["Two"], notes="Say this"))
    assert text == "## Slide 1\n\nOne\nfirst\n\n## Slide 2\n\nTwo\n\nNotes:\nSay this\n\n"


def test_cells_of_a_sheet_stand_in_their_columns_and_dates_are_dates() -> None:
    styles = "<numFmts><numFmt numFmtId='170' formatCode='dd/mm/yyyy'/></numFmts>"
    styles += "<cellXfs><xf numFmtId='0'/><xf numFmtId='170'/><xf numFmtId='22'/></cellXfs>"
    rows = (
        "<row><c r='A1' t='s'><v>1</v></c><c r='C1'><v>2.5</v></c><c r='D1' "
        "t='b'><v>1</v></c></row>"
        "<row><c r='A2' s='1'><v>45292</v></c><c r='B2' s='2'><v>45292.5</v></c><c r='C2' "
        "t='str'><v>a,b</v></c></row>"
    )
    text = read(xlsx({"Sums & more": rows}, strings=["zero", "one"], styles=styles))
    assert (
        text == '## Sheet: Sums & more\n\none,,2.5,TRUE\n2024-01-01,2024-01-01 12:00:00,"a,b"\n\n'
    )


@pytest.mark.parametrize("rows", [MOST_ROWS, MOST_ROWS + 7])
def test_a_sheet_keeps_its_first_rows_and_reports_the_cut(rows: int) -> None:
    table = [[f"row {number}"] for number in range(1, rows + 1)]
    as_csv = "".join(f'"{row[0]}\n",2\n' for row in table)
    for text in (
        read(xlsx({"One": table}), bounds=FIRST_ROWS),
        read(as_csv.encode(), "a.csv", FIRST_ROWS),
    ):
        assert f"row {MOST_ROWS}" in text
        assert f"row {MOST_ROWS + 1}" not in text
        assert (f"[Only the first {MOST_ROWS:,} of {rows:,} rows are shown.]" in text) == (
            rows > MOST_ROWS
        )


def test_empty_rows_of_a_sheet_are_not_counted_as_left_out() -> None:
    rows = [["cell"]] * (MOST_ROWS + 1) + [[]] * 5
    text = read(xlsx({"S": rows}), "a.xlsx", FIRST_ROWS)
    assert f"[Only the first {MOST_ROWS:,} of {MOST_ROWS + 1:,} rows are shown.]" in text


def test_an_rtf_has_no_fonts_and_no_pictures() -> None:
    content = rb"""{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}{\f1\fcharset204 Times;}}{\*\generator unseen}
{\info{\title unseen}}{\pict 00ff}Caf\'e9 \u8211? end\par {\f1 \'cc\'e8\'f0}\line \{x\}\emdash\~y \u-10179?\u-8703?}"""  # noqa: E501 - the lines of a text
    assert (
        read(content) == "Caf\u00e9 \u2013 end\n\n\u041c\u0438\u0440\n{x}\u2014\u00a0y \U0001f601"
    )


def test_a_page_of_html_is_markdown() -> None:
    content = (
        "<h1>Größe</h1><p>See <a href='https://e.example/x'>this</a><script>unseen</script>".encode(
            "cp1252"
        )
    )
    text = read(b"<meta charset=windows-1252>" + content, "a.htm")
    assert text == "# Größe\n\nSee [this](https://e.example/x)\n"


def test_pages_of_a_pdf_are_numbered() -> None:
    assert read(pdf("first", "second")) == "[Page 1]\nfirst\n\n[Page 2]\nsecond\n\n"


@each(
    ("place", "whole"),
    [
        ("header1", "Header: 0123456789\n\nbody\n\n"),
        ("comments", "body\n\nComments: 0123456789\n\n"),
    ],
)
def test_a_part_of_a_docx_beyond_the_limit_is_reported_as_cut(place: str, whole: str) -> None:
    """A header that does not fit must not leave out the body silently, nor a body the comments."""
    part = {place: f"<w:document {W}><w:p><w:r><w:t>0123456789</w:t></w:r></w:p></w:document>"}
    for longest in range(1, len(whole) + 1):
        _, output = formats.read(docx("body", **part), "a.docx", ExtractionBounds(longest))
        assert (output.is_cut, whole.startswith(output.content().decode())) == (
            longest < len(whole),
            True,
        )


def test_a_long_text_is_cut_between_characters() -> None:
    kind, output = formats.read("äöü".encode(), "a.txt", ExtractionBounds(3))
    assert (kind, output.content().decode(), output.is_cut) == ("text", "ä", True)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (
            pdf("secret", encrypted=True),
            "a.pdf",
            "The PDF is protected by a password. Send a copy without a password.",
        ),
        (
            OLE + "EncryptedPackage".encode("utf-16-le"),
            "a.docx",
            "The document is protected by a password.",
        ),
        (odt("", "<x><encryption-data/></x>"), "a.odt", "The document is protected by a password."),
    ],
)
def test_a_file_with_a_password_is_reported(content: bytes, name: str, words: str) -> None:
    code, reason, message = problem(content, name)
    assert (code, reason) == ("invalid_file", "password")
    assert message.startswith(words)


@pytest.mark.parametrize(
    ("content", "name"),
    [(pdf("", ""), "a.pdf"), (docx(), "a.docx"), (b" \n", "a.txt"), (b"", "a.csv"), (pptx([]), "")],
)
def test_a_file_without_text_is_reported(content: bytes, name: str) -> None:
    code, reason, message = problem(content, name)
    assert (code, reason) == ("invalid_file", "no_text")
    assert "contains no text" in message


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"%PDF-1.7\nbroken", "a.pdf", "The file is not a valid PDF"),
        (b"no archive", "a.docx", "The file is not a valid Word document"),
        (b"PK\x03\x04broken", "a.docx", "The file is not a valid ZIP archive"),
        (docx("x")[:-30], "a.docx", "The file is not a valid ZIP archive"),
        (
            zipped({"word/document.xml": "<w:document"}),
            "a.docx",
            "The file is not a valid document",
        ),
        ("Größe".encode("latin-1"), "a.txt", "The file is not text in UTF-8 or UTF-16."),
        (docx_bomb(300 * 2**20), "a.docx", "The file unpacks to more than 200 times its size"),
        (entities(), "a.docx", "The document declares XML entities"),
        (deep(501), "a.docx", "The document nests more than 500 elements"),
        (b"<p>x" + b"<div>" * 300 + b"deep", "a.html", "The page nests more than 200 elements"),
        (b"<html><p>" + b"\1\2\3" * 300, "a.html", "The page has too many control characters"),
        (crowd(5_000), "a.docx", "The file is an archive of more than 5,000 files"),
    ],
)
def test_a_file_that_is_broken_or_a_bomb_is_invalid(content: bytes, name: str, words: str) -> None:
    code, _, message = problem(content, name)
    assert code == "invalid_file"
    assert message.startswith(words)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (OLE + b"\0" * 100, "a.doc"),
        (b"\x89PNG\r\n\x1a\n", "a.pdf"),
        (b"x", "a.ppt"),
        (b"x", "a.xls"),
        (zipped({"a.txt": "x"}), "a.zip"),
        (b"a\0b", "a.bin"),
    ],
)
def test_a_format_that_is_not_read_is_unsupported(content: bytes, name: str) -> None:
    code, _, message = problem(content, name)
    assert code == "unsupported_file"
    assert message.endswith(".")


def test_a_document_within_the_limits_is_read() -> None:
    assert "x" in read(docx("x", body="<w:p>" * 490 + "</w:p>" * 490))


def test_without_the_extra_the_error_is_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert command("files") == INSTALL
    monkeypatch.setitem(sys.modules, "antiphon.documents.extraction.hypertext", None)
    with without("files"):
        for content, name, what in (
            (pdf("A page."), "a.pdf", "PDF files"),
            (b"<p>A</p>", "a.html", "HTML files"),
        ):
            with pytest.raises(
                Problem, match=f"cannot read {what}.*pip install 'antiphon\\[files]'"
            ) as raised:
                read(content, name)
            assert raised.value.code == "unsupported_file"


CODES = ["yyyy-mm-dd", "[h]:mm", "[hh]:mm:ss", "[mm]:ss", "[s]", "[Red]0.00", "h:mm", "mmm"]
STYLES = (
    "<numFmts>"
    + "".join(f"<numFmt numFmtId='{170 + n}' formatCode='{code}'/>" for n, code in enumerate(CODES))
    + "</numFmts><cellXfs>"
    + "".join(f"<xf numFmtId='{170 + n}'/>" for n in range(len(CODES)))
    + "</cellXfs>"
)


def displayed(value: str, style: int = 0, *, is_1904: bool = False) -> str:
    """How a sheet shows a number in one of the styles."""
    content = xlsx(
        {"S": f"<row><c s='{style}'><v>{value}</v></c></row>"}, styles=STYLES, is_1904=is_1904
    )
    return read(content).splitlines()[2]


@each(
    ("value", "style", "is_1904", "words"),
    [
        ("45292", 0, False, "2024-01-01"),
        ("43830", 0, True, "2024-01-01"),
        ("0", 0, True, "1904-01-01"),
        ("1", 0, False, "1900-01-01"),
        ("59", 0, False, "1900-02-28"),
        ("60", 0, False, "1900-02-29"),
        ("61", 0, False, "1900-03-01"),
        ("0.5", 6, True, "12:00:00"),
        ("45292", 7, False, "2024-01-01"),
        ("1.2604166666666667", 1, False, "30:15"),
        ("1.2604166666666667", 2, False, "30:15:00"),
        ("0.0208449074074074", 3, False, "30:01"),
        ("1", 4, False, "86400"),
        ("2.5", 5, False, "2.5"),
        ("-1", 1, False, "-1"),
        ("nan", 1, False, "nan"),
    ],
)
def test_dates_and_durations_are_those_that_excel_shows(
    value: str, style: int, is_1904: bool, words: str
) -> None:
    assert displayed(value, style, is_1904=is_1904) == words


def test_a_built_in_duration_has_its_hours() -> None:
    styles = "<cellXfs><xf numFmtId='46'/></cellXfs>"
    assert "36:00:00" in read(xlsx({"S": "<row><c s='0'><v>1.5</v></c></row>"}, styles=styles))


def test_escaped_characters_of_a_workbook_are_decoded() -> None:
    cells = "<c t='inlineStr'><is><t>a_x000D_\nb_x0009_c_x0000_</t></is></c><c t='s'><v>0</v></c>"
    text = read(xlsx({"S": f"<row>{cells}</row>"}, strings=["_x005F_x000D_ _x00e9_"]))
    assert '"a\nb\tc",_x000D_ é' in text


def test_a_formula_without_a_value_is_its_text() -> None:
    cells = (
        "<c r='A1'><f t='shared' si='0'>B1*2</f><v></v></c><c r='B1'><f>SUM(C1:D1)</f><v>7</v></c>"
        "<c r='C1'><f t='shared' si='0'/></c><c r='D1' t='str'><f>\"\"</f><v></v></c><c "
        "r='E1'><v>1</v></c>"
    )
    assert "=B1*2,7,(formula of A1: =B1*2),,1\n" in read(xlsx({"S": f"<row>{cells}</row>"}))


def test_headers_and_footers_of_a_word_document_come_once() -> None:
    part = f"<w:hdr {W}><w:p><w:r><w:t>{{}}</w:t></w:r></w:p></w:hdr>"
    names = {
        "header1": "Top",
        "header2": "Top",
        "footer1": "Bottom",
        "footer2": "Bottom",
        "footer3": "Other",
    }
    text = read(docx("body", **{name: part.format(words) for name, words in names.items()}))
    assert text == "Header: Top\n\nbody\n\nFooter: Bottom\n\nFooter: Other\n\n"


def test_a_table_in_a_cell_leaves_the_row_as_it_is() -> None:
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p>{}</w:tc>"
    inner = f"<w:tbl><w:tr>{cell.format('x', '')}{cell.format('y', '')}</w:tr></w:tbl>"
    text = read(
        docx(body=f"<w:tbl><w:tr>{cell.format('a', inner)}{cell.format('b', '')}</w:tr></w:tbl>")
    )
    line = text.strip().splitlines()[0]
    assert line.count("|") == 3
    assert " ".join(line.split()) == "| a x ; y ; | b |"


def test_the_data_of_a_chart_is_a_table() -> None:
    point = "<c:pt idx='{}'><c:v>{}</c:v></c:pt>"
    texts = "<c:cat><c:strRef><c:strCache>" + point.format(0, "Brest") + point.format(1, "Kiel")
    texts += "</c:strCache></c:strRef></c:cat>"
    values = f"<c:val><c:numCache>{point}</c:numCache></c:val>"
    series = "".join(
        f"<c:ser><c:tx><c:v>{name}</c:v></c:tx>{texts}{values.format(1, value)}</c:ser>"
        for name, value in (("High", "7.5"), ("Low", "2"))
    )
    chart = (
        f"<c:chartSpace xmlns:c='c' {A}><c:title><a:t>Tides</a:t></c:title>{series}</c:chartSpace>"
    )
    text = read(docx("body", **{"charts/chart1": chart}))
    assert "Chart: Tides\n|  | High | Low |\n| Brest |  |  |\n| Kiel | 7.5 | 2 |\n" in text


def test_the_text_of_smartart_is_read() -> None:
    diagram = (
        f"<dgm:dataModel xmlns:dgm='d' {A}><dgm:t><a:p><a:r><a:t>Ebb, then "
        "flood</a:t></a:r></a:p></dgm:t>"
    )
    diagram += "</dgm:dataModel>"
    parts = {
        "xl/worksheets/_rels/sheet1.xml.rels": relations({"rId1": "../drawings/drawing1.xml"}),
        "xl/drawings/drawing1.xml": f"<xdr:wsDr xmlns:xdr='x' {A}/>",
        "xl/drawings/_rels/drawing1.xml.rels": relations({"rId1": "../diagrams/data1.xml"}),
        "xl/diagrams/data1.xml": diagram,
    }
    workbook = io.BytesIO(xlsx({"Tides": [["a"]]}))
    with zipfile.ZipFile(workbook, "a") as archive:
        for name, xml in parts.items():
            archive.writestr(name, xml)
    assert "Ebb, then flood\n" in read(docx("body", **{"diagrams/data1": diagram}))
    assert "Ebb, then flood\n" in read(workbook.getvalue())


@each(
    ("content", "words"),
    [
        ("<p>Привет</p>".encode("cp1251"), "not text in UTF-8"),
        ("<meta charset=utf-8><p>Привет</p>".encode("cp1251"), "utf-8"),
    ],
)
def test_no_charset_of_a_page_is_guessed(content: bytes, words: str) -> None:
    code, _, message = problem(content, "a.html")
    assert code == "invalid_file"
    assert words in message


def test_a_page_in_a_charset_that_it_declares_is_read() -> None:
    assert "Привет" in read("<meta charset=windows-1251><p>Привет</p>".encode("cp1251"), "a.html")


@pytest.mark.wide
def test_the_value_of_a_form_field_is_in_the_image_of_its_page() -> None:
    from reportlab.pdfgen.canvas import Canvas  # noqa: PLC0415 - slow to load

    images = []
    for value in ("", "4711"):
        content = io.BytesIO()
        canvas = Canvas(content, invariant=True)
        canvas.drawString(72, 700, "A form")
        canvas.acroForm.textfield(name="sum", value=value, x=72, y=600)
        canvas.showPage()
        canvas.save()
        images.append(
            list(images_of(content.getvalue(), first=0, count=1, pixels=300, longest=1_000_000))
        )
        assert ("[Form field sum: 4711]" in read(content.getvalue())) == bool(value)
    assert images[0] != images[1]
