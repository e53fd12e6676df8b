"""The body of a request is the whole of its pieces, whatever its size."""

from typing import Any

import pytest

from antiphon.server.request import JOINED, RequestBody
from antiphon.sharing.memory import Memory

PIECE = 256 * 1024


@pytest.mark.parametrize(
    "size", [0, 1, PIECE, PIECE + 1, JOINED, JOINED + 1, 2 * JOINED + PIECE + 1]
)
async def test_a_body_is_all_that_was_sent(size: int) -> None:
    sent = b"".join(b"%07x" % number for number in range(size // 7 + 1))[:size]
    pieces = [sent[at : at + PIECE] for at in range(0, size, PIECE)] or [b""]
    messages = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
        for number, piece in enumerate(pieces, 1)
    ]

    async def receive() -> Any:
        return messages.pop(0)

    headers = {b"content-length": b"%d" % size}
    body = RequestBody(headers, receive, 4 * JOINED, Memory(100 * JOINED), "a")
    assert await body.read() == sent
    assert messages == []
