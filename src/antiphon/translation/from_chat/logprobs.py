"""Log probabilities of tokens, as the Responses API has them (specification section 4)."""

import math
from typing import Any

IMPOSSIBLE = -9999.0
"""What OpenAI sends for a token whose probability is nothing; here also where a backend sends null."""


def read_logprobs(value: Any, rivals: int = 20) -> list[dict[str, Any]]:
    """Return a choice's `logprobs` as a list of `{token, bytes, logprob, top_logprobs}`, the last at most `rivals`."""
    content = value.get("content") if isinstance(value, dict) else None
    return [
        {**_token(entry), "top_logprobs": [_token(top) for top in _tokens(entry.get("top_logprobs"))[:rivals]]}
        for entry in _tokens(content)
    ]


def spelling(logprobs: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """Return the last of `logprobs`, those whose tokens spell `text`; all where they do not.

    What stands before belongs to tokens that are no text of the message: reasoning, its tags, calls.
    """
    start, size = len(logprobs), 0
    while start and size < len(text):
        start -= 1
        size += len(logprobs[start]["token"])
    tokens = "".join(entry["token"] for entry in logprobs[start:])
    return logprobs[start:] if tokens.endswith(text) else logprobs


def _tokens(entries: Any) -> list[dict[str, Any]]:
    listed = entries if isinstance(entries, list) else []
    return [entry for entry in listed if isinstance(entry, dict) and isinstance(entry.get("token"), str)]


def _token(entry: dict[str, Any]) -> dict[str, Any]:
    token, logprob, octets = entry["token"], entry.get("logprob"), entry.get("bytes")
    is_listed = isinstance(octets, list) and all(type(octet) is int for octet in octets)
    is_number = type(logprob) is float and math.isfinite(logprob)
    return {
        "token": token,
        "bytes": octets if is_listed else list(token.encode()),
        "logprob": logprob if is_number or type(logprob) is int else IMPOSSIBLE,
    }
