"""Whether a rate-limit rejection concerns the one request, or the key: from the backend's wording.

The status, the code and the headers are the same in both cases; only the wording differs.

| Wording | Source | Concerns |
|---|---|---|
| `Request too large for gpt-4o in organization … on tokens per min (TPM): Limit 30000, Requested 36278.` | OpenAI, 429 (Aider-AI/aider#1880, openai/codex#38366); Groq, 413 (continuedev/continue#10218) | the request alone exceeds the limit: it never fits |
| `Rate limit reached for model … Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s.` | OpenAI, Groq, 429 (elizaOS/eliza#4040) | the request does not fit into what is left now; a smaller one may |
| the same with `Limit 100000, Used 99769, Requested 872` | OpenAI, Groq | the key: almost nothing is left |
| `Your request exceeds the maximum usage size allowed during peak load. Please retry after 20 seconds.` | Azure, 429 (pollinations/pollinations#6260) | the request does not fit now; a smaller one may |
| `… have exceeded token rate limit … Please retry after 86400 seconds.` | Azure, 429 (alex-wolf-ps/dbchatprov2#2) | the key |
| `This request would exceed the rate limit for your organization of 20,000 input tokens per minute.` | Anthropic, 429 (OpenHands/OpenHands#9259), also if nothing is left | the key |
"""  # noqa: E501 - a table

import re

NEVER_FITS = re.compile(r"\brequest too large\b", re.IGNORECASE)

FITS_LATER = re.compile(r"\brequest exceeds the maximum usage size\b", re.IGNORECASE)

_NUMBER = r"(\d[\d,]{0,18})"

COUNTS = re.compile(
    rf"\blimit:? {_NUMBER}(?:, used:? {_NUMBER})?, requested:? {_NUMBER}", re.IGNORECASE
)

USED_UP = 0.9
"""Share of a limit above which it counts as used up: requests of the usual size no longer fit."""


def never_fits(message: str) -> bool:
    """Whether the request alone exceeds the limit, so that waiting does not help."""
    if NEVER_FITS.search(message):
        return True
    counts = COUNTS.search(message)
    return counts is not None and _number(counts[3]) > _number(counts[1])


def is_about_request(message: str) -> bool:
    """Whether other requests of the same key can pass while this one does not."""
    if never_fits(message) or FITS_LATER.search(message):
        return True
    counts = COUNTS.search(message)
    return (
        counts is not None
        and counts[2] is not None
        and _number(counts[2]) < USED_UP * _number(counts[1])
    )


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))
