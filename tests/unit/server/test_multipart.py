"""Forms with files, cut anywhere: the parts are the same however the body comes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import ClientError
from antiphon.server.multipart import END, MOST_HEAD, MOST_PARTS, FormParser, PartHead, boundary_of
from tests.support.chance import examples

BOUNDARY = b"x-7"
HEADS = st.tuples(
    st.text("abcé \"'%", min_size=1, max_size=5), st.none() | st.text("a.é/;=", max_size=5)
)
CONTENT = st.binary(max_size=60) | st.lists(
    st.sampled_from(
        [b"\r", b"\n", b"\r\n", b"-", b"--", b"--x-7", b"\r\n--x-", b"\r\n--x", b"a", b"\0"]
    ),
    max_size=12,
).map(b"".join)


def form(parts: list[tuple[str, str | None, bytes]], preamble: bytes = b"") -> bytes:
    """A form as HTTP clients write it."""
    whole = preamble
    for name, filename, content in parts:
        disposition = f'form-data; name="{quoted(name)}"'
        disposition += "" if filename is None else f'; filename="{quoted(filename)}"'
        head = f"Content-Disposition: {disposition}\r\nContent-Type: text/plain\r\n\r\n"
        whole += b"--" + BOUNDARY + b"\r\n" + head.encode() + content + b"\r\n"
    return whole + b"--" + BOUNDARY + b"--\r\n"


def quoted(text: str) -> str:
    return text.replace('"', "%22")


def read(pieces: list[bytes], boundary: bytes = BOUNDARY) -> list[tuple[str, str | None, bytes]]:
    parser = FormParser(boundary)
    parts: list[tuple[str, str | None, bytes]] = []
    is_over = False
    for piece in pieces:
        for event in parser.feed(piece):
            assert not is_over
            if isinstance(event, PartHead):
                parts.append((event.name, event.filename, b""))
            elif isinstance(event, bytes):
                parts[-1] = (*parts[-1][:2], parts[-1][2] + event)
            else:
                assert event is END
                is_over = True
    parser.finish()
    return parts


def cut(body: bytes, places: list[int]) -> list[bytes]:
    bounds = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
    return [body[start:end] for start, end in pairwise(bounds)]


@examples(200)
@given(
    st.lists(st.tuples(HEADS, CONTENT), max_size=4),
    st.lists(st.integers(0, 2000), max_size=20),
    st.sampled_from([b"", b"\r\n", b"hello\r\n"]),
)
def test_a_form_is_read_the_same_wherever_it_is_cut(
    parts: list[tuple[tuple[str, str | None], bytes]], places: list[int], preamble: bytes
) -> None:
    wanted = [
        (name, filename, content)
        for (name, filename), content in parts
        if b"\r\n--" + BOUNDARY not in content
    ]
    body = form(wanted, preamble)

    assert read(cut(body, places)) == wanted
    assert read([bytes([byte]) for byte in body]) == wanted


def test_content_is_sent_as_received_and_not_gathered() -> None:
    parser = FormParser(BOUNDARY)
    head = b'--x-7\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    assert list(parser.feed(head)) == [PartHead("file", "a")]
    for _ in range(100):
        provided = [event for event in parser.feed(b"y" * 1000) if isinstance(event, bytes)]
        assert len(b"".join(provided)) >= 1000 - len(BOUNDARY) - 4


@pytest.mark.parametrize(
    ("disposition", "name", "filename"),
    [
        ('form-data; name="file"; filename="a b.txt"', "file", "a b.txt"),
        ("form-data; name=file; filename=a.txt", "file", "a.txt"),
        ('form-data; name="file"; filename="a%22b.txt"', "file", 'a"b.txt'),
        ('form-data; name="file"; filename="a\\"b.txt"', "file", 'a"b.txt'),
        ('form-data; name="file"; filename="C:\\temp\\a.txt"', "file", "C:\\temp\\a.txt"),
        ('form-data; name="file"; filename="x"; filename*=UTF-8\'\'%C3%A4.txt', "file", "ä.txt"),
        ('form-data; name="expires_after[seconds]"', "expires_after[seconds]", None),
        ('form-data; name="file"; filename=""', "file", ""),
        ('Form-Data; NAME="file"', "file", None),
    ],
)
def test_names_are_read_as_every_client_writes_them(
    disposition: str, name: str, filename: str | None
) -> None:
    body = f"--x-7\r\nX-Other: 1\r\ncontent-disposition: {disposition}\r\n\r\n1\r\n--x-7--".encode()
    assert read([body]) == [(name, filename, b"1")]


GOOD = b'--x-7\r\nContent-Disposition: form-data; name="a"\r\n\r\n1'


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "ends before its last boundary"),
        (GOOD, "ends before its last boundary"),
        (GOOD + b"\r\n--x-7", "ends before its last boundary"),
        (b"y" * (MOST_HEAD + 1), "does not begin with its boundary"),
        (GOOD + b"\r\n--x-7y\r\n", "follows a boundary"),
        (GOOD + b"\r\n--x-7" + b" " * 200, "follows a boundary"),
        (b"--x-7\r\n\r\n1\r\n--x-7--", "no header Content-Disposition"),
        (
            b"--x-7\r\nContent-Disposition: attachment; name=a\r\n\r\n1\r\n--x-7--",
            "no header Content-Disposition",
        ),
        (
            b"--x-7\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x-7--",
            "no header Content-Disposition",
        ),
        (b"--x-7\r\nA: " + b"y" * MOST_HEAD, "head of a part"),
        (b"--x-7\r\nA: " + b"y" * MOST_HEAD + b"\r\n\r\n", "head of a part"),
        ((GOOD + b"\r\n") * (MOST_PARTS + 1) + b"--x-7--", "more than 64 parts"),
    ],
)
def test_a_broken_form_is_refused_and_the_reason_named(body: bytes, reason: str) -> None:
    for pieces in ([body], cut(body, list(range(0, len(body), 7)))):
        with pytest.raises(ClientError, match=reason) as refused:
            read(pieces)
        assert (refused.value.status, refused.value.code) == (400, "invalid_multipart_form")


@pytest.mark.parametrize(
    ("content_type", "boundary"),
    [
        (b"multipart/form-data; boundary=abc", b"abc"),
        (b'Multipart/Form-Data; charset=utf-8; Boundary="a b:c"', b"a b:c"),
    ],
)
def test_the_boundary_is_found_in_the_content_type(content_type: bytes, boundary: bytes) -> None:
    assert boundary_of(content_type) == boundary


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        (b"application/json", 415),
        (b"", 415),
        (b"multipart/mixed; boundary=a", 415),
        (b"multipart/form-data", 400),
        (b"multipart/form-data; boundary=", 400),
        (b'multipart/form-data; boundary="' + b"a" * 71 + b'"', 400),
        ("multipart/form-data; boundary=ä".encode("latin-1"), 400),
    ],
)
def test_a_body_that_is_no_form_is_refused(content_type: bytes, status: int) -> None:
    with pytest.raises(ClientError) as refused:
        boundary_of(content_type)
    assert refused.value.status == status
