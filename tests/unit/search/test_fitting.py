"""Texts fit into the calls of any server: all are embedded, nothing is lost, and what works is
learned.
"""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from antiphon.search.chunking import estimate_tokens
from antiphon.search.fitting import FEWEST_TOKENS, MOST_CHARACTERS, EmbeddingLimits, Fitting
from tests.support.cases import each
from tests.support.chance import examples

WORDS = [
    "tide ",
    "High water is at nine. ",
    "\n",
    "x" * 90,
    "机器学习",
    "👩\u200d👧 ",
    "naïve café ",
    "   ",
]
texts = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map("".join).filter(str.strip),
    max_size=90,
)
SHORTEST = 2 * FEWEST_TOKENS * 4
"""Characters of a text that every server of these tests accepts."""


class Server:
    """Refuses calls with more texts, or with a text of more characters."""

    def __init__(self, texts: int, characters: int) -> None:
        self.texts = texts
        self.characters = characters
        self.refusals = 0
        self.calls = 0

    def accepts(self, batch: Sequence[str]) -> bool:
        self.calls += 1
        fits = len(batch) <= self.texts and max(map(len, batch)) <= self.characters
        self.refusals += not fits
        return fits


def run(fitting: Fitting, server: Server) -> bool:
    """Whether all texts were embedded. The vector of a text is the text."""
    while batch := fitting.take():
        if server.accepts(batch):
            fitting.accepted([text.encode("utf-8", "surrogatepass") for text in batch])
        elif not fitting.refused():
            return False
    return True


def without_blanks(text: str) -> str:
    return "".join(text.split())


@given(texts, st.integers(1, 100), st.integers(SHORTEST, 400), st.integers(1, 64))
@examples(100)
def test_no_text_is_lost_whatever_the_limits_are(
    provided: list[str], most_texts: int, most_characters: int, at_first: int
) -> None:
    server = Server(most_texts, most_characters)
    fitting = Fitting(provided, EmbeddingLimits(at_first))
    assert run(fitting, server)
    for text, parts in zip(provided, fitting.parts, strict=True):
        assert without_blanks("".join(part.text for part in parts)) == without_blanks(text)
        assert all(part.text in text and 0 < len(part.text) <= most_characters for part in parts)
        assert all(part.vector == part.text.encode("utf-8", "surrogatepass") for part in parts)


@given(texts, st.integers(1, 100), st.integers(SHORTEST, 400))
@examples(50)
def test_what_was_learned_is_not_refused_again(
    provided: list[str], most_texts: int, most_characters: int
) -> None:
    server = Server(most_texts, most_characters)
    first = Fitting(provided, EmbeddingLimits(64))
    assert run(first, server)
    before = server.refusals
    again = Fitting(provided, first.limits)
    assert run(again, server)
    assert (server.refusals == before) or again.limits != first.limits


@each(
    ("most_texts", "refusals"),
    [(10, 3), (32, 1), (1, 6), (64, 0), (100, 0)],
)
def test_a_smaller_batch_is_found_by_halving_and_remembered(most_texts: int, refusals: int) -> None:
    server = Server(most_texts, 100)
    fitting = Fitting(["tide"] * 200, EmbeddingLimits(64))
    assert run(fitting, server)
    assert server.refusals == refusals
    assert fitting.limits == EmbeddingLimits(64 >> refusals)
    again = Fitting(["tide"] * 64, fitting.limits)
    assert run(again, server)
    assert server.refusals == refusals


def test_one_long_text_among_many_teaches_a_length_and_no_batch() -> None:
    server = Server(64, 1000)
    fitting = Fitting([*["tide"] * 30, "high water " * 110, *["tide"] * 30], EmbeddingLimits(64))
    assert run(fitting, server)
    assert len(fitting.parts[30]) in (2, 3)
    assert fitting.limits.texts == 64
    assert fitting.limits.tokens == estimate_tokens("high water " * 110) // 2


def test_texts_that_are_known_to_be_too_long_are_split_before_and_share_calls() -> None:
    long = "high water is at nine. " * 40
    server = Server(64, 10_000)
    fitting = Fitting([long] * 8, EmbeddingLimits(64, 60))
    assert run(fitting, server)
    assert server.calls == 1
    assert all(estimate_tokens(part.text) <= 60 for parts in fitting.parts for part in parts)


def test_a_server_that_refuses_everything_teaches_nothing() -> None:
    fitting = Fitting(["tide " * 200] * 64, EmbeddingLimits(64))
    assert not run(fitting, Server(0, 0))
    assert fitting.limits == EmbeddingLimits(64)


def test_a_call_has_so_many_texts_and_characters_at_most() -> None:
    long = "x" * (MOST_CHARACTERS // 2)
    fitting = Fitting([long, long, "y", long * 3, "z"], EmbeddingLimits(64))
    sizes = list[int]()
    while batch := fitting.take():
        sizes.append(len(batch))
        fitting.accepted([b""] * len(batch))
    assert sizes == [2, 1, 1, 1]
    assert Fitting([], EmbeddingLimits(64)).take() == []


def test_limits_of_several_servers_are_the_smaller_ones() -> None:
    assert EmbeddingLimits(10).both(EmbeddingLimits(32, 400)) == EmbeddingLimits(10, 400)
    assert EmbeddingLimits(64, 300).both(EmbeddingLimits(32, 400)) == EmbeddingLimits(32, 300)
    assert EmbeddingLimits(64).both(EmbeddingLimits(64)) == EmbeddingLimits(64)
