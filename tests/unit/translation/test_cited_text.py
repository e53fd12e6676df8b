"""A text of which marks of files are cut, wherever its deltas end."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.protocol.sources import CitedFile, Sources
from antiphon.translation.cited_text import CitedText, Piece

PAGE = "https://tides.example/brest"
SOURCES: Sources = {
    "file-a#0": CitedFile("file-a", "tides.pdf"),
    "file-b#0": CitedFile("file-b", "ports.md"),
    PAGE: "Tides of Brest",
    "file-a#7": CitedFile("file-a", "tides.pdf"),
    "file-c#1": None,
}
"""Number 3 is a page, number 5 may not be cited."""


def pieces(text: str, cuts: list[int] | None = None, sources: Sources = SOURCES) -> list[Piece]:
    cited = CitedText(sources)
    places = [0, *sorted(cuts or []), len(text)]
    return [
        *(one for start, end in pairwise(places) for one in cited.feed(text[start:end])),
        *cited.finish(),
    ]


def sent(
    text: str, cuts: list[int] | None = None, sources: Sources = SOURCES
) -> tuple[str, list[dict[str, Any]]]:
    """The final text, and the annotations. Each stands between the deltas at its place."""
    stated = ""
    annotations = []
    for piece in pieces(text, cuts, sources):
        if isinstance(piece, str):
            assert piece
            stated += piece
        else:
            assert piece.get("index", len(stated)) == len(stated)
            annotations.append(piece)
    return stated, annotations


def file(index: int, file_id: str = "file-a", filename: str = "tides.pdf") -> dict[str, Any]:
    return {"type": "file_citation", "file_id": file_id, "filename": filename, "index": index}


def page(start: int, end: int) -> dict[str, Any]:
    title = "Tides of Brest"
    return {
        "type": "url_citation",
        "url": PAGE,
        "title": title,
        "start_index": start,
        "end_index": end,
    }


PORTS = ("file-b", "ports.md")


@pytest.mark.parametrize(
    ("text", "expected", "annotations"),
    [
        ("High at nine [1].", "High at nine.", [file(12)]),
        ("High at nine[1].", "High at nine.", [file(12)]),
        ("High at nine  \t[1] today", "High at nine today", [file(12)]),
        ("Nine [1][2].", "Nine.", [file(4), file(4, *PORTS)]),
        ("Nine [1] [4].", "Nine.", [file(4), file(4)]),
        ("Nine [1, 2].", "Nine.", [file(4), file(4, *PORTS)]),
        ("Nine【1】.", "Nine.", [file(4)]),
        ("Nine 【2†ports.md】.", "Nine.", [file(4, *PORTS)]),
        ("Nine 【2†L4-L9】, ten [1]", "Nine, ten", [file(4, *PORTS), file(9)]),
        ("Nine <|file-b|>.", "Nine.", [file(4, *PORTS)]),
        ("Nine <|file-a|><|file-b|>.", "Nine.", [file(4), file(4, *PORTS)]),
        ("[1] Nine", " Nine", [file(0)]),
        ("One [1].\n\nTwo [2].\n", "One.\n\nTwo.\n", [file(3), file(9, *PORTS)]),
        (
            f"One [1], [Brest]({PAGE}) [2].",
            f"One, [Brest]({PAGE}).",
            [file(3), page(5, 41), file(41, *PORTS)],
        ),
        (f"One [1], {PAGE}.", f"One, {PAGE}.", [file(3), page(5, 32)]),
        ("One [1] and [3].", "One and [3].", [file(3), page(8, 11)]),
        ("Both [1, 3].", "Both [1, 3].", [file(11), page(5, 11)]),
        ("[see [1] there] and more", "[see there] and more", [file(4)]),
        (f"[see [1] there]({PAGE})", f"[see [1] there]({PAGE})", [page(0, 44)]),
        ("[1] (as told)", " (as told)", [file(0)]),
    ],
)
def test_a_mark_is_cut_with_the_blank_before_it(
    text: str, expected: str, annotations: list[dict[str, Any]]
) -> None:
    assert sent(text) == (expected, annotations)


@pytest.mark.parametrize(
    "text",
    [
        "No citation, and a blank at the end ",
        "`a[1]` and\n```\nb [1] <|file-a|>\n```\n",
        "[0] [6] [9999] [x] [1.5] <|file-z|> <|x|> <file-a>",
        "a number that may not be cited [5].",
        r"\[1] and [1\]",
        "an open [1",
        "an open <|file-a",
        "a < b, a <| b, <",
    ],
)
def test_a_text_that_cites_no_file_stays_as_it_is(text: str) -> None:
    assert sent(text) == (text, [])


def test_a_text_goes_out_as_it_comes_and_only_what_may_be_a_mark_waits() -> None:
    cited = CitedText(SOURCES)
    came = [
        ("The capital", ["The capital"]),
        (" is [a", [" is [a"]),
        (" city]", [" city]"]),
        (" ", []),
        ("[", []),
        ("1", []),
        ("]", []),
        (".", [file(23), "."]),
        (" So `x", [" So `x"]),
        (" = a[1]", [" = a"]),
        ("`.", ["[1]`."]),
    ]

    assert [list(cited.feed(delta)) for delta, _ in came] == [pieces for _, pieces in came]


def test_without_files_every_delta_goes_out_at_once_and_stays_whole() -> None:
    cited = CitedText({PAGE: "Tides of Brest"})

    assert list(cited.feed("Nine ")) == ["Nine "]
    assert list(cited.feed("[1")) == ["[1"]
    assert list(cited.feed("].")) == ["].", page(5, 8)]


MARKS = (
    "[1]",
    "[2]",
    "[3]",
    "[4]",
    "[5]",
    "[1, 2]",
    "[1,3]",
    "【1】",
    "【4†x】",
    "【1†[2]】",
    "<|file-a|>",
    "<|file-b|>",
)
PIECES = [
    *MARKS,
    *(
        "[",
        "]",
        "(",
        ")",
        "](",
        "【",
        "】",
        "†",
        "`",
        "``",
        "```",
        "~~~",
        "\n",
        "\n\n",
        "\\",
        " ",
        "  ",
        "\t",
        ".",
        ",",
    ),
    *(
        "1",
        "2",
        "<",
        "<|",
        "|>",
        "<|file-",
        "file-a",
        "h",
        "https://",
        "x",
        "é",
        "🌊",
        "> ",
        " " * 9,
    ),
    *(PAGE, f"[a]({PAGE})", f"([a]({PAGE}))", "https://no.example/(a)"),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(TEXTS, st.data())
def test_every_cut_gives_the_same_text_and_annotations(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=12))
    whole = sent(text)
    assert sent(text, cuts) == whole
    assert sent(text, list(range(len(text)))) == whole


@given(
    st.lists(st.tuples(st.text("ab é🌊.\n", max_size=12), st.sampled_from(MARKS[:2])), max_size=12)
)
def test_each_index_is_where_the_mark_stood(parts: list[tuple[str, str]]) -> None:
    expected = ""
    places = []
    for words, _ in parts:
        blanks = len(words) - len(words.rstrip(" "))
        expected += words[: len(words) - min(blanks, 8)]
        places.append(len(expected))
    text, annotations = sent("".join(words + mark for words, mark in parts))
    assert text == expected
    assert [one["index"] for one in annotations] == places


@given(TEXTS)
def test_pages_are_cited_in_what_the_client_received(text: str) -> None:
    stated, annotations = sent(text)
    for one in annotations:
        if one["type"] == "url_citation":
            inside = stated[one["start_index"] : one["end_index"]]
            assert "3" in inside or PAGE in inside


def test_long_texts_leave_no_text_behind() -> None:
    cited = CitedText(SOURCES)
    for piece in (
        "[",
        "x" * 500,
        "`a [1] ",
        "y" * 500,
        "<|file-",
        "z" * 500,
        "](",
        " and so on, ",
    ) * 40:
        cited.feed(piece)
        assert len(cited._retained) <= 4_000
