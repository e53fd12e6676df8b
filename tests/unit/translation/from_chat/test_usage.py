from typing import Any

import msgspec
import pytest

from antiphon.translation.from_chat.reader import larger, read_usage
from tests.support.cases import each
from tests.support.replay import delta, sse
from tests.support.translate import translate, translate_plain


def counts(value: Any) -> tuple[int, int, int, int, int]:
    """Input, of it cached, output, of it reasoning, total."""
    usage = read_usage(value)
    assert usage is not None
    cached = usage.input_tokens_details.cached_tokens
    reasoning = usage.output_tokens_details.reasoning_tokens
    return usage.input_tokens, cached, usage.output_tokens, reasoning, usage.total_tokens


def reported(
    prompt: Any = 10, completion: Any = 4, total: Any = 14, **fields: Any
) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": total,
        **fields,
    }


@each("value", [None, {}, [], "14", 14, False])
def test_an_answer_without_usage_is_ignored(value: Any) -> None:
    assert read_usage(value) is None


def test_the_counts_get_the_names_of_the_responses_api() -> None:
    usage = reported(
        prompt_tokens_details={"cached_tokens": 6, "cache_write_tokens": 2},
        completion_tokens_details={"reasoning_tokens": 3},
    )
    assert msgspec.to_builtins(read_usage(usage)) == {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 6, "cache_write_tokens": 2},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 14,
    }


@each(
    "fields",
    [
        {"prompt_cache_hit_tokens": 6},
        {"cache_read_input_tokens": 6},
        {"cached_tokens": 6},
        {"prompt_tokens_details": {"cached_tokens": 6}},
        {"prompt_tokens_details": {"cached_tokens": 0}, "prompt_cache_hit_tokens": 6},
    ],
)
def test_cached_tokens_are_found_under_every_name(fields: dict[str, Any]) -> None:
    assert counts(reported(**fields)) == (10, 6, 4, 0, 14)


@each("fields", [{"reasoning_tokens": 3}, {"completion_tokens_details": {"reasoning_tokens": 3}}])
def test_reasoning_tokens_are_found_under_every_name(fields: dict[str, Any]) -> None:
    assert counts(reported(**fields)) == (10, 0, 4, 3, 14)


@each(
    "fields",
    [
        {"prompt_tokens_details": {"cache_creation_tokens": 2}},
        {"cache_creation_input_tokens": 2},
    ],
)
def test_tokens_written_to_the_cache_are_found_under_every_name(fields: dict[str, Any]) -> None:
    usage = read_usage(reported(**fields))
    assert usage is not None
    assert usage.input_tokens_details.cache_write_tokens == 2


def test_the_names_of_the_responses_api_are_read_too() -> None:
    assert counts({"input_tokens": 10, "output_tokens": 4}) == (10, 0, 4, 0, 14)


def test_a_missing_total_is_the_sum() -> None:
    assert counts(reported(total=None)) == (10, 0, 4, 0, 14)


def test_a_total_below_the_sum_is_not_believed() -> None:
    assert counts(reported(total=5)) == (10, 0, 4, 0, 14)


def test_a_missing_output_is_what_the_total_leaves() -> None:
    assert counts(reported(completion=None)) == (10, 0, 4, 0, 14)


def test_reasoning_counted_apart_from_the_completion_is_output() -> None:
    assert counts(reported(total=34, completion_tokens_details={"reasoning_tokens": 20})) == (
        10,
        0,
        24,
        20,
        34,
    )


def test_thoughts_that_only_the_total_counts_are_output() -> None:
    assert counts(reported(total=34)) == (10, 0, 24, 0, 34)


def test_audio_counted_apart_from_the_prompt_is_input() -> None:
    assert counts(reported(total=389, prompt_tokens_details={"audio_tokens": 375})) == (
        385,
        0,
        4,
        0,
        389,
    )


def test_no_detail_exceeds_its_total() -> None:
    details = {
        "prompt_tokens_details": {"cached_tokens": 99, "cache_write_tokens": 99},
        "completion_tokens_details": {"reasoning_tokens": 99},
    }
    assert counts(reported(**details)) == (10, 10, 4, 4, 14)
    usage = read_usage(reported(**details))
    assert usage is not None
    assert usage.input_tokens_details.cache_write_tokens == 10


@each("odd", ["7", -7, None, [], {}, float("nan"), float("inf"), 2**60])
def test_an_invalid_count_is_ignored(odd: Any) -> None:
    assert counts(reported(prompt=odd, total=odd)) == (0, 0, 4, 0, 4)


def test_a_count_may_be_a_float() -> None:
    assert counts(reported(10.0, 4.0, 14.0)) == (10, 0, 4, 0, 14)


def test_details_may_be_anything() -> None:
    assert counts(reported(prompt_tokens_details=[3], completion_tokens_details="x")) == (
        10,
        0,
        4,
        0,
        14,
    )


BEDROCK = reported(368, 19, 10_923, prompt_tokens_details={"cached_tokens": 10_536})


