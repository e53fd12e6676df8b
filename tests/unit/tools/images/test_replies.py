"""Replies of an image server, read in bounded memory."""

from collections.abc import AsyncIterator

import pytest

from antiphon.tools.images.replies import (
    BadReplyError,
    decoded,
    error_of,
    events_of,
    first_image,
    whole,
)


async def parts(*each: bytes) -> AsyncIterator[bytes]:
    for one in each:
        yield one


@pytest.mark.parametrize("cut", [1, 3, 7, 1000])
async def test_events_are_read_however_they_are_cut(cut: int) -> None:
    body = b'event: a\ndata: {"a": 1}\r\n\r\n: comment\ndata:{"b": 2}\n\ndata: [DONE]'
    pieces = [body[place : place + cut] for place in range(0, len(body), cut)]
    assert [event async for event in events_of(parts(*pieces))] == [
        b'{"a": 1}',
        b'{"b": 2}',
        b"[DONE]",
    ]


async def test_a_body_that_is_too_large_is_not_read_to_its_end() -> None:
    with pytest.raises(BadReplyError, match="more than 5 bytes"):
        await whole(parts(b"abc", b"def", b"never"), 5)
    assert await whole(parts(b"abc", b"de"), 5) == b"abcde"


@pytest.mark.parametrize("data", [b"", b"[]", b"7", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(BadReplyError, match="JSON object"):
        decoded(data)


def test_the_first_image_and_the_error_are_found() -> None:
    assert first_image({"data": [{"b64_json": "a"}, {}]}) == {"b64_json": "a"}
    for reply in ({}, {"data": {}}, {"data": []}, {"data": [1]}):
        with pytest.raises(BadReplyError):
            first_image(reply)
    assert error_of({"error": {"message": "a"}}) == {"message": "a"}
    assert error_of({"error": "a"}) == {"message": "a"}
    assert error_of({"error": 7}) == {}
