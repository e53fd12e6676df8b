"""Compressed WebSocket messages (RFC 7692), inflated step by step when the application receives
them.

The library inflates a frame in one call on arrival: 70 ms for 32 MB, which blocks the event loop.
It compresses one in one call too: 40 ms for 1 MB of an image, so large messages are sent as they
are, as section 6.1 permits.
"""

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from websockets.exceptions import ProtocolError
from websockets.extensions.base import Extension
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.frames import Frame, Opcode

STEP = 256 * 1024
"""Bytes that are inflated in one step."""

LARGEST = 256 * 1024
"""Bytes of a message that is compressed, in 10 ms."""

WINDOW = 12
"""Binary logarithm of the bytes that compression in either direction remembers."""

_CONTROL = frozenset({Opcode.CLOSE, Opcode.PING, Opcode.PONG})
"""Frames that are never compressed."""

_END = b"\x00\x00\xff\xff"
"""The bytes that senders omit at the end of each message."""


class LateInflation(Extension):
    """Passes received frames through unchanged, records which messages are compressed, and inflates
    those.

    `library` is the library's own extension, which compresses; `agreed` are the parameters that the
    client receives.
    """

    name = ServerPerMessageDeflateFactory.name

    def __init__(self, library: Extension, agreed: Sequence[tuple[str, str | None]]) -> None:
        parameters = dict(agreed)
        self.is_compressed = False
        """Whether the newest message is compressed."""
        self._library = library
        self._starts_again = "client_no_context_takeover" in parameters
        self._bits = int(parameters.get("client_max_window_bits") or zlib.MAX_WBITS)
        self._decoder = self._new_decoder()

    def decode(self, frame: Frame, *, max_size: int | None = None) -> Frame:
        """See `websockets`. A message's size is checked where it is inflated."""
        if frame.opcode in _CONTROL:
            return frame
        if frame.opcode is not Opcode.CONT:
            self.is_compressed = frame.rsv1
        elif frame.rsv1:
            raise ProtocolError("RSV1 bit set in continuation frame")
        return Frame(frame.opcode, frame.data, frame.fin, False, frame.rsv2, frame.rsv3)

    def encode(self, frame: Frame) -> Frame:
        """See `websockets`. The server sends each message as one frame."""
        return frame if len(frame.data) > LARGEST else self._library.encode(frame)

    def inflated(self, frames: Sequence[bytes]) -> Iterator[bytes]:
        """Return the data of a message, at most `STEP` bytes at a time. Raises `zlib.error`."""
        if self._starts_again:
            self._decoder = self._new_decoder()
        for data in (*frames, _END):
            piece = self._decoder.decompress(data, STEP)
            while piece:
                yield piece
                piece = self._decoder.decompress(self._decoder.unconsumed_tail, STEP)

    def _new_decoder(self) -> Any:
        return zlib.decompressobj(wbits=-self._bits)


class LateInflationFactory(ServerPerMessageDeflateFactory):
    """Negotiates the extension for one connection as the library does."""

    def __init__(self) -> None:
        super().__init__(
            server_max_window_bits=WINDOW,
            client_max_window_bits=WINDOW,
            compress_settings={"memLevel": 5},
        )
        self.agreed: LateInflation | None = None
        """The extension of the connection; None if the client does not compress."""

    def process_request_params(self, *args: Any) -> Any:
        """See `websockets`."""
        agreed, library = super().process_request_params(*args)
        self.agreed = LateInflation(library, agreed)
        return agreed, self.agreed
