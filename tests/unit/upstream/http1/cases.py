"""What a backend may send, sound or not, and what must come of it: the framing cases by their rows
(1 to 66).
"""

import gzip
from dataclasses import dataclass
from typing import Literal

OK = b"HTTP/1.1 200 OK\r\n"
FIVE = b"Content-Length: 5\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
HELLO = b"5\r\nhello\r\n0\r\n\r\n"
EVIL = OK + b"Content-Length: 4\r\n\r\nEVIL"
GZIP = gzip.compress(b"hello", mtime=0)

Outcome = Literal["kept", "closed", "fails", "waits"]
"""The whole answer and its connection is kept; the whole answer and it is closed; an error;
silence.
"""

Ending = Literal["stays", "fin", "reset"]


@dataclass(frozen=True)
class Case:
    """One response on the wire."""

    row: int
    what: str
    wire: bytes
    outcome: Outcome
    ending: Ending = "stays"
    body: bytes = b"hello"
    status: int = 200

    def __str__(self) -> str:
        return f"{self.row} {self.what}"


def length(value: bytes) -> bytes:
    return OK + b"Content-Length: " + value + b"\r\n\r\nhello"


def coded(value: bytes) -> bytes:
    return OK + b"Transfer-Encoding: " + value + b"\r\n\r\n" + HELLO


def chunks(body: bytes) -> bytes:
    return OK + CHUNKED + b"\r\n" + body


def fields(*lines: bytes) -> bytes:
    return OK + b"".join(line + b"\r\n" for line in lines) + FIVE + b"\r\nhello"


