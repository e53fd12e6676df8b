"""Streamed completions."""

from typing import Any

from antiphon_verify.replies import Reply, chunks, states
from antiphon_verify.replies.completions import CHUNKS, COMPLETION, END, ROLE, USAGE, chunk

WORDS = (ROLE, chunk({"content": "One two three "}), chunk({"content": "four five six."}), END)

GOOD = chunks(*WORDS)

STREAMED = chunks(*(one | {"usage": None} for one in CHUNKS), USAGE)

PLAIN = states(COMPLETION)


def each(**fields: Any) -> Reply:
    """Return all chunks, with other fields."""
    return chunks(*(one | fields for one in WORDS))
