"""What an answer that is passed through used: as its backend counts it, or by its size."""

import json

import pytest

from antiphon.access import tally as tallying
from antiphon.access.tally import Tally
from antiphon.translation.to_chat.tokens import asked_tokens

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def answer(**message: object) -> bytes:
    return json.dumps({"choices": [{"message": message}]}).encode()


def test_a_call_of_a_tool_counts_by_its_size() -> None:
    long, short = ({"id": "c", "function": {"name": "f", "arguments": "x" * size}} for size in (4_000, 40))
    spent = []
    for call in (long, short):
        tally = Tally(is_stream=False)
        tally.feed(answer(tool_calls=[call]))
        spent.append(tally.usage(REQUEST).output_tokens)

    assert spent[0] - spent[1] == 990


def test_an_answer_counts_by_its_size_unless_it_is_too_large_to_look_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallying, "MAX_PLAIN", 800)
    tokens = asked_tokens(REQUEST)
    spent = []
    for parts in (2, 3):
        tally = Tally(is_stream=False)
        for _ in range(parts):
            tally.feed(b"word" * 100)
        spent.append(tally.usage(REQUEST))

    assert [(one.input_tokens, one.output_tokens) for one in spent] == [(tokens, 200), (tokens, 0)]
