"""Server-sent events as the HTML standard reads them."""

import pytest

from antiphon_verify.exchange import Frame, read_frames

READ: dict[str, tuple[bytes, list[Frame]]] = {
    "nothing": (b"", []),
    "an event": (b"event: a\ndata: 1\n\n", [Frame("a", "1", is_ended=True)]),
    "no space": (b"data:1\n\n", [Frame(data="1", is_ended=True)]),
    "one space alone is taken off": (b"data:  1\n\n", [Frame(data=" 1", is_ended=True)]),
    "several lines of data": (b"data: 1\ndata: 2\n\n", [Frame(data="1\n2", is_ended=True)]),
    "other line ends": (
        b"data: 1\r\n\r\ndata: 2\r\r",
        [Frame(data="1", is_ended=True), Frame(data="2", is_ended=True)],
    ),
    "a byte order mark": (b"\xef\xbb\xbfdata: 1\n\n", [Frame(data="1", is_ended=True)]),
    "a comment": (b": hello\n\n", [Frame(comments=["hello"], is_ended=True)]),
    "an id": (b"id: 7\ndata: 1\n\n", [Frame(data="1", id="7", is_ended=True)]),
    "a retry": (b"retry: 7\ndata: 1\n\n", [Frame(data="1", is_ended=True)]),
    "an unknown field": (b"date: 1\n\n", [Frame(others=["date"], is_ended=True)]),
    "a field without a colon": (b"data\n\n", [Frame(data="", is_ended=True)]),
    "a last frame without its empty line": (
        b"data: 1\n\ndata: 2",
        [Frame(data="1", is_ended=True), Frame(data="2")],
    ),
    "a last line with its end": (b"data: 2\n", [Frame(data="2")]),
    "more empty lines": (b"\n\ndata: 1\n\n\n", [Frame(data="1", is_ended=True)]),
    "no UTF-8": (b"data: \xff\n\n", [Frame(data="\ufffd", is_ended=True)]),
}


@pytest.mark.parametrize(("body", "frames"), READ.values(), ids=READ)
def test_frames_are_read(body: bytes, frames: list[Frame]) -> None:
    assert read_frames(body) == frames
