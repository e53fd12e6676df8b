"""Documents for tests, written by code: small ones that are as they should be, and archives that
are not.
"""

import io
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from unicodedata import bidirectional

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """An archive of these files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return content.getvalue()


def docx(*paragraphs: str, body: str = "", **more: str) -> bytes:
    """A Word document; `body` is WordprocessingML after the paragraphs, `more` are files in
    `word/`.
    """
    text = "".join(
        f"<w:p><w:r><w:t>{escape(paragraph)}</w:t></w:r></w:p>" for paragraph in paragraphs
    )
    document = f"<w:document {W}><w:body>{text}{body}</w:body></w:document>"
    return zipped(
        {"word/document.xml": document} | {f"word/{name}.xml": xml for name, xml in more.items()}
    )


def pptx(*slides: Sequence[str], notes: str = "") -> bytes:
    """A presentation: the paragraphs of each slide; the last slide has the notes.

    Slides are stored backwards.
    """
    files = {}
    names = [f"slide{len(slides) - number}.xml" for number in range(len(slides))]
    for name, paragraphs in zip(names, slides, strict=True):
        text = "".join(f"<a:p><a:r><a:t>{escape(one)}</a:t></a:r></a:p>" for one in paragraphs)
        files[f"ppt/slides/{name}"] = f"<p:sld xmlns:p='p' {A}>{text}</p:sld>"
    if notes:
        files["ppt/notesSlides/notesSlide1.xml"] = (
            f"<p:notes xmlns:p='p' {A}><a:p><a:t>{notes}</a:t></a:p></p:notes>"
        )
        files[f"ppt/slides/_rels/{names[-1]}.rels"] = relations(
            {"rId9": "../notesSlides/notesSlide1.xml"}
        )
    ids = "".join(f"<p:sldId id='{256 + n}' r:id='rId{n}'/>" for n in range(len(names)))
    files["ppt/presentation.xml"] = (
        f"<p:presentation xmlns:p='p' {R}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
    )
    files["ppt/_rels/presentation.xml.rels"] = relations(
        {f"rId{n}": f"slides/{name}" for n, name in enumerate(names)}
    )
    return zipped(files)


def relations(targets: Mapping[str, str]) -> str:
    """The file of references of a part, by their ids."""
    inside = "".join(
        f"<Relationship Id='{name}' Target='{target}'/>" for name, target in targets.items()
    )
    return f"<Relationships>{inside}</Relationships>"


def xlsx(
    sheets: Mapping[str, str | Iterable[Sequence[str]]],
    *,
    strings: Sequence[str] = (),
    styles: str = "",
    is_1904: bool = False,
) -> bytes:
    """A workbook: each sheet's rows, cells as inline strings; or the XML of its rows."""
    files = {}
    names = list(sheets)
    for number, rows in enumerate(sheets.values(), 1):
        xml = rows if isinstance(rows, str) else "".join(_row(row) for row in rows)
        files[f"xl/worksheets/sheet{number}.xml"] = (
            f"<worksheet {S}><sheetData>{xml}</sheetData></worksheet>"
        )
    targets = {
        f"rId{number}": f"worksheets/sheet{number}.xml" for number in range(1, len(names) + 1)
    }
    if strings:
        texts = "".join(f"<si><t>{escape(one)}</t></si>" for one in strings)
        files["xl/sharedStrings.xml"] = f"<sst {S}>{texts}</sst>"
        targets["rId98"] = "sharedStrings.xml"
    if styles:
        files["xl/styles.xml"] = f"<styleSheet {S}>{styles}</styleSheet>"
        targets["rId99"] = "/xl/styles.xml"
    inside = "".join(
        f"<sheet name='{escape(name)}' sheetId='{n}' r:id='rId{n}'/>"
        for n, name in enumerate(names, 1)
    )
    files["xl/workbook.xml"] = (
        f"<workbook {S} {R}><workbookPr "
        f"date1904='{is_1904:d}'/><sheets>{inside}</sheets></workbook>"
    )
    files["xl/_rels/workbook.xml.rels"] = relations(targets)
    return zipped(files)


def _row(cells: Sequence[str]) -> str:
    inside = "".join(f"<c t='inlineStr'><is><t>{escape(cell)}</t></is></c>" for cell in cells)
    return f"<row>{inside}</row>"


def odt(body: str, manifest: str = "<m/>") -> bytes:
    """An OpenDocument text; `body` has the prefixes `text` and `table`."""
    content = (
        "<office:document-content xmlns:office='o' xmlns:text='t' "
        f"xmlns:table='b'>{body}</office:document-content>"
    )
    mimetype = "application/vnd.oasis.opendocument.text"
    return zipped({"mimetype": mimetype, "content.xml": content, "META-INF/manifest.xml": manifest})


