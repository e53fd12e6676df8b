"""The checks of the documentation find what is wrong, with its line."""

from pathlib import Path

import pytest

from tests.support.site import load

pytest.importorskip(
    "spellchecker", reason="the documentation's packages are not installed: make docs installs them"
)

check = load("check_docs")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("# Title\n\nThe resqonse arrives.", 3, "'resqonse' is in no dictionary"),
        ("The sevrer is recieved.", 1, "'recieved' is misspelt: 'received'"),
        ("The color changes.", 1, "'color' is American spelling: 'colour'"),
        ("```{warning}\nA mistaek here.\n```", 2, "'mistaek' is in no dictionary"),
        ("| A | B |\n|---|---|\n| x | wrrong |", 3, "'wrrong' is in no dictionary"),
    ],
)
def test_a_misspelling_is_found(text: str, line: int, message: str) -> None:
    found = list(check.misspelt(text))
    assert any(at == line and stated.startswith(message) for at, stated in found), found


@pytest.mark.parametrize(
    "text",
    [
        "`respnse` and ``a ` sevrer``",
        "```sh\nrespnse\n```",
        "[text](sevrer.md#respnse) and https://respnse.example/sevrer",
        "<!-- sevrer -->",
        "OpenAI's JSON and getRespnse, `x`s",
        "The backend's colour isn't organised.",
        "In docs/respnse/sevrer.md and ~/.respnse.",
    ],
)
def test_code_and_addresses_are_no_prose(text: str) -> None:
    assert list(check.misspelt(text)) == []


def test_an_image_without_alt_text_is_found() -> None:
    assert list(check.without_alt("# A\n\n![](a.png) ![b](b.png)\n```\n![](c.png)\n```\n")) == [
        (3, "an image has no alt text")
    ]


def test_dead_links_and_other_hosts_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<script src="https://cdn.example/a.js"></script><p id="here"></p><a href="#here">x</a><a '
        'href="#gone">x</a>'
        '<a href="b.html">x</a><a href="https://example.com">x</a><img src="a.html" alt="">'
        '<script>"<a href=no>"</script>'
    )

    assert list(check.check_html(tmp_path)) == [
        "a.html: it loads https://cdn.example/a.js from another host",
        "a.html: a link leads to no such place: #gone",
        "a.html: a link leads nowhere: b.html",
        "a.html: an image has no alt text: a.html",
    ]


def test_the_word_list_is_needed_and_sorted() -> None:
    groups = check.WORDS.read_text().split("\n# ")[1:]
    for group in groups:
        words = [line for line in group.splitlines()[1:] if line]
        assert words == sorted(words, key=str.lower)
