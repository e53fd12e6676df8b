"""How an answer of the Messages API ended: its reason, its tokens, its error."""

from collections.abc import Mapping
from typing import Any

FINISH_REASONS: Mapping[str, str] = {
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""`stop_reason` -> `finish_reason`; every other one is a usual end."""

CODES: Mapping[str, str] = {
    "overloaded_error": "server_is_overloaded",
    "rate_limit_error": "rate_limit_exceeded",
    "billing_error": "insufficient_quota",
}
"""Types of errors -> the codes that clients of the other APIs act upon."""

_INPUTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The disjoint counts of the prompt."""


def finish_reason(stop_reason: Any) -> str:
    """Return the finish reason of Chat Completions for a stop reason."""
    return FINISH_REASONS.get(str(stop_reason), "stop")


def joined_usage(before: Mapping[str, Any], after: Any) -> dict[str, Any]:
    """Return the counts of a stream so far: later ones replace earlier ones.

    Some gateways count the prompt at the beginning alone, and then send zeros for it.
    """
    later = after if isinstance(after, dict) else {}
    is_counted = any(_count(later.get(name)) for name in _INPUTS)
    unchanged = () if is_counted else _INPUTS
    return {**before, **{name: value for name, value in later.items() if name not in unchanged}}


def chat_usage(usage: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the tokens as Chat Completions counts them, None without any: there, the prompt
    includes what was read from the cache and written to it.
    """
    uncached, written, cached = (_count(usage.get(name)) for name in _INPUTS)
    stated = _count(usage.get("output_tokens"))
    prompt = uncached + written + cached
    if not (prompt or stated):
        return None
    details = usage.get("output_tokens_details")
    thinking = _count(details.get("thinking_tokens")) if isinstance(details, dict) else 0
    return {
        "prompt_tokens": prompt,
        "completion_tokens": stated,
        "total_tokens": prompt + stated,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        **({"completion_tokens_details": {"reasoning_tokens": thinking}} if thinking else {}),
    }


def chat_error(error: Any) -> dict[str, Any]:
    """Return the error of an answer, or of an envelope, as Chat Completions words it."""
    inner = error.get("error", error) if isinstance(error, dict) else error
    if not isinstance(inner, dict):
        return {"message": str(inner), "type": "api_error", "code": None}
    kind = str(inner.get("type"))
    return {"message": str(inner.get("message", "")), "type": kind, "code": CODES.get(kind)}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
