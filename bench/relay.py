"""Bytes from one socket to another and nothing else: what Python's event loop takes for a delta,
whoever handles it.

`python -m bench.relay PORT` prints its own port and relays every connection to `PORT` of the
loopback.
"""

import asyncio
import sys
from typing import Any

from bench.wire import serve


class Relay(asyncio.Protocol):
    """One side of a relayed connection; `port` is where the other side is to be."""

    def __init__(self, port: int | None = None) -> None:
        self._port = port
        self._early = b""
        self.other: asyncio.Transport | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        self.transport = transport
        if self._port is not None:
            self._connecting = asyncio.ensure_future(self._connect(self._port))

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self.other is None:
            self._early += data
        else:
            self.other.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        if self.other is not None:
            self.other.close()

    async def _connect(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        self.other, far = await loop.create_connection(Relay, "127.0.0.1", port)
        far.other = self.transport
        self.other.write(self._early)


if __name__ == "__main__":
    target = int(sys.argv[1])
    serve(lambda: Relay(target))
