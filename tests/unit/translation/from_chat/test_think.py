import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.translation.from_chat.text_filters import Piece, ThinkSplitter


def split(*texts: str, preopened: bool = False) -> list[Piece]:
    """Feed texts as `ChatStream` does, and join neighbours of a kind."""
    splitter = ThinkSplitter(preopened)
    pieces: list[Piece] = []
    for text in texts:
        pieces += [(False, text)] if splitter.is_plain(text) else splitter.feed(text)
    joined: list[Piece] = []
    for is_reasoning, text in pieces + splitter.flush():
        if joined and joined[-1][0] == is_reasoning:
            joined[-1] = (is_reasoning, joined[-1][1] + text)
        else:
            joined.append((is_reasoning, text))
    return joined


def answer(text: str) -> Piece:
    return (False, text)


def thought(text: str) -> Piece:
    return (True, text)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("High water.", [answer("High water.")]),
        ("<think>Moon.</think>Tide.", [thought("Moon."), answer("Tide.")]),
        ("\n<think>\n\nMoon.\n</think>\n\nTide.\n", [thought("Moon.\n"), answer("Tide.\n")]),
        ("<think></think>\n\nTide.", [answer("Tide.")]),
        ("<think>\n\n</think>\n\nTide.", [answer("Tide.")]),
        ("<think>Moon.", [thought("Moon.")]),
        ("<think>Moon.</thin", [thought("Moon.</thin")]),
        ("[THINK]Moon.[/THINK]Tide.", [thought("Moon."), answer("Tide.")]),
        ("<thought>Moon.</thought>Tide.", [thought("Moon."), answer("Tide.")]),
        ("[THINK]Moon.</think>Tide.", [thought("Moon.</think>Tide.")]),
        (
            "<think>a</think>b<think>c</think>\n</think>d",
            [thought("a"), answer("b<think>c</think>\n</think>d")],
        ),
        ("Tide. <think>Moon.</think>", [answer("Tide. <think>Moon.</think>")]),
        ("</think>Tide.", [answer("Tide.")]),
        ("\n</think>Tide.", [answer("Tide.")]),
        ("Moon.\n</think>\nTide.", [thought("Moon.\n"), answer("Tide.")]),
        ("Moon. </think> Tide.", [answer("Moon. </think> Tide.")]),
        ("<thi", [answer("<thi")]),
        ("a <b> c", [answer("a <b> c")]),
        ("\n\n", [answer("\n\n")]),
        ("", []),
    ],
)
def test_text_is_split_into_reasoning_and_answer(text: str, pieces: list[Piece]) -> None:
    assert split(text) == pieces


@pytest.mark.parametrize(
    "texts",
    [
        ["a <", "b", " c"],
        ["Tide.\n", "Low\n", "water."],
        ["a </think> b\n", "</think>", "c"],
        ["Tide.", "<think>Moon.</think>"],
    ],
)
def test_an_answer_in_pieces_stays_one(texts: list[str]) -> None:
    assert split(*texts) == [answer("".join(texts))]


@given(
    st.lists(
        st.sampled_from(
            ["<think>", "</think", ">", "<", "Moon", " tide", "\n", "[THINK]", "[/THINK]"]
        )
    ),
    st.randoms(use_true_random=False),
)
def test_a_cut_changes_nothing_where_no_bare_closing_tag_comes(
    words: list[str], dice: object
) -> None:
    text = "<think>" + "".join(words)
    assert split(text) == split(*text)


def test_a_closing_tag_alone_is_remembered() -> None:
    splitter = ThinkSplitter()
    splitter.feed("Moon.\n</think>\nTide.")
    assert splitter.preopened


@pytest.mark.parametrize("text", ["<think>Moon.</think>Tide.", "Say </think> aloud.", "Tide."])
def test_other_texts_are_not_mistaken_for_an_opened_block(text: str) -> None:
    splitter = ThinkSplitter()
    splitter.feed(text)
    assert not splitter.preopened


def test_text_before_a_lone_closing_tag_is_separated_from_the_answer() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("Moon.") == [answer("Moon.")]
    assert splitter.feed("\n</think>\n") == [answer("\n")]
    assert splitter.feed("Tide.") == [thought(""), answer("Tide.")]
    assert splitter.is_plain("<think>")


def test_a_text_that_begins_inside_the_block_is_reasoning() -> None:
    assert split("\nMoon", ".</think>\n", "Tide.", preopened=True) == [
        thought("Moon."),
        answer("Tide."),
    ]
    assert split("Moon.", preopened=True) == [thought("Moon.")]


def test_a_block_that_was_assumed_may_be_opened_by_the_model_after_all() -> None:
    assert split("\n<thi", "nk>Moon.</think>Tide.", preopened=True) == [
        thought("Moon."),
        answer("Tide."),
    ]


@pytest.mark.parametrize(
    ("text", "preopened"),
    [("Moon.</think>Tide.", True), ("Moon", True), ("<think>Moon.</think>Tide.", False)],
)
def test_an_answer_shows_whether_the_template_still_opens_the_block(
    text: str, preopened: bool
) -> None:
    splitter = ThinkSplitter(preopened=True)
    splitter.feed(text)
    assert splitter.preopened is preopened


@pytest.mark.parametrize(
    ("text", "preopened", "is_misplaced"),
    [
        ("Tide.", True, True),
        ("Moon.</think>", True, False),
        ("<think>Moon.", True, False),
        ("<think>Moon.", False, False),
        ("Tide.", False, False),
        ("\n", True, False),
    ],
)
def test_only_a_block_that_was_assumed_and_never_closed_leads_astray(
    text: str, preopened: bool, is_misplaced: bool
) -> None:
    splitter = ThinkSplitter(preopened)
    splitter.feed(text)
    assert splitter.is_misplaced is is_misplaced


def test_text_is_withheld_only_as_long_as_it_may_be_a_tag() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("<thi") == []
    assert splitter.feed("s> is no tag") == [answer("<this> is no tag")]
    assert splitter.feed("; 1 <") == [answer("; 1 ")]
    assert splitter.feed(" 2") == [answer("< 2")]


def test_a_backend_with_a_field_for_reasoning_is_not_searched_for_tags() -> None:
    splitter = ThinkSplitter()
    splitter.stop()
    assert splitter.feed("<think> is a tag.") == [answer("<think> is a tag.")]


def test_withheld_text_is_not_lost_when_the_search_stops() -> None:
    splitter = ThinkSplitter()
    splitter.feed("<thi")
    splitter.stop()
    assert splitter.feed("s>") == [answer("<this>")]


def test_an_assumed_block_is_dropped_when_reasoning_arrives_in_a_field() -> None:
    splitter = ThinkSplitter(preopened=True)
    splitter.stop()
    assert splitter.feed("Tide.") == [answer("Tide.")]
    assert not splitter.preopened


def test_a_block_that_is_open_stays_so_when_reasoning_comes_in_a_field_too() -> None:
    splitter = ThinkSplitter()
    splitter.feed("<think>Mo")
    splitter.stop()
    assert splitter.feed("on.</think>Tide.") == [thought("on."), answer("Tide.")]
