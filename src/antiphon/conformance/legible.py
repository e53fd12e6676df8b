"""Text that a stranger's server sent, fit to be read: nothing in it acts on a terminal, a page or a file."""

import re

UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""Characters that are not seen: controls, half a character, and those that turn the direction of writing."""


def legible(text: str) -> str:
    """Return the text with characters that are not seen as their numbers, such as `\\u001b`."""
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
