"""Inflates compressed bodies step by step, so that a decompression bomb is never inflated. No
I/O.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from antiphon.errors import ClientError
from antiphon.sharing.compression import zstd_library

STEP = 256 * 1024
"""Bytes that are inflated in one step."""

WINDOW_LOG = 23
"""The largest window of a zstd frame, 8 MiB: what RFC 9659 allows for HTTP."""


class Decompressor(Protocol):
    """The common methods of the standard library's decompressors, except zlib."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    """zlib's decompressor, with the methods of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        created = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self.needs_input = len(created) < max_length
        return created


def _zstd() -> Decompressor:
    zstd = zstd_library()
    created: Decompressor = zstd.ZstdDecompressor(
        options={zstd.DecompressionParameter.window_log_max: WINDOW_LOG}
    )
    return created


CODINGS: Mapping[str, Callable[[], Decompressor]] = {"gzip": _Gzip, "x-gzip": _Gzip, "zstd": _zstd}
"""By the names in `Content-Encoding`. `deflate` is missing: implementations disagree about it."""


class Inflater:
    """One body. Bytes after its end are rejected: another reader might treat them as part of the
    body.
    """

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._decompressor = CODINGS[coding]()
        self._damage: type[Exception] = zstd_library().ZstdError if coding == "zstd" else zlib.error

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Return the received bytes, inflated, at most `STEP` bytes at a time.

        Raises `ClientError` (400).
        """
        is_drained = True  # the bytes before were inflated completely
        while data or not is_drained:
            if self._is_over():
                raise self._broken("something follows its end")
            yield self._step(data)
            data = self._decompressor.unused_data
            is_drained = self._is_over() or self._decompressor.needs_input

    def finish(self) -> None:
        """The body has ended. Raises `ClientError` (400) if bytes are missing."""
        if not self._is_over():
            raise self._broken("it ends too early")

    def _is_over(self) -> bool:
        return self._decompressor.eof

    def _step(self, data: bytes) -> bytes:
        try:
            return self._decompressor.decompress(data, STEP)
        except self._damage as error:
            raise self._broken(
                "it is damaged, is something else, or needs more memory than is allowed"
            ) from error

    def _broken(self, reason: str) -> ClientError:
        return ClientError(f"The request body could not be inflated as {self._coding}: {reason}.")


def coding_of(header: bytes) -> str | None:
    """Return the coding of a `Content-Encoding`, or None. Raises `ClientError` (415)."""
    names = [name.strip() for name in header.decode("latin-1").lower().split(",")]
    names = [name for name in names if name not in {"", "identity"}]
    if not names:
        return None
    if len(names) > 1 or names[0] not in CODINGS:
        named = ", ".join(names)[:100]
        text = (
            f"The body's Content-Encoding '{named}' is not supported. "
            "Send it as gzip or zstd, or plain."
        )
        headers = {"accept-encoding": "gzip, zstd"}
        raise ClientError(text, status=415, code="unsupported_media_type", headers=headers)
    return names[0]
