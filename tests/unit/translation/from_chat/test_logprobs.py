from typing import Any

import pytest

from antiphon.translation.from_chat.annotations import IMPOSSIBLE, read_logprobs, spelling


def logprobs(*tokens: str) -> list[dict[str, Any]]:
    return read_logprobs({"content": [{"token": token, "logprob": -1.0} for token in tokens]})


def test_a_token_keeps_its_bytes_its_probability_and_its_rivals() -> None:
    rival = {"token": "low", "bytes": [108], "logprob": -2}
    token = {"token": "high", "bytes": [104], "logprob": -0.5, "top_logprobs": [rival]}
    assert read_logprobs({"content": [token], "refusal": None}) == [token]


def test_rivals_beyond_the_requested_number_are_omitted() -> None:
    rivals = [{"token": token, "bytes": [97], "logprob": -2.0} for token in "abc"]
    token = {"token": "a", "bytes": [97], "logprob": -0.5, "top_logprobs": rivals}
    assert read_logprobs({"content": [token]}, 2) == [token | {"top_logprobs": rivals[:2]}]
    assert read_logprobs({"content": [token]}, 0) == [token | {"top_logprobs": []}]


def test_what_is_missing_is_filled_in() -> None:
    assert read_logprobs({"content": [{"token": "é"}]}) == [
        {"token": "é", "bytes": [195, 169], "logprob": IMPOSSIBLE, "top_logprobs": []}
    ]


@pytest.mark.parametrize("odd", [None, "x", True, float("nan"), float("-inf"), [], {}])
def test_a_probability_that_is_no_number_is_that_of_the_impossible(odd: Any) -> None:
    assert read_logprobs({"content": [{"token": "a", "logprob": odd}]})[0]["logprob"] == IMPOSSIBLE


@pytest.mark.parametrize("odd", [None, "a", 97, [None], ["a"], {}])
def test_invalid_bytes_are_replaced_by_those_of_the_token(odd: Any) -> None:
    assert read_logprobs({"content": [{"token": "a", "bytes": odd}]})[0]["bytes"] == [97]


@pytest.mark.parametrize("odd", [None, 5, {"token": "b"}, [None, "b", {"token": None}]])
def test_invalid_rivals_are_omitted(odd: Any) -> None:
    assert (
        read_logprobs({"content": [{"token": "a", "top_logprobs": odd}]})[0]["top_logprobs"] == []
    )


@pytest.mark.parametrize(
    "odd", [None, [], "x", {}, {"content": None}, {"content": {"token": "a"}}, {"content": [3]}]
)
def test_what_holds_no_tokens_gives_none(odd: Any) -> None:
    assert read_logprobs(odd) == []


def test_the_tokens_of_a_text_are_those_that_spell_it() -> None:
    tokens = logprobs("<think>", "Moon", "</think>", "\n", "Ti", "de")
    assert spelling(tokens, "Tide") == tokens[4:]


def test_a_token_may_begin_before_the_text() -> None:
    tokens = logprobs("</think>", "\n\nTide")
    assert spelling(tokens, "Tide") == tokens[1:]


def test_tokens_that_spell_another_text_are_all_preserved() -> None:
    tokens = logprobs("Tide", " \\xf0", "\\x9f")
    assert spelling(tokens, "Tide ") == tokens
    assert spelling([], "Tide") == []
