"""HTTP to one MCP server: to its origin alone, at addresses that were looked at, in bounded amounts.

The SDK tells neither the status of an answer nor whether a request was sent, and an error while it sends ends the
session of all. So its requests go through here, and what became of one stands in the `Exchange` of who asked.
"""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpcore2
import httpx2
import msgspec

from antiphon.outbound.ssrf import PrivateAddressError, Reach
from antiphon.version import __version__

MAX_ANSWER = 8 * 1024 * 1024
"""Bytes that the answer to a call may have: 5 MB of images, and some."""

MAX_LIST = 2 * 1024 * 1024
"""Bytes that all pages of a list may have together: 2,000 tools of 1 KiB. To split twice as many takes over 20 ms."""

MAX_REFUSAL = 64 * 1024
"""Bytes of an HTTP error that are read."""

CONNECT_TIMEOUT = 10.0
"""Seconds."""

PACE = 0.2
"""Seconds from one request for events to the next; the SDK repeats them as fast as the server asks for."""

SLOW = "it does not answer in time"
"""Why there is no answer, where it was waited for in vain."""

Resolve = Callable[[str], Any]


@dataclass(slots=True)
class Exchange:
    """What became of one use of a session, over HTTP."""

    was_sent: bool = False
    """Whether the server may have got anything of the last request."""
    status: int = 0
    """Of the last answer; 0 for none."""
    failure: str = ""
    """Why there was no whole answer, to end a sentence about the server."""
    is_protocol: bool = False
    """Whether the last refusal is one of the protocol, and not of HTTP."""
    lost_session: bool = False
    """Whether the server has forgotten the session."""
    most: int = MAX_ANSWER
    """Bytes that all its answers may have."""
    read: int = 0
    """Bytes that they had."""
    tools: list[dict[str, Any]] = field(default_factory=list)
    """The sound tools of its pages."""
    containers: int = 0
    """Objects and arrays of the pages that were read."""
    headered: set[str] = field(default_factory=set)
    """The names of those whose arguments go into headers, of the page that was read last."""
    left_out: Counter[str] = field(default_factory=Counter)
    """How many tools were left out of them, by the reason."""
    result: dict[str, Any] = field(default_factory=dict)
    """The sound result of its call."""

    @property
    def was_refused(self) -> bool:
        """Whether HTTP refused it."""
        return self.status >= 300 and not self.is_protocol


exchanging: ContextVar[Exchange | None] = ContextVar("exchanging", default=None)
"""Whose requests these are. The SDK sends a message in the context of who wrote it."""


class _UnfitError(Exception):
    """What a server asks for or gives is not taken; the message says why."""


class _Looking(httpcore2.AnyIOBackend):
    """Connects to addresses that were looked up once and looked at, all of them. TLS goes on to check the name."""

    def __init__(self, reach: Reach, *, is_plain: bool) -> None:
        self._reach = reach
        self._is_plain = is_plain

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface's own
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a name's first address that answers. Raises `ConnectError` and `ConnectTimeout`."""
        try:
            addresses = await self._reach.addresses(host, is_plain=self._is_plain)
        except OSError as error:
            raise httpcore2.ConnectError("it may not be connected to") from error
        last: Exception = httpcore2.ConnectError("it has no address")
        for address in addresses:
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                last = error
        raise last