CASES = [
    Case(1, "chunks and then a length", OK + CHUNKED + FIVE + b"\r\n" + HELLO, "fails"),
    Case(1, "a length and then chunks", OK + FIVE + CHUNKED + b"\r\n" + HELLO, "fails"),
    Case(2, "the same length twice", OK + FIVE + FIVE + b"\r\nhello", "fails"),
    Case(2, "a list of lengths", length(b"5, 5"), "fails"),
    Case(3, "two lengths", OK + FIVE + b"Content-Length: 3\r\n\r\nhello", "fails"),
    Case(4, "a length with a plus", length(b"+5"), "fails"),
    Case(4, "a length with a letter", length(b"5x"), "fails"),
    Case(4, "a negative length", length(b"-5"), "fails"),
    Case(5, "an empty length", OK + b"Content-Length:\r\n\r\nhello", "fails", "fin"),
    Case(5, "a length above 64 bits", length(b"18446744073709551621"), "fails", "fin"),
    Case(6, "an end before the length", length(b"10"), "fails", "fin"),
    Case(6, "a reset before the length", length(b"10"), "fails", "reset"),
    Case(7, "more than the length", length(b"5") + b"EXTRA", "closed"),
    Case(8, "a second response behind a length", length(b"5") + EVIL, "closed"),
    Case(9, "a second response behind chunks", chunks(HELLO) + EVIL, "closed"),
    Case(11, "a chunk size of letters", chunks(b"zz\r\nhello\r\n0\r\n\r\n"), "fails"),
    Case(11, "a negative chunk size", chunks(b"-5\r\nhello\r\n0\r\n\r\n"), "fails"),
    Case(11, "a chunk size with a plus", chunks(b"+5\r\nhello\r\n0\r\n\r\n"), "fails"),
    Case(11, "a chunk size with 0x", chunks(b"0x5\r\nhello\r\n0\r\n\r\n"), "fails"),
    Case(11, "an empty chunk size", chunks(b"\r\nhello\r\n0\r\n\r\n"), "fails"),
    Case(
        12, "a chunk size of 17 digits", chunks(b"FFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n"), "fails"
    ),
    Case(
        12, "a chunk size that wraps", chunks(b"10000000000000005\r\nhello\r\n0\r\n\r\n"), "fails"
    ),
    Case(13, "a space behind the chunk size", chunks(b"5 \r\nhello\r\n0\r\n\r\n"), "fails"),
    Case(14, "forty zeros before the size", chunks(b"0" * 40 + HELLO), "kept"),
    Case(15, "an extension", chunks(b"5;a=b\r\nhello\r\n0\r\n\r\n"), "kept"),
    Case(
        16,
        "an extension of 1 MB",
        chunks(b"5;" + b"a" * 1_000_000 + b"\r\nhello\r\n0\r\n\r\n"),
        "fails",
    ),
    Case(17, "a line feed in an extension", chunks(b"5;a\nb\r\nhello\r\n0\r\n\r\n"), "fails"),
    Case(17, "no end of line behind a chunk", chunks(b"5\r\nhelloXX0\r\n\r\n"), "fails"),
    Case(18, "chunk lines that end in LF", chunks(b"5\nhello\n0\n\n"), "fails"),
    Case(19, "an end before the last chunk", chunks(b"5\r\nhello\r\n"), "fails", "fin"),
    Case(19, "an end inside a chunk", chunks(b"8\r\nhello"), "fails", "fin"),
    Case(19, "an end inside the last chunk", chunks(b"5\r\nhello\r\n0\r\n"), "fails", "fin"),
    Case(20, "silence inside the last chunk", chunks(b"5\r\nhello\r\n0\r\n"), "waits"),
    Case(21, "a trailer", chunks(b"5\r\nhello\r\n0\r\nx-a: b\r\n\r\n"), "kept"),
    Case(
        22,
        "a trailer that frames",
        chunks(b"5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n"),
        "fails",
    ),
    Case(
        23,
        "a trailer of 1 MB",
        chunks(b"5\r\nhello\r\n0\r\nx: " + b"b" * 1_000_000 + b"\r\n\r\n"),
        "fails",
    ),
    Case(
        23,
        "trailers without end",
        chunks(b"5\r\nhello\r\n0\r\n" + b"x-a: b\r\n" * 100_000),
        "fails",
    ),
    Case(24, "compressed chunks", coded(b"gzip, chunked"), "fails"),
    Case(25, "chunks, compressed", coded(b"chunked, gzip"), "fails", "fin"),
    Case(25, "an unknown coding", coded(b"xchunked"), "fails", "fin"),
    Case(26, "a vertical tab before chunked", coded(b"\x0bchunked"), "fails", "fin"),
    Case(
        27,
        "identity with a length",
        OK + b"Transfer-Encoding: identity\r\n" + FIVE + b"\r\nhello",
        "fails",
    ),
    Case(28, "chunked in two lines", OK + CHUNKED + CHUNKED + b"\r\n" + HELLO, "fails", "fin"),
    Case(28, "chunked twice in a list", coded(b"chunked, chunked"), "fails", "fin"),
    Case(29, "CHUNKED", coded(b"CHUNKED"), "kept"),
    Case(
        30, "chunks in HTTP/1.0", b"HTTP/1.0 200 OK\r\n" + CHUNKED + b"\r\n" + HELLO, "fails", "fin"
    ),
    Case(32, "no length, and an end", OK + b"Connection: close\r\n\r\nhello", "closed", "fin"),
    Case(
        32,
        "no length, keep-alive, and an end",
        OK + b"Connection: keep-alive\r\n\r\nhello",
        "closed",
        "fin",
    ),
    Case(33, "no length, and a reset", OK + b"\r\nhello", "fails", "reset"),
    Case(35, "an end before any byte", b"", "fails", "fin"),
    Case(35, "a reset before any byte", b"", "fails", "reset"),
    Case(37, "an end inside the head", OK + b"Content-Le", "fails", "fin"),
    Case(38, "100 and then 200", b"HTTP/1.1 100 Continue\r\n\r\n" + length(b"5"), "kept"),
    Case(
        38,
        "200 times 102 and then 200",
        b"HTTP/1.1 102 Processing\r\n\r\n" * 200 + length(b"5"),
        "kept",
    ),
    Case(
        39,
        "103 with a length",
        b"HTTP/1.1 103 Early\r\ncontent-length: 3\r\n\r\n" + length(b"5"),
        "kept",
    ),
    Case(40, "102 without end", b"HTTP/1.1 102 Processing\r\n\r\n" * 20_000, "fails"),
    Case(
        41,
        "101 unasked",
        b"HTTP/1.1 101 S\r\nUpgrade: foo\r\nConnection: upgrade\r\n\r\nhello",
        "fails",
        "fin",
    ),
    Case(42, "an offer to upgrade", fields(b"Upgrade: h2c", b"Connection: upgrade"), "kept"),
    Case(
        43,
        "204 with a body",
        b"HTTP/1.1 204 No Content\r\n" + FIVE + b"\r\nhello",
        "closed",
        body=b"",
        status=204,
    ),
    Case(
        43,
        "204 with chunks",
        b"HTTP/1.1 204 No\r\n" + CHUNKED + b"\r\n" + HELLO,
        "closed",
        body=b"",
        status=204,
    ),
    Case(
        44,
        "304 with a length",
        b"HTTP/1.1 304 Not Modified\r\n" + FIVE + b"\r\n",
        "kept",
        body=b"",
        status=304,
    ),
    Case(
        44, "205 with a body", b"HTTP/1.1 205 Reset\r\n" + FIVE + b"\r\nhello", "kept", status=205
    ),
    Case(46, "a field of 7 KB", fields(b"x: " + b"a" * 7_000), "kept"),
    Case(47, "a field of 30 KB", fields(b"x: " + b"a" * 30_000), "kept"),
    Case(48, "a field of 1 MB", fields(b"x: " + b"a" * 1_000_000), "fails"),
    Case(
        48,
        "a reason of 1 MB",
        b"HTTP/1.1 200 " + b"O" * 1_000_000 + b"\r\n" + FIVE + b"\r\nhello",
        "fails",
    ),
    Case(49, "100 fields", fields(*(b"x-%d: y" % number for number in range(100))), "kept"),
    Case(49, "200 fields", fields(*(b"x-%d: y" % number for number in range(200))), "fails"),
    Case(49, "10,000 fields", fields(*(b"x-%d: y" % number for number in range(10_000))), "fails"),
    Case(49, "fields without end", OK + b"x: y\r\n" * 100_000, "fails"),
    Case(50, "a folded field", fields(b"x: a", b" b"), "fails"),
    Case(50, "a folded length", OK + b"Content-Length:\r\n 5\r\n\r\nhello", "fails"),
    Case(51, "lines that end in LF", b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "fails"),
    Case(52, "a bare CR in a value", fields(b"x: a\rb"), "fails"),
    Case(52, "a NUL in a value", fields(b"x: a\0b"), "fails"),
    Case(53, "a space before the colon", OK + b"Content-Length : 5\r\n\r\nhello", "fails"),
    Case(54, "a line without colon", fields(b"nonsense"), "fails"),
    Case(54, "an empty name", fields(b": v"), "fails"),
    Case(55, "bytes above 127 in a value", fields("x: grüße".encode()), "kept"),
    Case(55, "no reason phrase", b"HTTP/1.1 200\r\n" + FIVE + b"\r\nhello", "kept"),
    Case(56, "status 2000", b"HTTP/1.1 2000 OK\r\n" + FIVE + b"\r\nhello", "fails"),
    Case(56, "status 099", b"HTTP/1.1 099 OK\r\n" + FIVE + b"\r\nhello", "fails"),
    Case(57, "HTTP/2.0", b"HTTP/2.0 200 OK\r\n" + FIVE + b"\r\nhello", "fails"),
    Case(57, "HTTP/1.9", b"HTTP/1.9 200 OK\r\n" + FIVE + b"\r\nhello", "fails"),
    Case(58, "ICY", b"ICY 200 OK\r\n" + FIVE + b"\r\nhello", "fails"),
    Case(58, "text without a head", b"hello there, no head at all\r\n", "fails", "fin"),
    Case(58, "an alert of TLS", bytes([21, 3, 3, 0, 2, 2, 40]), "fails", "fin"),
    Case(59, "empty lines before the head", b"\r\n\r\n" + length(b"5"), "kept"),
    Case(
        60,
        "HTTP/1.0 kept",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + FIVE + b"\r\nhello",
        "kept",
    ),
    Case(61, "HTTP/1.0", b"HTTP/1.0 200 OK\r\n" + FIVE + b"\r\nhello", "closed"),
    Case(61, "Connection: close", fields(b"Connection: close"), "closed"),
    Case(61, "Connection: keep-alive, close", fields(b"Connection: keep-alive, close"), "closed"),
    Case(
        66,
        "a redirect",
        b"HTTP/1.1 307 T\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n",
        "kept",
        body=b"",
        status=307,
    ),
    Case(66, "a cookie", fields(b"Set-Cookie: a=b"), "kept"),
]
"""Rows 10, 31, 34, 36 and 62 to 68 are about time and connections: test_connections.py and
test_tls_and_proxies.py. Row 45 says never to send HEAD, and the client cannot.
"""
