from typing import Any

import msgspec
import pytest

from antiphon.translation.from_chat.reader import read_usage


def counts(value: Any) -> tuple[int, int, int, int, int]:
    """Input, of it cached, output, of it reasoning, total."""
    usage = read_usage(value)
    assert usage is not None
    cached, reasoning = usage.input_tokens_details.cached_tokens, usage.output_tokens_details.reasoning_tokens
    return usage.input_tokens, cached, usage.output_tokens, reasoning, usage.total_tokens


def told(prompt: Any = 10, completion: Any = 4, total: Any = 14, **fields: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total, **fields}


@pytest.mark.parametrize("value", [None, {}, [], "14", 14, False])
def test_what_reports_no_usage_is_none(value: Any) -> None:
    assert read_usage(value) is None


def test_the_counts_get_the_names_of_the_responses_api() -> None:
    usage = told(
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


@pytest.mark.parametrize(
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
    assert counts(told(**fields)) == (10, 6, 4, 0, 14)


@pytest.mark.parametrize("fields", [{"reasoning_tokens": 3}, {"completion_tokens_details": {"reasoning_tokens": 3}}])
def test_reasoning_tokens_are_found_under_every_name(fields: dict[str, Any]) -> None:
    assert counts(told(**fields)) == (10, 0, 4, 3, 14)


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt_tokens_details": {"cache_creation_tokens": 2}},
        {"cache_creation_input_tokens": 2},
    ],
)
def test_tokens_written_to_the_cache_are_found_under_every_name(fields: dict[str, Any]) -> None:
    usage = read_usage(told(**fields))
    assert usage is not None
    assert usage.input_tokens_details.cache_write_tokens == 2


def test_the_names_of_the_responses_api_are_read_too() -> None:
    assert counts({"input_tokens": 10, "output_tokens": 4}) == (10, 0, 4, 0, 14)


def test_a_missing_total_is_the_sum() -> None:
    assert counts(told(total=None)) == (10, 0, 4, 0, 14)


def test_a_total_below_the_sum_is_not_believed() -> None:
    assert counts(told(total=5)) == (10, 0, 4, 0, 14)


def test_a_missing_output_is_what_the_total_leaves() -> None:
    assert counts(told(completion=None)) == (10, 0, 4, 0, 14)


def test_reasoning_counted_beside_the_completion_is_output() -> None:
    assert counts(told(total=34, completion_tokens_details={"reasoning_tokens": 20})) == (10, 0, 24, 20, 34)


def test_thoughts_that_only_the_total_counts_are_output() -> None:
    assert counts(told(total=34)) == (10, 0, 24, 0, 34)


def test_audio_counted_beside_the_prompt_is_input() -> None:
    assert counts(told(total=389, prompt_tokens_details={"audio_tokens": 375})) == (385, 0, 4, 0, 389)


def test_no_detail_exceeds_its_total() -> None:
    details = {
        "prompt_tokens_details": {"cached_tokens": 99, "cache_write_tokens": 99},
        "completion_tokens_details": {"reasoning_tokens": 99},
    }
    assert counts(told(**details)) == (10, 10, 4, 4, 14)
    usage = read_usage(told(**details))
    assert usage is not None
    assert usage.input_tokens_details.cache_write_tokens == 10


@pytest.mark.parametrize("odd", ["7", -7, None, [], {}, float("nan"), float("inf"), 2**60])
def test_a_count_that_is_none_counts_as_nothing(odd: Any) -> None:
    assert counts(told(prompt=odd, total=odd)) == (0, 0, 4, 0, 4)


def test_a_count_may_be_a_float() -> None:
    assert counts(told(10.0, 4.0, 14.0)) == (10, 0, 4, 0, 14)


def test_details_may_be_anything() -> None:
    assert counts(told(prompt_tokens_details=[3], completion_tokens_details="x")) == (10, 0, 4, 0, 14)
