"""Pages that are turned into text, whoever wrote them."""

import pytest
import uvloop

from antiphon.documents.extraction.page import decoded
from antiphon.tools.web.reading import LONGEST, PageText, Reader, ReadingError


async def read(
    page: str | bytes, charset: str = "utf-8", *, is_html: bool = True, seconds: float = 30.0
) -> PageText:
    body = page.encode() if isinstance(page, str) else page
    return await Reader(seconds=seconds).read(
        body, url="https://e.example/a/b", charset=charset, is_html=is_html
    )


async def test_headings_lists_tables_and_links_are_markdown() -> None:
    stated = await read(
        "<title>A &amp; B</title><h1>Head</h1><ul><li>one<li><a href='../c?x=1&amp;y'>two</a></ul>"
    )
    assert stated == PageText(
        "A & B", "# Head\n\n- one\n- [two](https://e.example/c?x=1&y)\n", is_cut=False
    )


async def test_links_that_lead_nowhere_are_only_their_text() -> None:
    stated = await read(
        "<p><a href='javascript:f(1)'>run</a> <a href='data:text/html,x'>see</a> <a "
        "href=/x></a>end</p>"
    )
    assert stated.text.split() == ["[run]", "[see]", "end"]


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", " JaVaScRiPt:alert(1)", "\tdata:text/html,x"]
)
async def test_a_link_that_leads_to_what_is_not_the_web_is_only_its_text(url: str) -> None:
    assert (await read(f"<p>See <a href='{url}'>this</a>.</p>")).text.strip() == "See [this]."


async def test_links_within_the_page_become_text_and_footnotes_are_removed() -> None:
    stated = await read(
        "<h2><a href='#tides'>§</a>Tides</h2><p>High<sup><a href='b#note-1'>[1]</a></sup> at <a "
        "href='#n'>nine</a>, <a href='/c#x' title='Low water'>low</a> later."
    )
    assert stated.text == "## Tides\n\nHigh at nine, [low](https://e.example/c#x) later.\n"


@pytest.mark.parametrize(
    "page",
    [
        "<p>seen<script>unseen</script>",
        "<p>seen<style>unseen</style>",
        "<p>seen<!-- unseen -->",
        "<p>seen<p hidden>unseen</p>",
        "<p>seen<p style='DISPLAY : none'>unseen</p>",
        "<p>seen<div style='visibility:hidden'>unseen</div>",
        "<p>seen<template>unseen</template>",
        "<p>seen<noscript>unseen</noscript>",
        "<p>seen<img alt=unseen src=x>",
    ],
)
async def test_what_a_browser_does_not_show_is_left_out(page: str) -> None:
    text = (await read(page)).text
    assert "seen" in text
    assert "unseen" not in text


async def test_a_page_that_is_all_one_form_is_read() -> None:
    assert "Words" in (await read("<form><div><p>Words</p></div></form>")).text


async def test_text_that_is_no_html_stays_as_it_is() -> None:
    assert (await read("<b>a\n  *b*", is_html=False)).text == "<b>a\n  *b*"


async def test_a_long_page_is_cut() -> None:
    stated = await read("<p>" + "word " * 200_000)
    assert len(stated.text) == LONGEST
    assert stated.is_cut


@pytest.mark.parametrize(
    "page",
    [
        "",
        "\0<p>x\0",
        "<div>" * 50_000,
        "<blockquote>" * 300 + "<p>x" * 20_000,
        "<table><tr><td><p>open <a href=x>link <div><b>bold<table>" * 2_000,
        "<p>" + "<b><i><font size=1>x" * 5_000,
        "<" * 100_000,
        "<a " + "x=1 " * 100_000 + ">t</a>",
        "<!doctype html><svg><math><select><textarea><title>",
        "\ud800".encode("utf-8", "surrogatepass"),
    ],
)
async def test_a_page_that_is_broken_is_read_or_refused(page: str | bytes) -> None:
    try:
        assert len((await read(page)).text) <= LONGEST
    except ReadingError as error:
        assert str(error) == "it cannot be turned into text"


@pytest.mark.wide
async def test_a_page_that_exceeds_the_memory_is_abandoned() -> None:
    bomb = "<table><tr>" + "<td>x" * 1_000 + "<tr><td>y" * 400_000
    reader = Reader(memory=200_000_000)
    with pytest.raises(ReadingError, match="cannot be turned into text"):
        await reader.read(bomb.encode(), url="https://e.example/", charset="", is_html=True)
    assert (
        await reader.read(b"<p>x", url="https://e.example/", charset="", is_html=True)
    ).text == "x\n"


async def test_a_page_that_takes_too_long_is_abandoned() -> None:
    with pytest.raises(ReadingError, match="took too long"):
        await read("<title " * 300_000, seconds=0.3)


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("Marées".encode("latin-1"), "iso-8859-1", "Marées"),
        ("“Marées”".encode("cp1252"), "iso-8859-1", "“Marées”"),
        ("潮".encode("shift_jis"), "Shift_JIS", "潮"),
        (b"<meta charset='koi8-r'>" + "море".encode("koi8-r"), "", "<meta charset='koi8-r'>море"),
        ("é".encode("utf-16"), "", "é"),
        (b"\xef\xbb\xbf\xc3\xa9", "iso-8859-1", "é"),
        ("é".encode(), "", "é"),
        ("é".encode("latin-1"), "", "é"),
        ("é".encode(), "no-such-charset", "é"),
        (b"+ADw-", "utf-7", "+ADw-"),
        (b"abc-", "punycode", "abc-"),
        (b"\xff", "utf-8", "\ufffd"),
        (b"x", "a\0b", "x"),
    ],
)
def test_the_text_is_read_in_its_charset(body: bytes, charset: str, text: str) -> None:
    assert decoded(body, charset) == text


def test_a_page_is_read_on_the_loop_of_the_server() -> None:
    assert uvloop.run(read("<p>x")) == PageText("", "x\n", is_cut=False)
