"""One session with an MCP server, by the official SDK. Only `sessions.py` loads this file, on first
use.

The SDK's scopes must end in the task in which they began, so a session has a task of its own;
callers use it from their tasks, and can be cancelled without affecting other callers.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import cache
from typing import Any, Literal

import httpx2
import mcp_types as types
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import listen
from mcp.shared._httpx_utils import McpHttpClientFactory
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from antiphon.errors import log
from antiphon.sharing.scheduler import FairScheduler
from antiphon.tools.mcp.dispatcher import MAX_TOOLS, Dispatcher, PageReader, drop_unsent
from antiphon.tools.mcp.failures import (
    connection_closed,
    http_failure,
    is_closed,
    program_exited,
    session_failure,
)
from antiphon.tools.mcp.messages import install
from antiphon.tools.mcp.refusals import refuses_session
from antiphon.tools.mcp.result import ListedTools, ServerError, without
from antiphon.tools.mcp.server_log import Spoken
from antiphon.tools.mcp.target import McpTarget
from antiphon.tools.mcp.validation import clean
from antiphon.tools.mcp.wire import (
    MAX_ANSWER,
    MAX_LIST,
    McpExchange,
    Wire,
    client,
    exchanging,
)
from antiphon.version import __version__

MAX_PAGES = 1_000
CLOSING = 3.0
"""Seconds that a session has to close before it is cancelled."""

STOPPING = 8.0
"""Additional seconds for a program; the SDK gives it two to exit, and two after SIGTERM."""

ENDING = 5.0
"""Seconds to wait for the exit status of a program."""

UNDERSTANDING = 5.0
"""Seconds for the first request, which programs from before 2026 may never answer."""

_CHATTY = (
    "client",
    "httpx2",
    *(f"mcp.client.{one}" for one in ("sse", "stdio", "streamable_http", "session")),
)
_CHATTY += (
    "mcp.shared.jsonrpc_dispatcher",
    *(f"httpcore2.{one}" for one in ("connection", "http11")),
)

Way = Literal["http", "sse", "stdio"]


class McpSession:
    """A session that is opened once, used by many, and closed once.

    A response over HTTP can be silent for `silence` seconds. `on_change` is called when the tools
    have changed. `turns` shares the reading of lists between tenants; `target.reach` has this
    tenant.
    """

    def __init__(
        self,
        target: McpTarget,
        way: Way,
        silence: float,
        on_change: Callable[[], None],
        turns: FairScheduler,
    ) -> None:
        self._pages_of = PageReader(turns, target.reach.asker.tenant, target.secrets)
        self._target = target
        self._silence = silence
        self._owner = f"The MCP server '{target.label}'"
        self._way = way
        self._on_change = on_change
        self._ended = asyncio.Event()
        self._is_lost = False
        self._opening = McpExchange(was_sent=way == "stdio")
        self._session: ClientSession | None = None
        self._wire: Wire | None = None
        self._program: Any = None
        """Its process, which has a `returncode` once it has exited."""
        self._spoken: Spoken | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_alive(self) -> bool:
        """Whether it is open."""
        return self._session is not None and not self._ended.is_set()

    @property
    def is_usable(self) -> bool:
        """Whether it is open, and the server has refused no request for its session."""
        return self.is_alive and not self._is_lost

    async def open(self, seconds: float) -> None:
        """Open it within this many seconds. Raises `ServerError`."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        token = exchanging.set(self._opening)
        self._task = asyncio.create_task(self._live(ready), name=f"mcp {self._target.label}")
        exchanging.reset(token)
        try:
            async with asyncio.timeout(seconds):
                await ready
        except Exception as error:
            raise await self._failed(error, self._opening) from error
        finally:
            if not self.is_alive:
                await self.close()

    async def list_tools(self) -> ListedTools:
        """Return all tools of the server. Raises `ServerError`."""
        exchange = self._exchange(MAX_LIST)
        try:
            tools, is_circular = await self._pages(exchange)
            return ListedTools(tools, exchange.left_out, is_circular)
        except Exception as error:
            raise await self._failed(error, exchange) from error
        finally:
            exchange.tools = []  # the SDK's tasks keep a reference to the exchange

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the valid result of a tool. Raises `ServerError`."""
        exchange = self._exchange(MAX_ANSWER)
        try:
            await self._call(name, arguments, exchange)
        except Exception as error:
            raise await self._failed(error, exchange) from error
        result = exchange.result
        exchange.result = {}
        return without(self._target.secrets, result)

    async def close(self) -> None:
        """Close it, and wait until it is closed."""
        self._ended.set()
        if self._task is None:
            return
        if self._session is not None:
            await asyncio.wait({self._task}, timeout=STOPPING if self._way == "stdio" else CLOSING)
        self._task.cancel()
        await asyncio.wait({self._task}, timeout=STOPPING)

    def _exchange(self, most: int) -> McpExchange:
        """Begin to record the outcome of requests; input that a program received counts as sent."""
        exchange = McpExchange(was_sent=self._way == "stdio" and self.is_alive, most=most)
        exchanging.set(exchange)
        if self._wire is not None:
            self._wire.received.most += most
        return exchange

    async def _live(self, ready: "asyncio.Future[None]") -> None:
        """Stay open until it is closed, or the connection ends."""
        try:
            async with AsyncExitStack() as stack:
                session = await self._connected(stack)
                self._session = session
                if self._wire is not None:
                    self._wire.is_open = True
                if not ready.done():
                    ready.set_result(None)
                stack.callback(asyncio.create_task(self._receive(session)).cancel)
                await self._ended.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(_first(error))
            log.debug(
                "A session with the MCP server '%s' broke: %s",
                self._target.label,
                type(_first(error)).__name__,
            )
        finally:
            self._ended.set()
            if not ready.done():
                ready.set_exception(ConnectionError())

    async def _connected(self, stack: AsyncExitStack) -> ClientSession:
        _prepare()
        read, write = await (self._started(stack) if self._way == "stdio" else self._reached(stack))
        dispatcher = Dispatcher(read, write, self._ended, self._pages_of)
        caller = types.Implementation(name="antiphon", version=__version__)
        session = ClientSession(
            dispatcher=dispatcher, client_info=caller, message_handler=self._noted
        )
        await stack.enter_async_context(session)
        await _agree(session)
        return session

    async def _started(self, stack: AsyncExitStack) -> tuple[Any, Any]:
        program, *arguments = self._target.command
        self._spoken = errors = stack.enter_context(
            Spoken(self._target.label, self._target.secrets)
        )
        parameters = StdioServerParameters(
            command=program, args=arguments, env=dict(self._target.environment)
        )
        started = stdio_client(parameters, errors.file)
        streams = await stack.enter_async_context(started)
        self._program = _program_of(started)
        errors.file.close()
        return streams

    async def _reached(self, stack: AsyncExitStack) -> tuple[Any, Any]:
        url = self._target.url
        has_events = self._way == "sse"
        self._wire = Wire(
            url, self._target.reach, await asyncio.to_thread(trusted_roots), has_events=has_events
        )
        self._wire.on_break = self._ended.set
        requesting = client(self._wire, dict(self._target.headers), self._silence)
        if has_events:
            return await stack.enter_async_context(
                sse_client(url, httpx_client_factory=_provided(requesting))
            )
        await stack.enter_async_context(requesting)
        streams = streamable_http_client(url, http_client=requesting, max_sse_event_size=MAX_ANSWER)
        return await stack.enter_async_context(streams)

    async def _pages(self, exchange: McpExchange) -> tuple[list[dict[str, Any]], bool]:
        """Return the tools of all pages, and whether they end at a cursor that the server returned
        before.
        """
        session = self._usable()
        cursor = None
        cursors = set[str]()
        for _ in range(MAX_PAGES):
            page = await session.list_tools(
                params=types.PaginatedRequestParams(cursor=cursor) if cursor else None
            )
            drop_unsent(exchange, {tool.name for tool in page.tools})
            if len(exchange.tools) > MAX_TOOLS:
                raise ServerError(f"{self._owner} lists more than {MAX_TOOLS:,} tools.")
            cursor = page.next_cursor
            if cursor is None or cursor in cursors:
                break
            cursors.add(cursor)
        else:
            raise ServerError(
                f"{self._owner} returned a list of tools with more than {MAX_PAGES:,} pages."
            )
        # Of two tools with the same name the first is kept.
        return list({tool["name"]: tool for tool in reversed(exchange.tools)}.values())[
            ::-1
        ], cursor is not None

    async def _call(self, name: str, arguments: Mapping[str, Any], exchange: McpExchange) -> None:
        session = self._usable()
        # Text that is invalid in UTF-8 would end the session for all callers.
        params = types.CallToolRequestParams(name=clean(name), arguments=clean(dict(arguments)))
        try:
            await session.send_request(types.CallToolRequest(params=params), types.CallToolResult)
        except MCPError as error:
            if error.code != types.HEADER_MISMATCH:
                raise
        else:
            return
        # It requires arguments as headers too, which the SDK knows only of tools that it has
        # listed. Nothing was done.
        await self._pages(exchange)
        await session.send_request(types.CallToolRequest(params=params), types.CallToolResult)

    def _usable(self) -> ClientSession:
        if self._session is None or self._ended.is_set():
            raise ServerError(f"{self._owner} failed: the connection was closed.", may_repeat=True)
        return self._session

    async def _noted(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._on_change()

    async def _receive(self, session: ClientSession) -> None:
        """Subscribe to changes, for servers that require a subscription."""
        tools = session.server_capabilities.tools if session.server_capabilities else None
        if (
            session.protocol_version not in MODERN_PROTOCOL_VERSIONS
            or tools is None
            or not tools.list_changed
        ):
            return
        try:
            async with listen(session, tools_list_changed=True) as changes:
                async for _ in changes:
                    self._on_change()
        except Exception as error:
            log.debug(
                "The MCP server '%s' reports no changes: %s",
                self._target.label,
                type(error).__name__,
            )
        # No further change is reported.
        self._on_change()

    async def _failed(self, error: Exception, exchange: McpExchange) -> ServerError:
        """Return the error; for a program that has exited, including its status."""
        if (
            self._spoken is not None
            and self._task is not None
            and (is_closed(error) or self._ended.is_set())
        ):
            self._ended.set()
            await asyncio.wait({self._task}, timeout=ENDING)
            await self._spoken.end(ENDING / 10)
        return self._failure(error, exchange)

    def _failure(self, error: Exception, exchange: McpExchange) -> ServerError:
        """Return the error, and whether the request can be repeated."""
        if isinstance(error, ServerError):
            return error
        if isinstance(error, MCPError) and exchange.status < 400:
            exchange.lost_session = refuses_session(error.code, error.message, exchange.session)
        # Other calls of a session that was refused may still run, so it stays open for them.
        self._is_lost = self._is_lost or exchange.lost_session
        if is_closed(error):
            self._ended.set()
        failure = http_failure(self._owner, exchange) or session_failure(
            self._owner, error, self._ending(), is_program=self._way == "stdio"
        )
        is_unsent = failure.type == "http_error" and not exchange.was_sent
        failure.may_repeat = exchange.lost_session or is_unsent
        return failure

    def _ending(self) -> ServerError | None:
        """Return how the session has ended, None if it is open."""
        if not self._ended.is_set():
            return None
        if self._way != "stdio":
            return connection_closed(self._owner)
        status = getattr(self._program, "returncode", None)
        return program_exited(self._owner, status, self._spoken.last if self._spoken else "")


async def _agree(session: ClientSession) -> None:
    """Negotiate a version: without a handshake if the server supports that (2026), else with one.

    A program that takes longer than `UNDERSTANDING` to start can be of either kind: if it then
    rejects the handshake, it is one without.
    """
    is_slow = False
    try:
        async with asyncio.timeout(UNDERSTANDING):
            await session.discover()
        return
    except TimeoutError:
        is_slow = True
    except (MCPError, ValueError, RuntimeError):
        pass
    try:
        await session.initialize()
    except MCPError:
        if not is_slow:
            raise
        await session.discover()


def _program_of(started: Any) -> Any:
    """Return the process that the SDK started, None if the SDK does not expose it; its status is
    then unknown.
    """
    frame = getattr(getattr(started, "gen", None), "ag_frame", None)
    return frame.f_locals.get("process") if frame else None


def _first(error: Exception) -> Exception:
    """Return the first error of a group."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _provided(requesting: httpx2.AsyncClient) -> McpHttpClientFactory:
    def give(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return requesting

    return give


@cache
def trusted_roots() -> ssl.SSLContext:
    """Return the context of TLS that trusts this machine's authorities, read once."""
    return ssl.create_default_context()


def _quiet(_: logging.LogRecord) -> bool:
    """Whether a line can be logged: libraries log the servers' texts, and the URLs of requests."""
    return exchanging.get() is None


@cache
def _prepare() -> None:
    install()
    for name in _CHATTY:
        logging.getLogger(name).addFilter(_quiet)
