"""Performs a case's steps against a server, over HTTP and WebSocket. Everything the server does is
returned as data.
"""

import asyncio
import json
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from socket import gaierror
from types import SimpleNamespace, TracebackType
from typing import TYPE_CHECKING, Any, Self

import aiohttp
from aiohttp.client_ws import ClientWebSocketResponse
from yarl import URL

from antiphon_verify.exchange import MCP_RECEIVED, Exchange, Pause, Request, Step, Together, parsed
from antiphon_verify.reading import at

if TYPE_CHECKING:
    from antiphon_verify.tool_server import ToolServer

MAX_BODY = 4 * 1024 * 1024
"""Bytes of a response that are read: far more than any short response has, and a limit for endless
ones.
"""

TRIES = 4
"""How many times a request is sent to a server that reports that it is busy."""

LONGEST_WAIT = 10.0
"""Longest wait, in seconds, that a busy server can request before a retry."""

ENDS = {"response.completed", "response.incomplete", "response.failed", "error"}
"""Types of WebSocket messages that end the response to a frame."""

BUSY = {429, 503}


class Subject:
    """The server at a base URL, with a key if one is set. An asynchronous context manager.

    `tools` is the MCP server that the tested server can use, if it can reach one.
    """

    def __init__(self, base_url: str, key: str = "", tools: "ToolServer | None" = None) -> None:
        self.base_url = base_url.rstrip("/")
        self.key = key
        self.tools = tools
        self.requests = 0

    async def __aenter__(self) -> Self:
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_note_reuse)
        self._session = aiohttp.ClientSession(
            auto_decompress=False,
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("accept-encoding", "content-type"),
            timeout=aiohttp.ClientTimeout(total=None),
            trace_configs=[trace],
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    @asynccontextmanager
    async def visit(self, seconds: float) -> AsyncIterator["Visit"]:
        """Open a visit of at most so many seconds for one case; its WebSockets close with it."""
        visit = Visit(self, self._session, asyncio.get_running_loop().time() + seconds)
        try:
            yield visit
        finally:
            await visit.close()


async def _note_reuse(
    session: aiohttp.ClientSession, context: SimpleNamespace, params: Any
) -> None:
    if context.trace_request_ctx is not None:  # the handshake of a WebSocket has none
        context.trace_request_ctx["is_reused"] = True


class Visit:
    """The connection of one case to the server."""

    def __init__(self, subject: Subject, session: aiohttp.ClientSession, deadline: float) -> None:
        self._subject = subject
        self._session = session
        self._deadline = deadline
        self._sockets: dict[int, ClientWebSocketResponse] = {}

    async def perform(self, step: Step) -> Exchange | list[Exchange] | None:
        """Perform a step of a case. Never raises because of what a server does."""
        match step:
            case Pause(seconds):
                await asyncio.sleep(max(0.0, min(seconds, self._left())))
                return None
            case Together(requests):
                return await self.together(*requests)
            case Request():
                return await self.fetch(step)

    async def together(self, *requests: Request) -> list[Exchange]:
        """Send requests concurrently; return their exchanges in order."""
        return list(await asyncio.gather(*map(self.fetch, requests)))

    async def close(self) -> None:
        """Close the case's WebSockets."""
        for socket in self._sockets.values():
            await socket.close()

    def _left(self) -> float:
        return self._deadline - asyncio.get_running_loop().time()

    async def fetch(self, request: Request) -> Exchange:
        """Send a request; retry if the server is busy or had closed an idle connection."""
        if request.method == MCP_RECEIVED:
            received = self._subject.tools.received(request.path) if self._subject.tools else b"[]"
            return Exchange(request, 200, body=received)
        for again in reversed(range(TRIES)):
            exchange = await (
                self._converse(request) if request.method == "WS" else self._send_request(request)
            )
            wait = self._wait(exchange)
            if not again or wait is None or wait > self._left():
                break
            await asyncio.sleep(wait)
        return exchange

    def _wait(self, exchange: Exchange) -> float | None:
        """Return the seconds until a retry, None if the response is final."""
        if exchange.status in BUSY:
            retry_after = exchange.headers.get("retry-after", "1")
            seconds = (
                float(retry_after)
                if retry_after.isdecimal() and len(retry_after) < 4
                else LONGEST_WAIT + 1
            )
            return seconds if seconds <= LONGEST_WAIT else None
        is_stale = (
            exchange.is_reused and exchange.fault and not exchange.status and self._left() > 0
        )
        return 0.0 if is_stale else None

    async def _send_request(self, request: Request) -> Exchange:
        answer = _Answer()
        self._subject.requests += 1
        try:
            async with asyncio.timeout(self._left()):
                await self._read(request, answer)
        except TimeoutError:
            answer.fault = "timed out before the response was complete"
        except aiohttp.ClientConnectorError as error:
            answer.is_reached, answer.fault = (
                False,
                f"no connection ({_unreachable(error.os_error)})",
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            when = (
                f"after {len(answer.body)} bytes of the body"
                if answer.status
                else "before any response"
            )
            answer.fault = f"the connection broke {when} ({_named(error)})"
        return answer.to(request)

    async def _read(self, request: Request, answer: "_Answer") -> None:
        async with self._session.request(
            request.method,
            URL(self._subject.base_url + request.path, encoded=True),
            data=request.data or None,
            headers=self._headers(request),
            allow_redirects=False,
            trace_request_ctx=answer.context,
        ) as response:
            answer.status = response.status
            answer.headers = _lowered(response.headers)
            async for piece in response.content.iter_any():
                answer.body += piece
                if request.leave_after is not None and len(answer.body) >= request.leave_after:
                    response.close()
                    return
                if len(answer.body) > MAX_BODY:
                    response.close()
                    answer.fault = f"the response has more than {MAX_BODY} bytes"
                    return

    def _headers(self, request: Request) -> dict[str, str]:
        headers = {"content-type": "application/json"} if request.data else {}
        if self._subject.key:
            headers["authorization"] = f"Bearer {self._subject.key}"
        headers |= {name.lower(): value for name, value in request.headers.items()}
        return {name: value for name, value in headers.items() if value}

    async def _converse(self, request: Request) -> Exchange:
        answer = _Answer(status=101)
        self._subject.requests += 1
        try:
            async with asyncio.timeout(self._left()):
                socket = await self._socket(request, answer)
                if request.data:
                    await socket.send_str(request.data.decode("utf-8", "surrogateescape"))
                await _listen(socket, request, answer)
        except aiohttp.WSServerHandshakeError as error:
            answer.status, answer.headers = error.status, _lowered(error.headers or {})
        except TimeoutError:
            answer.fault = "timed out before the last message"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            answer.fault = f"the WebSocket broke ({_named(error)})"
        return answer.to(request)

    async def _socket(self, request: Request, answer: "_Answer") -> ClientWebSocketResponse:
        socket = self._sockets.get(request.socket)
        answer.context["is_reused"] = socket is not None and not socket.closed
        if socket is None or socket.closed:
            url = URL(self._subject.base_url + request.path, encoded=True)
            headers = {
                name: value
                for name, value in self._headers(request).items()
                if name != "content-type"
            }
            socket = await self._session.ws_connect(url, headers=headers, max_msg_size=MAX_BODY)
            self._sockets[request.socket] = socket
        return socket


class _Answer:
    """A response while it is received."""

    def __init__(self, status: int = 0) -> None:
        self.status = status
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self.fault = ""
        self.context = {"is_reused": False}
        self.is_reached = True

    def to(self, request: Request) -> Exchange:
        is_reused = self.context["is_reused"]
        return Exchange(
            request,
            self.status,
            self.headers,
            bytes(self.body),
            self.fault,
            is_reused,
            self.is_reached,
        )


async def _listen(socket: ClientWebSocketResponse, request: Request, answer: _Answer) -> None:
    """Receive messages until the awaited number of responses has ended; line breaks in JSON
    messages are removed.
    """
    answers = request.answers
    while answers > 0:
        message = await socket.receive()
        if message.type is not aiohttp.WSMsgType.TEXT:
            answer.fault = (
                f"the WebSocket was closed: {message.type.name.lower()}, code {socket.close_code}"
            )
            return
        value = parsed(message.data.encode("utf-8", "replace"))
        line = (
            json.dumps(value)
            if isinstance(value, dict | list)
            else " ".join(message.data.splitlines())
        )
        answer.body += line.encode("utf-8", "replace") + b"\n"
        kind = at(value, "type")
        if isinstance(kind, str):
            answers -= kind in ENDS
            if request.until and kind.startswith(request.until):
                return
        if len(answer.body) > MAX_BODY:
            answer.fault = f"more than {MAX_BODY} bytes were received"
            return


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _unreachable(error: OSError) -> str:
    """Return why there is no connection, in the words of the operating system."""
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"
    if isinstance(error, gaierror):
        return f"DNS: {error.strerror}"
    return os.strerror(error.errno).lower() if error.errno else _named(error)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200] if str(error) else type(error).__name__
