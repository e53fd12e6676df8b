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
    counts, prompt = _counts(value), _counts(value.get("prompt_tokens_details"))
    completion = _counts(value.get("completion_tokens_details"))
    input_tokens = counts.get("prompt_tokens") or counts.get("input_tokens", 0)
    output_tokens = counts.get("completion_tokens") or counts.get("output_tokens", 0)
    beside = max(counts.get("total_tokens", 0) - input_tokens - output_tokens, 0)
    if beside and beside == prompt.get("audio_tokens"):
        input_tokens += beside  # Mistral counts audio beside `prompt_tokens`
    else:
        output_tokens += beside  # xAI and Gemini count reasoning beside `completion_tokens`
    cached = (
        prompt.get("cached_tokens")
        or counts.get("prompt_cache_hit_tokens")  # DeepSeek
        or counts.get("cache_read_input_tokens")
        or counts.get("cached_tokens", 0)
    )
    written = (
        prompt.get("cache_write_tokens")
        or prompt.get("cache_creation_tokens")
        or counts.get("cache_creation_input_tokens", 0)
    )
    reasoning = completion.get("reasoning_tokens") or counts.get("reasoning_tokens", 0)
    return Usage(
        input_tokens=input_tokens,
        input_tokens_details=InputTokensDetails(
            cached_tokens=min(cached, input_tokens), cache_write_tokens=min(written, input_tokens)
        ),
        output_tokens=output_tokens,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=min(reasoning, output_tokens)),
        total_tokens=input_tokens + output_tokens,
    )


def _counts(value: Any) -> dict[str, int]:
    """Return what counts at least one, by its name."""
    if not isinstance(value, dict) or not value:
        return {}
    return {name: int(count) for name, count in value.items() if isinstance(count, int | float) and 1 <= count < 2**53}
