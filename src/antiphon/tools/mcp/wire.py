"""HTTP to one MCP server: only to its origin, at checked addresses, with size limits.

The SDK reports neither the status of a response nor whether a request was sent, and an error while
it sends ends the session for all callers. So its requests pass through here, and the `McpExchange`
of the caller records the outcome.
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
"""Maximum bytes of the response to a call: 5 MB of images, plus some text."""

MAX_LIST = 2 * 1024 * 1024
"""Maximum bytes of all pages of a list: 2,000 tools of 1 KiB. Splitting twice as many takes over 20
ms.
"""

MAX_REFUSAL = 64 * 1024
"""Bytes of an HTTP error that are read."""

CONNECT_TIMEOUT = 10.0
"""Seconds."""

_LOST = frozenset({400, 404, 410})
"""Statuses of a server that does not know the session of a request. Other servers than those of the
SDKs use 400 after a restart, with any body. Each is an answer of HTTP to the request itself: a call
that was executed has a result.
"""

PACE = 0.2
"""Seconds between two requests for events; the SDK repeats them as fast as the server requests."""

SLOW = "it does not answer in time"
"""The reason for a missing response after a timeout."""

Resolve = Callable[[str], Any]


@dataclass(slots=True)
class McpExchange:
    """The outcome of one use of a session, over HTTP."""

    was_sent: bool = False
    """Whether the server may have received any part of the last request."""
    status: int = 0
    """Of the last response; 0 for none."""
    failure: str = ""
    """Why there was no complete response, to end a sentence about the server."""
    is_protocol: bool = False
    """Whether the last error is a protocol error, not an HTTP error."""
    session: str = ""
    """The id of the session that the last request carried; empty for none, or if its URL contains
    the id.
    """
    lost_session: bool = False
    """Whether the server refused the last request for its session, and so has not executed it."""
    most: int = MAX_ANSWER
    """Maximum bytes of all its responses."""
    read: int = 0
    """Bytes received."""
    tools: list[dict[str, Any]] = field(default_factory=list)
    """The valid tools of its pages."""
    containers: int = 0
    """Objects and arrays of the pages that were read."""
    headered: set[str] = field(default_factory=set)
    """The names of tools with arguments in headers, of the page that was read last."""
    left_out: Counter[str] = field(default_factory=Counter)
    """How many tools were omitted, by reason."""
    result: dict[str, Any] = field(default_factory=dict)
    """The valid result of its call."""

    @property
    def was_refused(self) -> bool:
        """Whether HTTP refused it."""
        return self.status >= 300 and not self.is_protocol


exchanging: ContextVar[McpExchange | None] = ContextVar("exchanging", default=None)
"""The caller of these requests. The SDK sends a message in the context of its author."""


class _UnfitError(Exception):
    """A server's request or response is not accepted; the message is the reason."""


class _ResolvedBackend(httpcore2.AnyIOBackend):
    """Connects to addresses that were resolved once and all checked.

    TLS verifies the name as usual.
    """

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
        """Connect to a name's first address that answers.

        Raises `ConnectError` and `ConnectTimeout`.
        """
        try:
            addresses = await self._reach.addresses(host, is_plain=self._is_plain)
        except OSError as error:
            raise httpcore2.ConnectError("connecting to it is not permitted") from error
        last: Exception = httpcore2.ConnectError("it has no address")
        for address in addresses:
            try:
                return await super().connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                last = error
        raise last


