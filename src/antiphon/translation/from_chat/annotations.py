"""Metadata of a text in the form of the Responses API: citations (specification section 5,
Annotation), and the log probabilities of its tokens (section 4).
"""

import math
from collections.abc import Iterator
from typing import Any

FIELDS: dict[str, dict[str, Any]] = {
    "url_citation": {"url": "", "title": "", "start_index": 0, "end_index": 0},
    "file_citation": {"file_id": "", "filename": "", "index": 0},
    "container_file_citation": {
        "container_id": "",
        "file_id": "",
        "filename": "",
        "start_index": 0,
        "end_index": 0,
    },
    "file_path": {"file_id": "", "index": 0},
}
"""The API's annotations, with the default of each field. Indexes count characters of the text."""

INDEXES = ("start_index", "end_index", "index")


class Annotations:
    """The annotations of one text. An annotation beyond the text so far waits, and never extends
    past the end of the text.
    """

    def __init__(self) -> None:
        self.reported: list[dict[str, Any]] = []
        self._waiting: list[dict[str, Any]] = []

    @property
    def are_waiting(self) -> bool:
        """Whether an annotation waits for further text."""
        return bool(self._waiting)

    def add(self, annotation: dict[str, Any]) -> None:
        """Add an annotation."""
        self._waiting.append(annotation)

    def due(self, length: int, *, is_over: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield those within a text of this many characters, each with its number; all of them if
        the text `is_over`.
        """
        while self._waiting and (is_over or _reach(self._waiting[0]) <= length):
            annotation = _within(self._waiting.pop(0), length)
            self.reported.append(annotation)
            yield len(self.reported) - 1, annotation


def _reach(annotation: dict[str, Any]) -> int:
    return max((annotation[name] for name in INDEXES if name in annotation), default=0)


def _within(annotation: dict[str, Any], length: int) -> dict[str, Any]:
    """Return the annotation with indexes inside the text, the second not before the first."""
    inside = dict(annotation)
    least = 0
    for name in INDEXES:
        if name in inside:
            inside[name] = least = min(max(inside[name], least), length)
    return inside


def read_annotation(value: Any) -> dict[str, Any]:
    """Return the annotation; empty if the API does not have it, and for a citation without its URL
    or file.

    Chat nests the fields under the type's name.
    """
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in FIELDS:
        return {}
    inner = value.get(kind)
    annotation = _annotation(kind, inner if isinstance(inner, dict) else value)
    return annotation if annotation.get("url") or annotation.get("file_id") else {}


def read_citations(values: list[Any]) -> list[dict[str, Any]]:
    """Return annotations for Perplexity's list of source URLs, which names no position in the
    text.
    """
    return [
        _annotation("url_citation", {"url": url, "title": url})
        for url in values
        if url and isinstance(url, str)
    ]


def _annotation(kind: str, provided: dict[str, Any]) -> dict[str, Any]:
    fields = {name: _like(default, provided.get(name)) for name, default in FIELDS[kind].items()}
    return {"type": kind, **fields}


def _like(default: Any, value: Any) -> Any:
    return value if type(value) is type(default) else default


# Log probabilities.

IMPOSSIBLE = -9999.0
"""The value that OpenAI sends for a token with a probability of 0; here also for null from a
backend.
"""


def read_logprobs(value: Any, rivals: int = 20) -> list[dict[str, Any]]:
    """Return a choice's `logprobs` as a list of `{token, bytes, logprob, top_logprobs}`, the last
    with at most `rivals`.
    """
    content = value.get("content") if isinstance(value, dict) else None
    return [
        {
            **_token(entry),
            "top_logprobs": [_token(top) for top in _tokens(entry.get("top_logprobs"))[:rivals]],
        }
        for entry in _tokens(content)
    ]


def spelling(logprobs: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """Return the end of `logprobs`, those tokens that spell `text`; all if they do not.

    Earlier tokens are not text of the message: reasoning, its tags, calls.
    """
    start = len(logprobs)
    size = 0
    while start and size < len(text):
        start -= 1
        size += len(logprobs[start]["token"])
    tokens = "".join(entry["token"] for entry in logprobs[start:])
    return logprobs[start:] if tokens.endswith(text) else logprobs


def _tokens(entries: Any) -> list[dict[str, Any]]:
    listed = entries if isinstance(entries, list) else []
    return [
        entry for entry in listed if isinstance(entry, dict) and isinstance(entry.get("token"), str)
    ]


def _token(entry: dict[str, Any]) -> dict[str, Any]:
    token = entry["token"]
    logprob = entry.get("logprob")
    octets = entry.get("bytes")
    is_listed = isinstance(octets, list) and all(type(octet) is int for octet in octets)
    is_number = type(logprob) is float and math.isfinite(logprob)
    return {
        "token": token,
        "bytes": octets if is_listed else list(token.encode()),
        "logprob": logprob if is_number or type(logprob) is int else IMPOSSIBLE,
    }
