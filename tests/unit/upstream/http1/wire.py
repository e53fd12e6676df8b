"""The client's two ends in tests: the parser by itself, fed in any cuts, and a pool before a server
of ours.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from antiphon.upstream.http1.connect import Connector, TlsFiles
from antiphon.upstream.http1.origin import origin_of, request_head, target_of
from antiphon.upstream.http1.pool import ConnectionPool
from antiphon.upstream.http1.response import DONE, ProtocolError, ResponseParser
from tests.unit.upstream.http1.cases import Ending, Outcome

REQUEST = b"{}"


def parsed(parts: Iterable[bytes], ending: Ending = "stays") -> tuple[Outcome, int, bytes]:
    """What comes of a response that arrives in these parts: its outcome, its status and its
    body.
    """
    response = ResponseParser()
    body = response.parts
    try:
        for part in parts:
            response.feed(part)
    except ProtocolError:
        return "fails", response.status, b"".join(body)
    if response.phase != DONE and (ending == "reset" or (ending == "fin" and not response.end())):
        return "fails", response.status, b"".join(body)
    if response.phase != DONE:
        return "waits", response.status, b"".join(body)
    return "kept" if response.keeps_alive else "closed", response.status, b"".join(body)


@asynccontextmanager
async def pool_at(
    url: str, tls: TlsFiles | None = None, connect_timeout: float = 2.0
) -> AsyncIterator[ConnectionPool]:
    connector = Connector(origin_of(url), None, (tls or TlsFiles()).context, connect_timeout)
    pool = ConnectionPool(connector)
    try:
        yield pool
    finally:
        await pool.close()


def request(url: str, path: str, body: bytes = REQUEST) -> tuple[bytes, bytes]:
    """A POST as it is sent."""
    origin = origin_of(url)
    fields = [("host", origin.host_field), ("content-length", str(len(body)))]
    return request_head("POST", target_of(url, path), fields) + b"\r\n", body


async def requested(
    pool: ConnectionPool, url: str, path: str, limit: float = 5.0
) -> tuple[int, bytes]:
    """The status and the body of what the server answers."""
    exchange = await pool.send(request(url, path), limit)
    try:
        return exchange.response.status, b"".join([part async for part in exchange])
    finally:
        await exchange.aclose()