@each(
    ("usage", "expected"),
    [
        pytest.param(BEDROCK, (10_904, 10_536, 19, 0, 10_923), id="cached"),
        pytest.param(
            reported(total=34, cache_read_input_tokens=20),
            (30, 20, 4, 0, 34),
            id="cached, Anthropic's name",
        ),
        pytest.param(
            reported(total=34, prompt_cache_hit_tokens=20),
            (30, 20, 4, 0, 34),
            id="cached, DeepSeek's name",
        ),
        pytest.param(
            reported(total=21, cache_creation_input_tokens=7), (17, 0, 4, 0, 21), id="written"
        ),
        pytest.param(
            reported(total=41, cache_read_input_tokens=20, cache_creation_input_tokens=7),
            (37, 20, 4, 0, 41),
            id="both",
        ),
        pytest.param(
            reported(total=39, cached_tokens=20, completion_tokens_details={"reasoning_tokens": 5}),
            (30, 20, 9, 5, 39),
            id="cached and reasoning",
        ),
        pytest.param(
            {
                "input_tokens": 10,
                "output_tokens": 4,
                "total_tokens": 34,
                "cache_read_input_tokens": 20,
            },
            (30, 20, 4, 0, 34),
            id="cached, the names of Responses",
        ),
        # Guards: these counts are as they were.
        pytest.param(
            reported(total=34, prompt_tokens_details={"cached_tokens": 6}),
            (10, 6, 24, 0, 34),
            id="inside",
        ),
        pytest.param(
            reported(total=18, prompt_tokens_details={"cached_tokens": 4}, reasoning_tokens=4),
            (10, 4, 8, 4, 18),
            id="same",
        ),
    ],
)
def test_cached_tokens_apart_from_the_prompt_are_input(usage: Any, expected: Any) -> None:
    assert counts(usage) == expected


WHOLE = reported(total=14)
ZEROS = reported(0, 0, 0)
DETAILED = reported(total=14, prompt_tokens_details={"cached_tokens": 6})


def in_choice(usage: Any, finish_reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason, "usage": usage}]}


@each(
    ("chunks", "expected"),
    [
        pytest.param(
            [{**delta("stop"), "usage": WHOLE}, {"choices": [], "usage": ZEROS}],
            14,
            id="zeros at the end",
        ),
        pytest.param(
            [{**delta("stop"), "usage": WHOLE}, in_choice(ZEROS)], 14, id="zeros in the choice"
        ),
        pytest.param(
            [{**delta("stop"), "usage": WHOLE}, {"choices": [], "usage": reported(10, 1, 11)}],
            14,
            id="smaller",
        ),
        pytest.param([in_choice(WHOLE, "stop")], 14, id="in the choice"),
        pytest.param(
            [in_choice(reported(10, 1, 11)), in_choice(WHOLE, "stop")],
            14,
            id="growing in the choice",
        ),
        pytest.param(
            [{**delta("stop"), "x_groq": {"usage": WHOLE}}, {"usage": ZEROS}],
            14,
            id="Groq's, then zeros",
        ),
        pytest.param(
            [{**delta("stop"), "usage": reported(10, 4, None)}, {"usage": ZEROS}],
            14,
            id="without a total",
        ),
        # A guard: the later one of the same size counts.
        pytest.param(
            [{**delta("stop"), "usage": WHOLE}, {"choices": [], "usage": DETAILED}],
            14,
            id="more details",
        ),
    ],
)
def test_the_largest_usage_of_a_stream_counts(chunks: Any, expected: int) -> None:
    usage = translate(sse(delta(content="Hi"), *chunks)).response["usage"]
    assert usage["total_tokens"] == expected
    assert usage["input_tokens_details"]["cached_tokens"] == (
        6 if chunks[-1].get("usage") is DETAILED else 0
    )


def test_the_usage_of_a_plain_answer_can_be_in_its_choice() -> None:
    answer = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop", "usage": WHOLE}]}
    assert translate_plain(answer).response["usage"]["total_tokens"] == 14


@each(
    ("known", "later", "expected"),
    [
        (reported(1_000, 1, 1_001), reported(0, 500, 500), (1_000, 0, 500, 0, 1_500)),
        (reported(100, 1, 101), reported(20, 50, 70), (20, 0, 50, 0, 70)),
        (reported(20, 50, 70), reported(100, 1, 101), (20, 0, 50, 0, 70)),
        (reported(10, 4, 14), reported(0, 0, 0), (10, 0, 4, 0, 14)),
        (reported(10, 4, 14), reported(12, 4, 16), (12, 0, 4, 0, 16)),
        (
            reported(1_000, 0, 1_000, prompt_tokens_details={"cached_tokens": 9}),
            reported(0, 500, 500),
            (1_000, 9, 500, 0, 1_500),
        ),
        ({"input_tokens": 7}, {"output_tokens": 3}, (7, 0, 3, 0, 10)),
    ],
)
def test_a_usage_in_two_parts_is_put_together(known: Any, later: Any, expected: Any) -> None:
    assert counts(larger(known, later)) == expected


def test_usage_outside_of_the_choices_counts_if_they_have_the_same() -> None:
    cached = reported(prompt_tokens_details={"cached_tokens": 9})
    chunk = in_choice(reported(), "stop") | {"usage": cached}
    usage = translate(sse(delta(content="Hi"), chunk)).response["usage"]
    assert usage["input_tokens_details"]["cached_tokens"] == 9
