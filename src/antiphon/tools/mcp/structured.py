"""Structured content of results: whether the text of a result already contains it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

MAX_COMPARED = 128 * 1024
"""Bytes of JSON, and characters of text, that are compared: more than of any result that the model
receives.
"""

_WRAPPER = "result"
"""The only field of the object in which servers of the Python SDK put a result that is not an
object.
"""


def repeats(content: Sequence[Mapping[str, Any]], structured: bytes) -> bool:
    """Whether the text blocks of a result are its structured content (JSON) once more.

    Servers send the JSON as text for older clients: as one block, or a list as a block for each
    entry.
    """
    texts = [str(block["text"]) for block in content if block["type"] == "text"]
    if not texts or len(structured) > MAX_COMPARED or sum(map(len, texts)) > MAX_COMPARED:
        return False
    value = _decoded(structured)
    values = [value]
    if isinstance(value, dict) and list(value) == [_WRAPPER]:
        values.append(value[_WRAPPER])
    read = [_decoded(text) for text in texts]
    return any(one in (texts, read) or one in texts or one in read for one in values)


def _decoded(text: bytes | str) -> Any:
    """Return JSON as Python's values; a text that is not JSON as it is."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
