"""A backend's count of tokens, in the words of the Responses API (specification section 3, `usage`)."""

from typing import Any

from antiphon.protocol.response import InputTokensDetails, OutputTokensDetails, Usage


def read_usage(value: Any) -> Usage | None:
    """Return the usage that this object reports, None where it reports none.

    DeepSeek names cached tokens `prompt_cache_hit_tokens`; Databricks leaves `completion_tokens` out until the last
    chunk; some backends send floats, strings or negative numbers.
    """
    if not isinstance(value, dict) or not value:
        return None
    prompt = _details(value, "prompt_tokens_details")
    completion = _details(value, "completion_tokens_details")
    input_tokens = _count(value, "prompt_tokens", "input_tokens")
    output_tokens = _count(value, "completion_tokens", "output_tokens")
    total_tokens = _count(value, "total_tokens") or input_tokens + output_tokens
    return Usage(
        input_tokens=input_tokens,
        input_tokens_details=InputTokensDetails(
            cached_tokens=_count(prompt, "cached_tokens")
            or _count(value, "prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens"),
            cache_write_tokens=_count(prompt, "cache_write_tokens", "cache_creation_tokens")
            or _count(value, "cache_creation_input_tokens"),
        ),
        output_tokens=output_tokens or max(total_tokens - input_tokens, 0),
        output_tokens_details=OutputTokensDetails(
            reasoning_tokens=_count(completion, "reasoning_tokens") or _count(value, "reasoning_tokens")
        ),
        total_tokens=total_tokens,
    )


def _details(value: dict[str, Any], name: str) -> dict[str, Any]:
    details = value.get(name)
    return details if isinstance(details, dict) else {}


def _count(value: dict[str, Any], *names: str) -> int:
    for name in names:
        count = value.get(name)
        if isinstance(count, int | float) and 0 < count < 2**53:
            return int(count)
    return 0
