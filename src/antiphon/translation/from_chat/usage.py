"""A backend's count of tokens, in the words of the Responses API (specification section 3, `usage`)."""

from typing import Any

from antiphon.protocol.response import InputTokensDetails, OutputTokensDetails, Usage


def read_usage(value: Any) -> Usage | None:
    """Return the usage that this object reports, None where it reports none.

    Backends differ in names, and in what `prompt_tokens` and `completion_tokens` leave out; here the total is input
    plus output, and no detail exceeds what it is a detail of. A count that is no number counts as 0.
    """
    if not isinstance(value, dict) or not value:
        return None
    prompt, completion = _details(value, "prompt_tokens_details"), _details(value, "completion_tokens_details")
    input_tokens = _count(value, "prompt_tokens", "input_tokens")
    output_tokens = _count(value, "completion_tokens", "output_tokens")
    beside = max(_count(value, "total_tokens") - input_tokens - output_tokens, 0)
    if beside and beside == _count(prompt, "audio_tokens"):
        input_tokens += beside  # Mistral counts audio beside `prompt_tokens`
    else:
        output_tokens += beside  # xAI and Gemini count reasoning beside `completion_tokens`
    cached = _count(prompt, "cached_tokens") or _count(
        value,
        "prompt_cache_hit_tokens",  # DeepSeek
        "cache_read_input_tokens",
        "cached_tokens",
    )
    written = _count(prompt, "cache_write_tokens", "cache_creation_tokens") or _count(
        value, "cache_creation_input_tokens"
    )
    reasoning = _count(completion, "reasoning_tokens") or _count(value, "reasoning_tokens")
    return Usage(
        input_tokens=input_tokens,
        input_tokens_details=InputTokensDetails(
            cached_tokens=min(cached, input_tokens), cache_write_tokens=min(written, input_tokens)
        ),
        output_tokens=output_tokens,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=min(reasoning, output_tokens)),
        total_tokens=input_tokens + output_tokens,
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
