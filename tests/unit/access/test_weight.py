"""What a request is expected to weigh, worked out in small steps where it is large: as in one
step.
"""

from typing import Any

import pytest

from antiphon.access import weight
from antiphon.access.weight import weight_of, weight_of_chat, weight_of_response
from antiphon.protocol.requests import CreateResponse
from antiphon.translation.to_chat_completions.tokens import MEDIUM, MEDIUM_DATA

IMAGE = b'{"url": "data:image/png;base64,%b"}' % (b"A" * 5_000)
FILE = b'{"data": "%b"}' % (b"B" * 2_500)
WORDS = b'{"text": "%b"}' % (b"some words " * 300)
SPACED = b'{"image_url" : "%b"}' % (b"D" * 3_000)
RUN = b'{"text": "%b"}' % (b"C" * 2_000 + b" and words" * 50)
SHORT = b'{"url": "%b"}' % (b"E" * 50)
UNCLOSED = b'{"data": "%b"}' % (b"F" * 2_000 + b" and words" * 50)
BODY = (
    b"["
    + b", ".join(
        [IMAGE, WORDS, FILE, RUN, b'{"a": "data:"}', *[SHORT] * 100, UNCLOSED, IMAGE, SPACED, FILE]
    )
    + b"]"
)


@pytest.mark.parametrize("window", [997, 1_500, 2_048, 4_001, 7_777])
def test_media_are_found_wherever_a_step_ends(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = weight_of(BODY)
    monkeypatch.setattr(weight, "WINDOW", window)

    assert weight_of(BODY) == whole


def test_a_string_that_does_not_end_is_one() -> None:
    body = b'{"url": "data:' + b"A" * 200_000
    assert weight_of(body) < weight_of(b'{"url": "' + b"a b " * 50_000)


@pytest.mark.parametrize("size", [5_000, 200_000])
@pytest.mark.parametrize("field", [b"text", b"input", b"content", b"arguments", b"output"])
@pytest.mark.parametrize("start", [b"data:", b""])
def test_a_text_that_resembles_an_image_weighs_as_much_as_any_text(
    size: int, field: bytes, start: bytes
) -> None:
    body = b'{"%b": "%b%b"}' % (field, start, b"A" * size)
    assert weight_of(body).input_tokens == len(body) // 4


@pytest.mark.parametrize("size", [5_000, 200_000])
@pytest.mark.parametrize("field", [b"image_url", b"url", b"data"])
def test_an_image_and_a_sound_weigh_the_same_whatever_their_size(size: int, field: bytes) -> None:
    assert weight_of(b'{"%b":"data:%b"}' % (field, b"A" * size)).input_tokens - MEDIUM in range(5)


@pytest.mark.parametrize("window", [weight.WINDOW, 10_000_000], ids=["in steps", "at once"])
def test_a_file_weighs_by_its_size(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight, "WINDOW", window)
    body = b'{"file_data": "data:text/plain;base64,%b"}' % (b"A" * 3 * MEDIUM_DATA)
    assert weight_of(body).input_tokens - 4 * MEDIUM in range(10)


def test_a_field_of_media_inside_a_text_is_text() -> None:
    body = rb'{"text": "{\"url\": \"data:%b\"}"}' % (b"A" * 5_000)
    assert weight_of(body).input_tokens == len(body) // 4


@pytest.mark.parametrize(("limit", "output"), [(None, 1_000), (0, 0), (200, 200)])
def test_a_response_weighs_one_answer_as_long_as_its_limit(limit: int | None, output: int) -> None:
    request = CreateResponse(model="m", max_output_tokens=limit)
    for found in (weight_of_response(request, b"x" * 40), weight_of(b"x" * 40, limit)):
        assert found.bounded(1_000)[:2] == (10, output)


@pytest.mark.parametrize(
    ("bounds", "output"),
    [
        ({}, 1_000),
        ({"max_tokens": -1}, 1_000),
        ({"max_tokens": 0}, 1_000),
        ({"max_tokens": 1}, 1),
        ({"max_tokens": 200}, 200),
        ({"max_completion_tokens": 1, "max_tokens": 5_000}, 5_000),
        ({"max_completion_tokens": 5_000, "max_tokens": 1}, 5_000),
        ({"max_tokens": 200, "n": 10}, 2_000),
        ({"n": 3}, 3_000),
    ],
)
def test_a_chat_completion_weighs_all_of_its_answers_at_the_higher_bound(
    bounds: dict[str, Any], output: int
) -> None:
    assert (
        weight_of_chat({"model": "m", "messages": [], **bounds}, b"{}").bounded(1_000).output_tokens
        == output
    )
