"""Log probabilities of tokens, as the Responses API has them (specification section 4)."""

from typing import Any

IMPOSSIBLE = -9999.0
"""What OpenAI sends for a token whose probability is nothing; here also where a backend sends null."""


def read_logprobs(value: Any) -> list[dict[str, Any]]:
    """Return a choice's `logprobs` as a list of `{token, bytes, logprob, top_logprobs}`."""
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, list):
        return []
    return [
        {**_token(entry), "top_logprobs": [_token(top) for top in entry.get("top_logprobs") or () if _is_token(top)]}
        for entry in content
        if _is_token(entry)
    ]


def _is_token(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("token"), str)


def _token(entry: dict[str, Any]) -> dict[str, Any]:
    token, logprob, octets = entry["token"], entry.get("logprob"), entry.get("bytes")
    return {
        "token": token,
        "bytes": octets if isinstance(octets, list) else list(token.encode("utf-8", "replace")),
        "logprob": logprob if isinstance(logprob, int | float) else IMPOSSIBLE,
    }