class Wire(httpx2.AsyncBaseTransport):
    """The transport under a session.

    While the session opens (`is_open` is false), what fails is raised, as the SDK expects. Later that would end the
    session for everybody: a request then gets an answer that says so. `on_break` is called where no answer helps.
    """

    def __init__(self, url: str, reach: Reach, tls: ssl.SSLContext, *, has_events: bool) -> None:
        self._origin = _origin(httpx2.URL(url))
        self._has_events = has_events
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=100,
            keepalive_expiry=30,
            network_backend=_Looking(reach, is_plain=self._origin[0] == "http"),
        )
        self.is_open = False
        self.heard = Exchange()
        """What came of itself, beside answers or in their place. Each use of the session allows for more."""
        self._next_events = 0.0
        self.on_break: Callable[[], None] = lambda: None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See `httpx2.AsyncBaseTransport`. Raises `httpx2.TransportError`."""
        exchange = exchanging.get() or Exchange()
        is_post = request.method == "POST"
        exchange.status, exchange.failure, exchange.is_protocol = 0, "", False
        try:
            answer = await self._send(request, exchange)
            if is_post and answer.status >= 400:
                return await self._refusal(request, answer, exchange)
        except (*_FAILURES, _UnfitError) as error:
            exchange.failure = _words(error)
            if not is_post or not (self.is_open or self._has_events):
                raise httpx2.ConnectError(exchange.failure) from error
            return self._instead(httpx2.Response(502))
        counted = exchange if is_post else self.heard
        return httpx2.Response(answer.status, headers=_kept(answer), stream=_Bounded(answer, counted))

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()

    async def _send(self, request: httpx2.Request, exchange: Exchange) -> httpcore2.Response:
        if _origin(request.url) != self._origin:
            raise _UnfitError("it leads to another place, which is not followed")
        if request.method == "GET":
            await self._pace()
        exchange.was_sent = True
        url = httpcore2.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        try:
            answer = await self._pool.handle_async_request(
                httpcore2.Request(
                    request.method,
                    url,
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        except _NOT_SENT:
            exchange.was_sent = False
            raise
        exchange.status = answer.status
        if any(name.lower() == b"content-encoding" and value != b"identity" for name, value in answer.headers):
            await answer.aclose()
            raise _UnfitError("its answer is compressed, which it was not asked for")
        return answer

    async def _pace(self) -> None:
        now = asyncio.get_running_loop().time()
        delay, self._next_events = max(0.0, self._next_events - now), max(now, self._next_events) + PACE
        await asyncio.sleep(delay)

    async def _refusal(
        self, request: httpx2.Request, answer: httpcore2.Response, exchange: Exchange
    ) -> httpx2.Response:
        """Read an HTTP error: one of the protocol may stand in it."""
        body = b""
        try:
            async for part in answer.aiter_stream():
                body += part
                if len(body) > MAX_REFUSAL:
                    break
        finally:
            await answer.aclose()
        exchange.is_protocol = _is_protocol(body)
        exchange.lost_session = answer.status == 404 and (self._has_events or "mcp-session-id" in request.headers)
        return self._instead(httpx2.Response(answer.status, headers=_kept(answer), content=body))

    def _instead(self, answer: httpx2.Response) -> httpx2.Response:
        """Return an error, in a form that the SDK reads; beside a stream of events it reads none, and would wait."""
        if not self._has_events:
            return answer
        self.on_break()
        return httpx2.Response(202)


class _Bounded(httpx2.AsyncByteStream):
    """An answer's body. What it breaks off for stands in the exchange, and the SDK reads a body that ends early."""

    def __init__(self, answer: httpcore2.Response, exchange: Exchange) -> None:
        self._answer = answer
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._answer.aiter_stream():
                self._exchange.read += len(part)
                if self._exchange.read > self._exchange.most:
                    self._exchange.failure = f"it answers with more than {self._exchange.most // 2**20} MiB"
                    return
                yield part
        except _FAILURES as error:
            self._exchange.failure = _words(error)

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._answer.aclose()


_NOT_SENT = (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.PoolTimeout, httpcore2.UnsupportedProtocol)
_FAILURES = (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol)


def client(wire: Wire, headers: dict[str, str], timeout: float) -> httpx2.AsyncClient:
    """Return a client over a wire, without cookies and proxies. Silence of `timeout` seconds ends an answer."""
    ours = {"user-agent": f"antiphon/{__version__}", "accept-encoding": "identity"}
    limits = httpx2.Timeout(CONNECT_TIMEOUT, read=timeout)
    return httpx2.AsyncClient(transport=wire, headers={**ours, **headers}, timeout=limits, trust_env=False)


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _kept(answer: httpcore2.Response) -> list[tuple[bytes, bytes]]:
    """Return an answer's headers without those that would be kept for the next request."""
    return [(name, value) for name, value in answer.headers if name.lower() != b"set-cookie"]


def _is_protocol(body: bytes) -> bool:
    try:
        message = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    error = message.get("error") if isinstance(message, dict) else None
    return isinstance(error, dict) and isinstance(error.get("code"), int) and message.get("jsonrpc") == "2.0"


def _words(error: Exception) -> str:
    """Return why a server was not heard, in words that quote nobody but ourselves."""
    cause = error.__cause__ or error.__context__
    match error:
        case _UnfitError():
            return str(error)
        case httpcore2.TimeoutException():
            return SLOW
        case httpcore2.ConnectError() if isinstance(cause, PrivateAddressError):
            return str(cause)
        case httpcore2.ConnectError() if isinstance(cause, ssl.SSLError):
            return "its TLS certificate does not hold"
        case httpcore2.ConnectError() | httpcore2.UnsupportedProtocol():
            return "it cannot be reached"
    return "the connection broke off"
