"""Filters for the bytes of a body before they are read. No I/O."""

import zlib

from antiphon.upstream.http1.response import ProtocolError

MASK = b"***"
"""Replaces the key if a backend repeats it."""

PIECE = 256 * 1024
"""Bytes that compressed ones are inflated to at once."""

EITHER = 32 + zlib.MAX_WBITS
"""gzip or zlib, detected from the first bytes."""

GZIP = 16 + zlib.MAX_WBITS

SLICE = 4 * 1024
"""Compressed bytes that are inflated at once: bytes after the end of a member are copied."""


class Mask:
    """Replaces a key in bytes that are split at any place.

    A possible beginning of the key waits for the next bytes.
    """

    __slots__ = ("_first", "key", "retained")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.retained = b""
        self._first = key[:1]

    def feed(self, part: bytes) -> bytes:
        """Return the received bytes that are certain."""
        if self.retained:
            part = self.retained + part
            self.retained = b""
        if self.key in part:
            part = part.replace(self.key, MASK)
        if size := self._overlap(part):
            part, self.retained = part[:-size], part[-size:]
        return part

    def rest(self) -> bytes:
        """Return the bytes that still wait."""
        retained = self.retained
        self.retained = b""
        return retained

    def _overlap(self, part: bytes) -> int:
        """Return how many of the last bytes begin the key."""
        start = part.find(self._first, max(0, len(part) - len(self.key) + 1))
        while start >= 0:
            if self.key.startswith(part[start:]):
                return len(part) - start
            start = part.find(self._first, start + 1)
        return 0


class Inflate:
    """Inflates a body that is compressed although the request did not accept that, a bounded piece
    at a time.

    A gzip body can have several members, each compressed separately.
    """

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(EITHER)
        self._left = b""

    @property
    def has_more(self) -> bool:
        """Whether compressed bytes remain, which must be inflated before it is fed others."""
        return bool(self._left)

    def feed(self, part: bytes) -> bytes:
        """Return the next piece; more may follow from the bytes received so far.

        Raises `ProtocolError`.
        """
        data = self._left + part
        pieces = []
        at = 0
        room = PIECE
        try:
            while room:
                if self._inflater.eof:
                    if at == len(data):
                        break
                    self._inflater = zlib.decompressobj(
                        GZIP
                    )  # another member; only that can follow one
                some = data[at : at + SLICE]
                pieces.append(self._inflater.decompress(some, room))
                room -= len(pieces[-1])
                at += len(some) - len(self._inflater.unused_data or self._inflater.unconsumed_tail)
                if not some:
                    break
        except zlib.error as error:
            raise ProtocolError(
                "the body is not compressed as its content-encoding states"
            ) from error
        self._left = data[at:]
        return b"".join(pieces)

    def check_end(self) -> None:
        """Raise `ProtocolError` if compressed bytes are missing."""
        if not self._inflater.eof:
            raise ProtocolError("the compressed body is truncated")


ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})


def inflate_of(encoding: str) -> Inflate | None:
    """Return the decoder for a `content-encoding`, None if the body is not encoded.

    Raises `ProtocolError`.
    """
    encoding = encoding.strip().lower()
    if encoding in {"", "identity"}:
        return None
    if encoding not in ENCODINGS:
        raise ProtocolError(f"the body is encoded as {encoding}, which the request did not accept")
    return Inflate()
