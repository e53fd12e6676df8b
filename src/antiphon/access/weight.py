"""Estimates the tokens of a request from the size of its body, before its model is called.

The estimate is settled for the tokens that the backend reports. What the history of a request adds
is not part of it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from antiphon.access.spending import Weight
from antiphon.protocol.requests import CreateResponse
from antiphon.translation.to_chat_completions.tokens import BYTES_PER_TOKEN, MEDIUM, of_medium

LONG = 1_000
"""Characters of base64 from which on the value of a field for media is an image, a sound or a
file.
"""

WINDOW = 64 * 1024
"""Bytes of a body that are searched in one step: a thread does this for a large body."""

OVERLAP = 256
"""Bytes of a step that the next step searches again, so that it sees the whole name of a field."""

_FIELD = rb'"(image_url|url|file_data|data|result|encrypted_content)"\s*:\s*'
"""A field that may hold an image, a sound or a file. The value of any other field is text that the
model reads.
"""

_MEDIUM = re.compile(_FIELD + rb'("(?:data:[^"]*|[A-Za-z0-9+/=_-]{%d,})")' % LONG)
_CUT = re.compile(_FIELD + rb'("(?:data:[^"]*|[A-Za-z0-9+/=_-]*))\Z')
_RUN = re.compile(rb"[A-Za-z0-9+/=_-]*")


def weight_of(body: bytes, output: int | None = None) -> Weight:
    """Return the expected tokens of a request and its answer; `output` is None if the answer is
    unlimited.
    """
    media = list(_media(body))
    text = len(body) - sum(size for _, size in media)
    tokens = text // BYTES_PER_TOKEN + sum(
        of_medium(size) if name == b"file_data" else MEDIUM for name, size in media
    )
    return Weight(tokens, 0, 1) if output is None else Weight(tokens, output)


def weight_of_response(request: CreateResponse, body: bytes) -> Weight:
    """Return the expected tokens of a response."""
    return weight_of(body, request.max_output_tokens)


def weight_of_chat(request: Mapping[str, Any], body: bytes) -> Weight:
    """Return the expected tokens of a chat completion: `n` answers, each of the higher of its
    bounds.

    Backends differ in which of the two bounds they follow.
    """
    answers = request.get("n") or 1
    bounds = (request.get("max_completion_tokens"), request.get("max_tokens"))
    known = [bound for bound in bounds if bound is not None and bound > 0]
    if known:
        return weight_of(body, answers * max(known))
    return weight_of(body)._replace(unbounded=answers)


def _media(body: bytes) -> Iterator[tuple[bytes, int]]:
    """Return the field and the bytes of each image, sound and file, found in small steps."""
    position = 0
    while True:
        end = min(position + WINDOW, len(body))
        for found in _MEDIUM.finditer(body, position, end):
            yield found[1], len(found[2])
            position = found.end()
        if end == len(body):
            return
        cut = _CUT.search(body, position, end)
        if cut is not None and (size := _size_of(body, cut)):
            yield cut[1], size
            position = cut.start(2) + size
        else:
            position = max(position, end - OVERLAP)


def _size_of(body: bytes, cut: re.Match[bytes]) -> int:
    """Return the bytes of a value that begins in this step; 0 if it is neither image nor sound nor
    file.
    """
    if cut[2].startswith(b'"data:'):
        return (body.find(b'"', cut.end()) + 1 or len(body)) - cut.start(2)
    position = cut.end()
    while (
        run := _RUN.match(body, position, position + WINDOW)
    ) is not None and run.end() > position:
        position = run.end()
    size = position + 1 - cut.start(2)
    return size if size >= LONG + 2 and body[position : position + 1] == b'"' else 0
