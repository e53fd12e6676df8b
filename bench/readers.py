"""Readers that come back: each takes up a background stream behind an event it has seen, all at the
same moment.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.backend import DELTAS
from bench.jobs import client
from bench.wire import LAST_CHUNK

STREAMS = 10
"""Streams that the readers share evenly; fewer than a server makes at once."""

FINISHED_AFTER = 132
"""The event behind which a finished stream is taken up: 5 stand before the deltas, so half of them
follow.
"""

RUNNING_AFTER = 2
"""The event behind which a running stream is taken up: it is the last before the answer itself
begins.
"""

SEEN = 1.0
"""Seconds for which a stream runs before its readers come back."""

PATIENCE = 60.0
"""Seconds until all readers must have been served."""

_DELTA = b"event: response.output_text.delta\n"


@dataclass(slots=True)
class ReaderTimes:
    """Seconds from the moment at which all came back until all had what they had missed, and how
    many were cut off.

    `reported` is the seconds from the end of running streams until all readers had been told, 0 of
    finished ones.
    """

    seconds: float
    lost: int
    reported: float = 0.0


class Reader(asyncio.Protocol):
    """One reader. `began` is done with its first delta, `ended` with the end of the stream; both if
    it is cut off.
    """

    def __init__(self, response_id: str, after: int) -> None:
        path = f"/v1/responses/{response_id}?stream=true&starting_after={after}"
        self._request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()
        self._parts: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self.began, self.ended = asyncio.Event(), asyncio.Event()
        self.is_lost = False

    @property
    def deltas(self) -> int:
        """How many came."""
        return b"".join(self._parts).count(_DELTA)

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._parts.append(data)
        if _DELTA in data:
            self.began.set()
        if data.endswith(LAST_CHUNK):
            self.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self.is_lost = not self.ended.is_set()
        self.began.set()
        self.ended.set()

    def close(self) -> None:
        """Leave."""
        if self._transport is not None:
            self._transport.abort()


async def finished(port: int, count: int) -> ReaderTimes:
    """Have readers take up streams that are over.

    Raises `RuntimeError` where one got something else than its rest.
    """
    ids = await _begin(port, "burst", "completed")
    began = time.perf_counter()
    readers = await _come(port, ids, FINISHED_AFTER, count)
    await _all(reader.ended for reader in readers)
    seconds = time.perf_counter() - began
    if any(reader.deltas != DELTAS // 2 for reader in readers if not reader.is_lost):
        raise RuntimeError("A reader did not get what it had missed.")
    return ReaderTimes(seconds, _leave(readers))


async def running(port: int, count: int) -> ReaderTimes:
    """Have readers take up streams that go on, and then end those."""
    ids = await _begin(port, "drip", "in_progress")
    await asyncio.sleep(SEEN)
    began = time.perf_counter()
    readers = await _come(port, ids, RUNNING_AFTER, count)
    await _all(reader.began for reader in readers)
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    async with client(port) as ours:
        await asyncio.gather(*map(ours.cancel, ids))
    await _all(reader.ended for reader in readers)
    reported = time.perf_counter() - began
    return ReaderTimes(seconds, _leave(readers), reported)


async def _begin(port: int, model: str, status: str) -> list[str]:
    """Have streams made, and wait until each has this status; return their ids."""
    async with client(port) as ours:
        ids = await asyncio.gather(*(ours.begin(model, stream=True) for _ in range(STREAMS)))
        await asyncio.gather(*(ours.wait_for(response_id, status) for response_id in ids))
    return ids


async def _come(port: int, ids: Sequence[str], after: int, count: int) -> list[Reader]:
    readers = [Reader(ids[number % len(ids)], after) for number in range(count)]
    await asyncio.gather(*(_connect(reader, port) for reader in readers))
    return readers


async def _connect(reader: Reader, port: int) -> None:
    await asyncio.get_running_loop().create_connection(lambda: reader, "127.0.0.1", port)


async def _all(events: Iterable[asyncio.Event]) -> None:
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(event.wait() for event in events))


def _leave(readers: Sequence[Reader]) -> int:
    """Close the connections; return how many were closed already."""
    lost = sum(reader.is_lost for reader in readers)
    for reader in readers:
        reader.close()
    return lost