def pdf(*pages: str, encrypted: bool = False, packed: bytes | None = None) -> bytes:
    """A PDF with a text on each page, in any script; `packed` is the compressed content of one more
    page.

    Each character has a code of its own, which a table maps to Unicode, so no font is needed.
    """
    letters = sorted({letter for page in pages for letter in page})
    codes = {letter: f"{number:04x}" for number, letter in enumerate(letters, 1)}
    contents = [zlib.compress(f"BT /F1 12 Tf 40 700 Td <{''.join(map(codes.get, page))}> Tj ET".encode())  # noqa: E501 - one text, or a row of a table
                if page else zlib.compress(b"0 0 100 100 re f") for page in pages]  # fmt: skip
    contents += [packed] if packed is not None else []
    first = 7
    kids = " ".join(f"{first + 2 * n} 0 R" for n in range(len(contents)))
    objects: list[bytes] = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(contents)} /Kids [{kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /F /Encoding /Identity-H /DescendantFonts [4 0 "
        b"R]"
        b" /ToUnicode 6 0 R >>",
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /F /FontDescriptor 5 0 R /DW 600"
        b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
        b"<< /Type /FontDescriptor /FontName /F /Flags 4 /Ascent 800 /Descent -200 /CapHeight 700 "
        b"/ItalicAngle 0"
        b" /StemV 80 /FontBBox [0 -200 1000 800] >>",
        _stream(_to_unicode(codes)),
    ]
    for number, content in enumerate(contents):
        place = first + 2 * number
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {place + 1} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(_stream(content, "/Filter /FlateDecode"))
    extra = (
        "/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <"
        + "41" * 32
        + "> /U <"
        + "42" * 32
        + "> >>"
    )
    extra += " /ID [<4142> <4142>]"
    return _file(objects, extra if encrypted else "")


def _to_unicode(codes: Mapping[str, str]) -> bytes:
    lines = "\n".join(
        f"<{code}> <{letter.encode('utf-16-be').hex()}>" for letter, code in codes.items()
    )
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 "
        "def\n"
        "1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        f"{len(codes)} beginbfchar\n{lines}\nendbfchar endcmap end end"
    ).encode()


def _stream(content: bytes, more: str = "") -> bytes:
    return f"<< /Length {len(content)} {more} >>\nstream\n".encode() + content + b"\nendstream"


def _file(objects: Sequence[bytes], extra: str) -> bytes:
    body = bytearray(b"%PDF-1.7\n")
    places = []
    for number, one in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n".encode() + one + b"\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = (
        f"trailer << /Size {len(objects) + 1} /Root 1 0 R {extra} >>\nstartxref\n{len(body)}\n%%EOF"
    )
    return (
        bytes(body) + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()
    )


# Files that are made to exhaust whatever reads them.


def zeros(size: int) -> bytes:
    """So many blanks, compressed."""
    packer = zlib.compressobj(9)
    part = b" " * (1024 * 1024)
    parts = [packer.compress(part) for _ in range(size // len(part))]
    return b"".join([*parts, packer.flush()])


def pdf_bomb(size: int) -> bytes:
    """A PDF with a page that unpacks to so many bytes."""
    return pdf("", packed=zeros(size))


def docx_bomb(size: int) -> bytes:
    """A Word document whose XML unpacks to so many bytes."""
    content = io.BytesIO()
    with (
        zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("word/document.xml", "w") as entry,
    ):
        for _ in range(size // (1024 * 1024)):
            entry.write(b" " * (1024 * 1024))
    return content.getvalue()


def entities() -> bytes:
    """A Word document with entities that stand for a billion others."""
    names = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    xml = f'<!DOCTYPE d [<!ENTITY e0 "x">{names}]><w:document {W}><w:t>&e9;</w:t></w:document>'
    return zipped({"word/document.xml": xml})


def deep(levels: int) -> bytes:
    """A Word document with so many elements inside each other."""
    return docx(body="<w:p>" * levels + "</w:p>" * levels)


def crowd(files: int) -> bytes:
    """An archive of so many empty files, a Word document among them."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document {W}/>")
        for number in range(files):
            archive.writestr(zipfile.ZipInfo(str(number)), b"")
    return content.getvalue()


def text_of_all_kinds(text: str) -> Mapping[str, bytes]:
    """The same text in a document of each format, by the name of the file."""
    page = f"<html><head><meta charset='utf-8'></head><body><p>{escape(text)}</p></body></html>"
    rtf = "".join(f"\\u{ord(letter) - 65536 * (ord(letter) > 32767)}?" for letter in text)
    return {
        "a.pdf": pdf(
            text if bidirectional(text[0]) != "AL" else text[::-1]
        ),  # letters as they stand on the page
        "a.docx": docx(text),
        "a.pptx": pptx([text]),
        "a.xlsx": xlsx({"One": [[text]]}),
        "a.odt": odt(f"<text:p>{escape(text)}</text:p>"),
        "a.html": page.encode(),
        "a.rtf": ("{\\rtf1\\ansi " + rtf + "\\par}").encode(),
        "a.csv": f"{text}\n".encode(),
        "a.md": f"# {text}\n".encode(),
        "a.json": f'{{"a": "{text}"}}'.encode(),
        "a.xml": f"<a>{escape(text)}</a>".encode(),
        "a.py": f"# {text}\n".encode(),
        "a.txt": text.encode(),
        "utf16.txt": text.encode("utf-16"),
        "without-ending": text.encode(),
    }
