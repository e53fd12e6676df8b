"""What the two APIs' tokens have in common, and a text of many scripts."""

from typing import Any

from antiphon.conformance.reading import at, is_number

TEA = "\u8336 \u0686\u0627\u06cc \U0001f375 \u202e\u202c \u00e9 e\u0301"
"""Han and Arabic letters, an emoji, marks of direction, and an accent in both its forms."""


def is_token(value: Any) -> bool:
    """Whether this is a token with its log probability."""
    number = at(value, "logprob")
    return isinstance(at(value, "token"), str) and is_number(number) and number <= 0
