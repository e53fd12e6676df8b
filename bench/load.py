"""Load on a server: connections that each ask again as soon as they were answered.

`python -m bench.load` reads a `Load` from standard input, warms up, prints a line when the counting
begins, counts for `seconds`, prints a `Count`, and keeps its connections open until its standard
input is closed.
"""

import asyncio
import sys
import time
from collections.abc import Coroutine
from statistics import median
from typing import Any

import msgspec
import uvloop

from bench.wire import LAST_CHUNK, content_length

PATIENCE = 30.0
"""Seconds until every connection must have got its first answer, or the first delta of it."""

SETTLING = 0.3
"""Seconds between that and the counting."""


class Load(msgspec.Struct):
    """What to ask, and what to look for in the answers."""

    port: int
    path: str
    body: str
    connections: int
    seconds: float
    delta: str
    """What each delta of a stream holds once; in a plain answer, anything that it holds once."""
    end: str
    """What the end of each answer holds once."""


class Count(msgspec.Struct):
    """What came while it was counted.

    `first` is the median of the seconds from a request to its first delta.
    """

    seconds: float
    answers: int
    deltas: int
    ends: int
    first: float


class Tally:
    """What all connections count into."""

    def __init__(self) -> None:
        self.answers = self.deltas = self.ends = 0
        self.firsts: list[float] = []
        self.waiting: set[object] = set()
        self.all_began = asyncio.Event()
        self.trouble: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def begin(self, client: object, first: float) -> None:
        """A client got its first delta after so many seconds."""
        self.firsts.append(first)
        self.waiting.discard(client)
        if not self.waiting:
            self.all_began.set()

    def reset(self) -> None:
        """Count from here on."""
        self.answers = self.deltas = self.ends = 0
        self.firsts.clear()


class Client(asyncio.Protocol):
    """One connection."""

    _head: bytes
    _rest: bytes
    _left: int
    _has_head: bool
    _is_chunked: bool
    _has_begun: bool

    def __init__(self, load: Load, tally: Tally) -> None:
        body = load.body.encode()
        head = f"POST {load.path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        self._request = head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body
        self._delta, self._end = load.delta.encode(), load.end.encode()
        self._overlap = max(len(self._delta), len(self._end)) - 1
        self._tally = tally
        self._begin_answer()
        tally.waiting.add(self)

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        self._transport: asyncio.Transport = transport
        transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._complain("the server closed a connection")

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        body = data if self._has_head else self._read_head(data)
        text = self._rest + body
        self._left -= len(body)
        self._count_deltas(text.count(self._delta) - self._rest.count(self._delta))
        self._tally.ends += text.count(self._end) - self._rest.count(self._end)
        self._rest = text[-self._overlap :]
        if self._has_head and (text.endswith(LAST_CHUNK) if self._is_chunked else self._left == 0):
            self._tally.answers += 1
            self._begin_answer()
            self._transport.write(self._request)

    def _begin_answer(self) -> None:
        self._requested = time.perf_counter()
        self._has_head = self._is_chunked = self._has_begun = False
        self._head = self._rest = b""
        self._left = 0

    def _read_head(self, data: bytes) -> bytes:
        """Return what of the body came with the head."""
        self._head += data
        head, found, body = self._head.partition(b"\r\n\r\n")
        if not found:
            return b""
        if not head.startswith(b"HTTP/1.1 200 "):
            self._complain(self._head[:2000].decode(errors="replace"))
        self._has_head = True
        self._is_chunked = b"\r\ntransfer-encoding: chunked" in head.lower()
        self._left = content_length(head)
        return body

    def _count_deltas(self, deltas: int) -> None:
        self._tally.deltas += deltas
        if deltas and not self._has_begun:
            self._has_begun = True
            self._tally.begin(self, time.perf_counter() - self._requested)

    def _complain(self, text: str) -> None:
        if not self._tally.trouble.done():
            self._tally.trouble.set_exception(ConnectionError(text))


async def run(load: Load) -> None:
    """Put the load on, and print what came of it."""
    tally = Tally()
    for client in [Client(load, tally) for _ in range(load.connections)]:
        await _connect(client, load.port)
    await _unless_trouble(tally, asyncio.wait_for(tally.all_began.wait(), PATIENCE))
    await _unless_trouble(tally, asyncio.sleep(SETTLING))
    print("counting", flush=True)
    began = time.perf_counter()
    tally.reset()
    await _unless_trouble(tally, asyncio.sleep(load.seconds))
    seconds = time.perf_counter() - began
    first = median(tally.firsts) if tally.firsts else 0.0
    count = Count(seconds, tally.answers, tally.deltas, tally.ends, first)
    print(msgspec.json.encode(count).decode(), flush=True)
    await asyncio.to_thread(sys.stdin.read)


async def _connect(client: Client, port: int) -> None:
    await asyncio.get_running_loop().create_connection(lambda: client, "127.0.0.1", port)


async def _unless_trouble(tally: Tally, work: Coroutine[Any, Any, Any]) -> None:
    """Await the work. Raises what a connection complained of, as soon as it does."""
    task = asyncio.create_task(work)
    done, _ = await asyncio.wait({task, tally.trouble}, return_when=asyncio.FIRST_COMPLETED)
    for future in done:
        future.result()


if __name__ == "__main__":
    uvloop.run(run(msgspec.json.decode(sys.stdin.readline(), type=Load)))