class Wire(httpx2.AsyncBaseTransport):
    """The transport below a session.

    While the session opens (`is_open` is false), failures are raised, as the SDK expects. Later
    that would end the session for all callers: a request then receives a response with the error.
    `on_break` is called otherwise.
    """

    def __init__(self, url: str, reach: Reach, tls: ssl.SSLContext, *, has_events: bool) -> None:
        self._origin = _origin(httpx2.URL(url))
        self._has_events = has_events
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=100,
            keepalive_expiry=30,
            network_backend=_ResolvedBackend(reach, is_plain=self._origin[0] == "http"),
        )
        self.is_open = False
        self.received = McpExchange()
        """The state of requests without a caller. Each use of the session adds to its limit."""
        self._next_events = 0.0
        self.on_break: Callable[[], None] = lambda: None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See `httpx2.AsyncBaseTransport`. Raises `httpx2.TransportError`."""
        exchange = exchanging.get() or McpExchange()
        is_post = request.method == "POST"
        exchange.status = 0
        exchange.failure = ""
        exchange.is_protocol = False
        exchange.session = request.headers.get("mcp-session-id", "")
        try:
            answer = await self._send(request, exchange)
            if is_post and answer.status >= 400:
                return await self._refusal(answer, exchange)
        except (*_FAILURES, _UnfitError) as error:
            exchange.failure = _words(error)
            if not is_post or not (self.is_open or self._has_events):
                raise httpx2.ConnectError(exchange.failure) from error
            return self._instead(httpx2.Response(502))
        counted = exchange if is_post else self.received
        return httpx2.Response(
            answer.status, headers=_stored(answer), stream=_Bounded(answer, counted)
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()

    async def _send(self, request: httpx2.Request, exchange: McpExchange) -> httpcore2.Response:
        if _origin(request.url) != self._origin:
            raise _UnfitError("it redirects to another origin, which is not followed")
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
        if any(
            name.lower() == b"content-encoding" and value != b"identity"
            for name, value in answer.headers
        ):
            await answer.aclose()
            raise _UnfitError("its response is compressed, which the request did not accept")
        return answer

    async def _pace(self) -> None:
        now = asyncio.get_running_loop().time()
        delay = max(0.0, self._next_events - now)
        self._next_events = max(now, self._next_events) + PACE
        await asyncio.sleep(delay)

    async def _refusal(self, answer: httpcore2.Response, exchange: McpExchange) -> httpx2.Response:
        """Read an HTTP error: it can contain a protocol error."""
        body = b""
        try:
            async for part in answer.aiter_stream():
                body += part
                if len(body) > MAX_REFUSAL:
                    break
        finally:
            await answer.aclose()
        exchange.is_protocol = _is_protocol(body)
        exchange.lost_session = answer.status in _LOST and (
            self._has_events or bool(exchange.session)
        )
        return self._instead(httpx2.Response(answer.status, headers=_stored(answer), content=body))

    def _instead(self, answer: httpx2.Response) -> httpx2.Response:
        """Return an error in a form that the SDK reads; next to a stream of events it reads none,
        and would wait.
        """
        if not self._has_events:
            return answer
        self.on_break()
        return httpx2.Response(202)


class _Bounded(httpx2.AsyncByteStream):
    """The body of a response.

    Failures are recorded in the exchange, and the SDK reads a body that ends early.
    """

    def __init__(self, answer: httpcore2.Response, exchange: McpExchange) -> None:
        self._answer = answer
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._answer.aiter_stream():
                self._exchange.read += len(part)
                if self._exchange.read > self._exchange.most:
                    self._exchange.failure = (
                        f"its response has more than {self._exchange.most // 2**20} MiB"
                    )
                    return
                yield part
        except _FAILURES as error:
            self._exchange.failure = _words(error)

    async def aclose(self) -> None:
        """Release the connection."""
        await self._answer.aclose()


_NOT_SENT = (
    httpcore2.ConnectError,
    httpcore2.ConnectTimeout,
    httpcore2.PoolTimeout,
    httpcore2.UnsupportedProtocol,
)
_FAILURES = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.UnsupportedProtocol,
)


def client(wire: Wire, headers: dict[str, str], timeout: float) -> httpx2.AsyncClient:
    """Return a client over a wire, without cookies and proxies.

    A response ends after `timeout` seconds of silence.
    """
    ours = {"user-agent": f"antiphon/{__version__}", "accept-encoding": "identity"}
    limits = httpx2.Timeout(CONNECT_TIMEOUT, read=timeout)
    return httpx2.AsyncClient(
        transport=wire, headers={**ours, **headers}, timeout=limits, trust_env=False
    )


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _stored(answer: httpcore2.Response) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response without those that would be stored for the next request."""
    return [(name, value) for name, value in answer.headers if name.lower() != b"set-cookie"]


def _is_protocol(body: bytes) -> bool:
    try:
        message = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    error = message.get("error") if isinstance(message, dict) else None
    return (
        isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and message.get("jsonrpc") == "2.0"
    )


def _words(error: Exception) -> str:
    """Return why a request failed, without any external text."""
    cause = error.__cause__ or error.__context__
    match error:
        case _UnfitError():
            return str(error)
        case httpcore2.TimeoutException():
            return SLOW
        case httpcore2.ConnectError() if isinstance(cause, PrivateAddressError):
            return str(cause)
        case httpcore2.ConnectError() if isinstance(cause, ssl.SSLError):
            return "its TLS certificate was rejected"
        case httpcore2.ConnectError() | httpcore2.UnsupportedProtocol():
            return "it is unreachable"
    return "the connection was closed"
