"""Compressed WebSocket messages (RFC 7692), inflated step by step when the application receives them.

The library inflates a frame in one call on arrival: 70 ms for 32 MB, which blocks the event loop.
"""

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from websockets.exceptions import ProtocolError
from websockets.extensions.permessage_deflate import PerMessageDeflate, ServerPerMessageDeflateFactory
from websockets.frames import CTRL_OPCODES, OP_CONT, Frame

STEP = 256 * 1024
"""Bytes that are inflated in one step."""

_END = b"\x00\x00\xff\xff"
"""The bytes that senders omit at the end of each message."""


class LateInflation(PerMessageDeflate):
    """Passes frames through unchanged, records which messages are compressed, and inflates those."""

    is_compressed = False
    """Whether the newest message is compressed."""

    def decode(self, frame: Frame, *, max_size: int | None = None) -> Frame:
        """See `websockets`. A message's size is checked where it is inflated."""
        if frame.opcode in CTRL_OPCODES:
            return frame
        if frame.opcode is not OP_CONT:
            self.is_compressed = frame.rsv1
        elif frame.rsv1:
            raise ProtocolError("RSV1 bit set in continuation frame")
        return Frame(frame.opcode, frame.data, frame.fin, False, frame.rsv2, frame.rsv3)

    def inflated(self, frames: Sequence[bytes]) -> Iterator[bytes]:
        """Return the data of a message, at most `STEP` bytes at a time. Raises `zlib.error`."""
        if self.remote_no_context_takeover:
            self.decoder = zlib.decompressobj(wbits=-self.remote_max_window_bits)
        for data in (*frames, _END):
            piece = self.decoder.decompress(data, STEP)
            while piece:
                yield piece
                piece = self.decoder.decompress(self.decoder.unconsumed_tail, STEP)


class LateInflationFactory(ServerPerMessageDeflateFactory):
    """Negotiates the extension with a client as the library does."""

    def process_request_params(self, *args: Any) -> Any:
        """See `websockets`."""
        params, agreed = super().process_request_params(*args)
        return params, LateInflation(
            agreed.remote_no_context_takeover,
            agreed.local_no_context_takeover,
            agreed.remote_max_window_bits,
            agreed.local_max_window_bits,
            agreed.compress_settings,
        )
