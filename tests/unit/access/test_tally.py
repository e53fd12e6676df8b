"""What an answer that is passed through used: as its backend counts it, or by its size."""

import json

import pytest

from antiphon.access import tally as tallying
from antiphon.access.tally import ImagesTally, Tally
from antiphon.translation.to_chat_completions.tokens import request_tokens

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def answer(**message: object) -> bytes:
    return json.dumps({"choices": [{"message": message}]}).encode()


def test_a_call_of_a_tool_counts_by_its_size() -> None:
    long, short = (
        {"id": "c", "function": {"name": "f", "arguments": "x" * size}} for size in (4_000, 40)
    )
    spent = []
    for call in (long, short):
        tally = Tally(is_stream=False)
        tally.feed(answer(tool_calls=[call]))
        spent.append(tally.usage(REQUEST).output_tokens)

    assert spent[0] - spent[1] == 990


@pytest.mark.parametrize(
    "last",
    [
        {"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}},
        {
            "choices": [
                {"index": 0, "delta": {}, "usage": {"prompt_tokens": 3, "completion_tokens": 1}}
            ]
        },
        {"choices": []},
    ],
)
@pytest.mark.parametrize("in_choice", [False, True])
def test_the_largest_usage_of_a_stream_is_charged(last: dict[str, object], in_choice: bool) -> None:
    usage = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
    choice: dict[str, object] = {"index": 0, "delta": {}, "finish_reason": "stop"}
    first = (
        {"choices": [choice | {"usage": usage}]}
        if in_choice
        else {"choices": [choice], "usage": usage}
    )
    tally = Tally(is_stream=True)
    for chunk in (first, last):
        tally.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    spent = tally.usage(REQUEST)
    assert (spent.input_tokens, spent.output_tokens) == (30, 4)


def test_an_answer_counts_by_its_size_unless_it_is_too_large_to_scan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tallying, "MAX_PLAIN", 800)
    tokens = request_tokens(REQUEST)
    spent = []
    for parts in (2, 3):
        tally = Tally(is_stream=False)
        for _ in range(parts):
            tally.feed(b"word" * 100)
        spent.append(tally.usage(REQUEST))

    assert [(one.input_tokens, one.output_tokens) for one in spent] == [(tokens, 200), (tokens, 0)]


@pytest.mark.parametrize("step", [1, 5, 64, 10_000])
def test_the_tokens_of_images_are_found_wherever_the_answer_is_cut(step: int) -> None:
    usage = {"input_tokens": 3, "output_tokens": 64, "total_tokens": 67}
    data = [{"b64_json": "A" * 5_000, "revised_prompt": 'a "usage": {"input_tokens": 9}'}]
    for whole in ({"usage": usage, "data": data}, {"data": data, "usage": usage}):
        tally = ImagesTally()
        body = json.dumps(whole).encode()
        for begin in range(0, len(body), step):
            tally.feed(body[begin : begin + step])
        found = tally.usage()
        assert found is not None
        assert (found.input_tokens, found.output_tokens) == (3, 64)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{}", b'{"usage": null}', b'{"usage": {'),
        *(b'{"usage": {"input_tokens": "9"}}', b'{"usage": {"input_tokens": -1}}'),
    ],
)
def test_answers_with_images_that_report_no_tokens_have_none(body: bytes) -> None:
    tally = ImagesTally()
    tally.feed(body)
    assert tally.usage() is None


def test_usage_outside_of_the_choices_counts_if_those_have_the_same() -> None:
    tally = Tally(is_stream=True)
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    choice = {"index": 0, "delta": {}, "usage": usage}
    cached = usage | {"prompt_tokens_details": {"cached_tokens": 4}}
    tally.feed(b"data: " + json.dumps({"choices": [choice], "usage": cached}).encode() + b"\n\n")
    assert tally.usage({}).input_tokens_details.cached_tokens == 4
