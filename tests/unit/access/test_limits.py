"""What a request is expected to weigh, worked out in small steps where it is large: as in one step."""

from typing import Any

import pytest

from antiphon.access import limits
from antiphon.access.limits import OUTPUT, weight_of, weight_of_chat

IMAGE = b'{"url": "data:image/png;base64,%b"}' % (b"A" * 5_000)
FILE = b'{"data": "%b"}' % (b"B" * 2_500)
WORDS = b'{"text": "%b"}' % (b"some words " * 300)
RUN = b'{"text": "%b"}' % (b"C" * 2_000 + b" and words" * 50)
BODY = b"[" + b", ".join([IMAGE, WORDS, FILE, RUN, b'{"a": "data:"}', IMAGE, FILE]) + b"]"


@pytest.mark.parametrize("window", [997, 1_500, 2_048, 4_001, 7_777])
def test_media_are_found_wherever_a_step_ends(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = weight_of(BODY)
    monkeypatch.setattr(limits, "WINDOW", window)

    assert weight_of(BODY) == whole


def test_a_string_that_does_not_end_is_one() -> None:
    body = b'["data:' + b"A" * 200_000
    assert weight_of(body) < weight_of(b'["' + b"a b " * 50_000)


@pytest.mark.parametrize(
    ("bounds", "output"),
    [
        ({}, OUTPUT),
        ({"max_tokens": -1}, OUTPUT),
        ({"max_tokens": 200}, 200),
        ({"max_completion_tokens": 1, "max_tokens": 5_000}, 5_000),
        ({"max_completion_tokens": 5_000, "max_tokens": 1}, 5_000),
        ({"max_tokens": 200, "n": 10}, 2_000),
        ({"n": 3}, 3 * OUTPUT),
    ],
)
def test_a_chat_completion_weighs_all_of_its_answers_at_the_higher_bound(bounds: dict[str, Any], output: int) -> None:
    assert weight_of_chat({"model": "m", "messages": [], **bounds}, b"{}").output_tokens == output
