"""Citations in a text that streams by, wherever it is cut."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.translation.citation_marks import DEEPEST, LONGEST
from antiphon.translation.citations import Citations
from tests.support.cases import each
from tests.support.recordings import MISSING, recorded

TIDES = "https://tides.example/brest"
WIKI = "https://wiki.example/Tide_(sea)"
PORTS = "https://ports.example/list?of=all&page=2"
SOURCES = {TIDES: "Tides of Brest", WIKI: "Tide", PORTS: "Ports"}


def annotations(
    text: str, cuts: list[int] | None = None, sources: dict[str, str] = SOURCES
) -> list[dict[str, Any]]:
    citations = Citations(sources)
    places = [0, *sorted(cuts or []), len(text)]
    found = [one for start, end in pairwise(places) for one in citations.feed(text[start:end])]
    return [*found, *citations.finish()]


def cited(text: str) -> list[tuple[str, str]]:
    return [(text[one["start_index"] : one["end_index"]], one["url"]) for one in annotations(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"High at nine ([tides.example]({TIDES})).", [(f"([tides.example]({TIDES}))", TIDES)]),
        (f"See [Brest]({TIDES}) today.", [(f"[Brest]({TIDES})", TIDES)]),
        (f"See [Brest]({TIDES}", [(TIDES, TIDES)]),
        (f"([a]({TIDES}), [b]({WIKI}))", [(f"[a]({TIDES})", TIDES), (f"[b]({WIKI})", WIKI)]),
        (f"It is at {TIDES}.", [(TIDES, TIDES)]),
        (f"Read <{WIKI}>, or ({WIKI}).", [(WIKI, WIKI), (WIKI, WIKI)]),
        (f"**{TIDES}**", [(TIDES, TIDES)]),
        (f"[{TIDES}]({TIDES})", [(f"[{TIDES}]({TIDES})", TIDES)]),
        (f'[Brest]({TIDES} "Tides (all)")', [(f'[Brest]({TIDES} "Tides (all)")', TIDES)]),
        (f"[the [old] port](<{PORTS}>)", [(f"[the [old] port](<{PORTS}>)", PORTS)]),
        ("High at nine [1].", [("[1]", TIDES)]),
        ("High at nine[1][3].", [("[1]", TIDES), ("[3]", PORTS)]),
        ("High at nine [1, 3]", [("[1, 3]", TIDES), ("[1, 3]", PORTS)]),
        ("High at nine【2】.", [("【2】", WIKI)]),
        ("High at nine【2†L4-L9】.", [("【2†L4-L9】", WIKI)]),
        (f"[2]({TIDES})", [(f"[2]({TIDES})", TIDES)]),
        ("[2](https://elsewhere.example)", [("[2]", WIKI)]),
        ("[2] (as told)", [("[2]", WIKI)]),
        ("[see [1] there] and more", [("[1]", TIDES)]),
        (f"[see [1] there]({WIKI})", [(f"[see [1] there]({WIKI})", WIKI)]),
        (f"潮は{TIDES}。次", [(TIDES, TIDES)]),
    ],
)
def test_a_citation_is_found_in_each_of_its_forms(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert cited(text) == expected


TRACKED = f"{TIDES}?utm_source=x"


@each(
    ("text", "expected"),
    [
        # A parenthesis, which can also belong to a URL.
        (f"{TRACKED}(at nine)", [TRACKED]),
        (f"{TRACKED}(", [TRACKED]),
        (f"{TRACKED}([1])", [TRACKED, "[1]"]),
        (f"{TRACKED}&utm_medium=y(z", [f"{TRACKED}&utm_medium=y"]),
        (f"{TRACKED}({WIKI}).", [TRACKED, WIKI]),
        (f"{TRACKED}(2026).", [f"{TRACKED}(2026)"]),
        (f"{TIDES}(at nine)", [TIDES]),
        (f"{TIDES}/(note)", [f"{TIDES}/"]),
        (f"{TIDES}#days_(all)", [f"{TIDES}#days_(all)"]),
        (f"{TIDES}_(Brest)", []),
        (f"{WIKI}(note)", [WIKI]),
        (f"{WIKI}?utm_source=x(", [f"{WIKI}?utm_source=x"]),
        (f"({TRACKED}).", [TRACKED]),
        # Other brackets, quotes and punctuation.
        *((f"{TRACKED}{mark}", [TRACKED]) for mark in "]}>|\"'.,;:!?*~`…"),
        (f"“{TRACKED}”", [TRACKED]),
        (f"„{TRACKED}“", [TRACKED]),
        (f"\u2018{TRACKED}\u2019 and «{TRACKED}»", [TRACKED, TRACKED]),
        # Punctuation of languages without spaces, and their text.
        *(
            (f"潮は{TRACKED}{mark}次", [TRACKED])
            for mark in "\uff08\uff09「」『』《》〈〉\u3014\u3015【】｣”\u2019"
        ),
        *((f"潮は{TRACKED}{mark}次", [TRACKED]) for mark in "：\uff1b\uff0c。、！？\uff0e｡､…"),
        (f"潮は{TIDES}と{WIKI}の", [TIDES, WIKI]),
        (f"{TIDES}\uff08{WIKI}\uff09", [TIDES, WIKI]),
        # Markdown.
        (f"[a]({TRACKED})", [f"[a]({TRACKED})"]),
        (f"([a]({TRACKED}(1)))", [f"([a]({TRACKED}(1)))"]),
        (f"[a]({TRACKED}(", [TRACKED]),
        (f"[{TRACKED}]", [TRACKED]),
        (f"**{TRACKED}**(note)", [TRACKED]),
        (f"https://archive.example/{TIDES}", []),
    ],
)
def test_a_bare_url_ends_before_what_does_not_belong_to_it(text: str, expected: list[str]) -> None:
    assert [place for place, _ in cited(text)] == expected
    assert annotations(text, list(range(len(text)))) == annotations(text)


@pytest.mark.parametrize(
    "url",
    [
        "https://tides.example/brest/",
        "https://TIDES.example/brest",
        "https://tides.example:443/brest",
        "https://tides.example/brest#today",
        "https://tides.example/brest?utm_source=antiphon",
        "https://tides.example/br%65st",
    ],
)
def test_a_url_is_matched_in_another_spelling_and_returned_as_in_the_source(url: str) -> None:
    assert [one["url"] for one in annotations(f"See [Brest]({url}) and {url} here.")] == [
        TIDES,
        TIDES,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "https://elsewhere.example/brest",
        "[Brest](https://tides.example/other)",
        "[0] and [4] and [x] and [] and [1.5] and 【】",
        "[99999999999999999999]",
        f"`{TIDES}` and ``[1] ` [2]``",
        f"```\n{TIDES} [1]\n\n[2]\n```",
        f"text\n~~~py\n{TIDES}\n```\n[1]\n",
        "- a list\n  - ```py\n    a[1]\n\n    b[2]\n    ```\n",
        "> ```\n> [1]\n> ```\n",
        r"\[1\] and \[2]",
        "http",
        "[",
    ],
)
def test_what_cites_no_source_is_no_citation(text: str) -> None:
    assert annotations(text) == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a ` that is alone, then [1].\n\nMore [2].", 2),
        ("```inline``` and [1]", 1),
        ("```\ncode\n```\nand [1]", 1),
        ("````\n```\n[2]\n````\nand [1]", 1),
        ("```\n[2]\n``` not its end\n[2]\n```\n[1]", 1),
        (f"[open [1]\n\n[Brest]({TIDES})", 2),
        (f"[broken](https://tides.example/\nbrest) [1] {WIKI}", 2),
        ("[" * (DEEPEST + 5) + "1]", 1),
        ("[ " + "far away " * LONGEST + "[1]", 1),
        ("[" + "x" * LONGEST + f"[1]]({TIDES})", 2),
        (f"[a [b]({TIDES}) c](https://elsewhere.example)", 1),
    ],
)
def test_what_comes_to_nothing_hides_no_other_citation(text: str, count: int) -> None:
    assert len(annotations(text)) == count


def test_an_annotation_comes_with_the_character_that_completes_it() -> None:
    citations = Citations(SOURCES)
    link = f"([Brest]({TIDES}))"
    came = [len(citations.feed(character)) for character in f"At nine {link}."]
    assert came.index(1) == len(f"At nine {link}") - 1


def test_an_annotation_has_the_fields_of_the_api() -> None:
    assert annotations("At nine [1].") == [
        {
            "type": "url_citation",
            "url": TIDES,
            "title": "Tides of Brest",
            "start_index": 8,
            "end_index": 11,
        }
    ]


def test_a_source_without_a_title_is_called_by_its_url() -> None:
    assert annotations("[1]", sources={TIDES: ""})[0]["title"] == TIDES


def test_nothing_is_found_and_stored_without_sources() -> None:
    citations = Citations({})
    assert not citations.feed(f"[1] {TIDES}")
    assert not citations.finish()


PIECES = [
    *(
        "[",
        "]",
        "(",
        ")",
        "](",
        "([",
        "))",
        "【",
        "】",
        "`",
        "``",
        "```",
        "~~~",
        "\n",
        "\n\n",
        "\\",
        " ",
        ".",
        ",",
        "1",
    ),
    *("[1]", "[2, 3]", "h", "http", "https://", "https", "x", "é", "🌊", ">", "- ", f"`{'`' * 63}"),
    *(
        TIDES,
        WIKI,
        f"[a]({TIDES})",
        f"([a]({WIKI}))",
        f"{PORTS}&utm_source=x",
        f"{TIDES}?utm_source=x(",
        "https://no.example/(a)",
    ),
    *("\uff08", "」", "。", "\u2019", "是"),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(TEXTS, st.data())
def test_every_cut_gives_the_same_annotations(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=12))
    assert annotations(text, cuts) == annotations(text)
    assert annotations(text, list(range(len(text)))) == annotations(text)


@given(TEXTS)
def test_the_indexes_hold_the_citation_in_the_order_of_the_text(text: str) -> None:
    found = annotations(text)
    starts = [one["start_index"] for one in found]
    assert starts == sorted(starts)
    for one in found:
        inside = text[one["start_index"] : one["end_index"]]
        number = str(list(SOURCES).index(one["url"]) + 1)
        assert number in inside or one["url"] in inside
        assert inside == inside.strip()


def test_long_texts_leave_no_text_behind() -> None:
    citations = Citations(SOURCES)
    for piece in (
        "[",
        "x" * 500,
        "https://",
        "y" * 500,
        " ` ",
        "z" * 500,
        "](",
        " and so on, ",
    ) * 40:
        citations.feed(piece)
        assert len(citations._text) <= LONGEST + 1_000


@pytest.mark.parametrize(
    "pattern", ["*stream-with-provider-tool-1.sse", "*max-tool-calls-web-search-v2.sse"]
)
def test_recorded_texts_have_the_citations_that_openai_found(pattern: str) -> None:
    paths = recorded(pattern, "responses")
    if not paths:
        pytest.skip(MISSING)
    lines = paths[0].read_text().splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    part = next(
        one["part"] for one in reversed(events) if one["type"] == "response.content_part.done"
    )
    expected = part["annotations"]
    assert (
        annotations(part["text"], sources={one["url"]: one["title"] for one in expected})
        == expected
    )
