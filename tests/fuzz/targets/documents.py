"""Files of any kind: their text, or a problem that has a name."""

import io
import zipfile
from collections.abc import Sequence
from functools import partial

from antiphon.documents.extraction.formats import read
from antiphon.documents.extraction.output import ExtractionBounds
from antiphon.documents.extraction.page import read as read_page
from antiphon.documents.extraction.problem import Problem
from tests.fuzz.targets import Target
from tests.support import documents

LONGEST = 2_000
"""Bytes of text."""

BOUNDS = ExtractionBounds(LONGEST, rows=50, columns=20)

BETWEEN = b"\n\0\n"
"""Between the parts of an archive."""


def _check(content: bytes, filename: str) -> None:
    try:
        _, output = read(content, filename, BOUNDS)
    except Problem as problem:
        assert str(problem)
        return
    assert len(output.content()) <= LONGEST + 500


def rtf(data: bytes) -> None:
    """Rich text."""
    _check(b"{\\rtf1" + data, "a.rtf")


def csv(data: bytes) -> None:
    """A table."""
    _check(data, "a.csv")


def page(data: bytes) -> None:
    """A page of the web."""
    try:
        read_page(data, url="http://a.test/", charset="", is_html=True, longest=LONGEST)
    except Problem as problem:
        assert str(problem)


def packed(names: Sequence[str], filename: str, data: bytes) -> None:
    """An archive whose parts have any content. What follows the last name belongs to its part."""
    _check(_archive(zip(names, data.split(BETWEEN, len(names) - 1), strict=False)), filename)


def _archive(parts: "zip[tuple[str, bytes]]") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts:
            archive.writestr(name, content)
    return buffer.getvalue()


def _of_archive(name: str, filename: str, content: bytes) -> Target:
    """Return a target whose seed is an ordinary file."""
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        names = opened.namelist()
        parts = [opened.read(one) for one in names]
    words = {
        b"<%b" % word.split()[0] for part in parts for word in part.split(b"<") if word.strip()
    }
    return Target(name, partial(packed, names, filename), [BETWEEN.join(parts)], sorted(words))


RTF = rb"""\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\*\generator x;}\b Hello\b0  \'e9\u8364 ?\par
{\trowd a\cell b\cell\row}{\field{\*\fldinst HYPERLINK "x"}{\fldrslt link}}\bin3 abc\uc1 end}"""

HTML = b"""<!doctype html><meta charset="utf-8"><title>T &amp; x</title><base href="/b/">
<nav><a href="a">A</a></nav><h1>Head</h1><table><tr><td>1<td colspan=2>2</table><ul><li>x<li>y</ul>
<pre><code>z</code></pre><script>1</script><img src="i.png" alt="i"><a href="#x">own</a>"""

TARGETS = (
    Target("rtf", rtf, [RTF], [b"\\u", b"\\'", b"\\bin", b"{", b"}", b"\\*", b"\\uc", b"\\par",
                               b"\\ansicpg", b"\\cell", b"\\row"]),
    Target("csv", csv, [b"a;b;c\n1;\"x\n;\";3\n", "a\tb\n€\tü\n".encode("utf-16")],
           [b'"', b'""', b"\r\n", b"\t", b";", b"\xff\xfe", b"\xef\xbb\xbf"]),
    Target("page", page, [HTML],
           [b"<", b"</", b"<table>", b"<td>", b"<svg>", b"<template>", b"<!--", b"<![CDATA[",
            b"<base href=", b"<meta charset=utf-7>", b"&#x"]),
    _of_archive("docx", "a.docx", documents.docx("Hello", "é & <", header1="<w:hdr/>")),
    _of_archive("pptx", "a.pptx", documents.pptx(["One", "Two"], ["Three"], notes="N")),
    _of_archive("xlsx", "a.xlsx", documents.xlsx({"S": [["a", "1"], ["b", "2"]]})),
    _of_archive("odt", "a.odt", documents.odt("<text:p>Hello</text:p>")),
)  # fmt: skip
