"""The `mcp` tool of the API: lists the tools of servers, and calls them (specification section
6).
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from os import environ
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from antiphon.errors import ClientError, log, reportable
from antiphon.extras import missing
from antiphon.outbound.lookups import Asker
from antiphon.outbound.ssrf import Reach, is_address
from antiphon.protocol.tools import McpTool, Tool
from antiphon.sharing.resources import SharedResources
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.tools.base import ToolListing, ToolOutcome, Use
from antiphon.tools.mcp.lists import Lists, Standing, What
from antiphon.tools.mcp.result import ServerError, came, failed, without
from antiphon.tools.mcp.sessions import (
    IDLE,
    STARTING,
    McpSessions,
    Pauses,
    loaded,
    opening_turns,
    retrieve,
    session_turns,
)
from antiphon.tools.mcp.slices import reading_turns
from antiphon.tools.mcp.target import Configured, McpTarget, Targets

if TYPE_CHECKING:
    from antiphon.tools.mcp.session import McpSession

FEATURE = "MCP servers"
"""The purpose of the extra `mcp`, for errors."""

LIST_TIMEOUT = 10.0
"""Seconds that listing tools can take, in addition to the start of a program."""

AT_ONCE = 256
"""Concurrent lists and calls. They wait for other servers."""

WAITING = 2_000
"""Lists and calls that can wait for their turn."""

T = TypeVar("T")


def call_turns() -> FairScheduler:
    """Return the scheduler of a process's lists and calls."""
    return FairScheduler(AT_ONCE, WAITING, leaves_room=True)


class McpServers:
    """Servers of the settings and of requests: a `ToolServers`.

    `reach` defines the permitted URLs of requests; `environment` has the variables that settings
    name. A list is requested again after `list_ttl` seconds, a call times out after `timeout`, an
    unused session closes after `idle`. Raises `ConfigError` if a variable is not set.
    """

    def __init__(
        self,
        configured: Iterable[Configured] = (),
        reach: Reach | None = None,
        *,
        list_ttl: float = 60.0,
        timeout: float = 60.0,
        environment: Mapping[str, str] | None = None,
        idle: float = IDLE,
        shared: SharedResources | None = None,
        count_left_out: Callable[[str, int], None] = lambda flaw, count: None,
    ) -> None:
        self._count_left_out = count_left_out
        shared = shared or SharedResources()
        self._turns = shared.add("mcp_calls", call_turns())
        configured = list(configured)
        self._targets = Targets(
            configured, reach or Reach(), environ if environment is None else environment
        )
        self._timeout = timeout
        reading = shared.add("mcp_lists", reading_turns())
        self._lists = Lists(list_ttl, reading=reading)
        longest = max(timeout, LIST_TIMEOUT, *(one.timeout or 0 for one in configured))
        self._sessions = McpSessions(
            self._lists.forget,
            longest + 1,
            idle,
            shared.add("mcp_sessions", session_turns()),
            reading,
            shared.add("mcp_openings", opening_turns()),
        )
        self._pauses = Pauses()
        self._standing = Standing()
        self._tasks: set[asyncio.Task[Any]] = set()

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Raise `ClientError` (400) if a request's tool names no server, or one that cannot be
        called.
        """
        if isinstance(tool, McpTool):
            if error := missing("mcp", FEATURE, path):
                raise error
            try:
                self._targets.find(tool)
            except ClientError as error:
                raise ClientError(error.message, code=error.code, param=path) from error

    def description(self, tool: McpTool) -> str:
        """The description of a request's server in the settings, or an empty text."""
        return "" if tool.server_url else self._targets.descriptions.get(tool.server_label, "")

    async def list(self, tool: McpTool, tenant: str = "") -> ToolListing:
        """See `ToolServers.list`."""
        try:
            target = self._targets.find(tool)
        except ClientError as error:
            return ToolListing(error=error.message)
        if (absent := missing("mcp", FEATURE)) is not None:
            return ToolListing(error=absent.message)
        return await self._lists.get(
            (target.key, tenant), partial(self._send_request, target, tenant)
        )

    async def run(self, use: Use) -> ToolOutcome:
        """See `HostedTool.run`."""
        if not isinstance(use.tool, McpTool):
            return failed(ServerError("It is not a tool of an MCP server."))
        try:
            target = self._targets.find(use.tool)
            return came(
                await self._request(
                    target,
                    use.tenant,
                    "call",
                    lambda session: session.call(use.name, use.arguments),
                )
            )
        except ServerError as error:
            return failed(error)
        except Exception as error:
            return failed(ServerError(reportable(error).message))

    async def close(self) -> None:
        """Close every session, every program and all requests in progress."""
        await self._lists.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._sessions.close()

    async def _send_request(self, target: McpTarget, tenant: str) -> ToolListing:
        try:
            found = await self._request(
                target, tenant, "list", lambda session: session.list_tools()
            )
        except ServerError as error:
            server = f"The MCP server '{target.label}'"
            is_full = error.type == "http_error" or error.message.startswith(server)
            status = error.code if error.type == "http_error" else 0
            return ToolListing(
                error=error.message if is_full else f"{server} returned: {error.message}",
                status=status,
            )
        except Exception as error:
            return ToolListing(error=reportable(error).message)
        for flaw, count in found.left_out.items():
            self._count_left_out(flaw, count)
        self._standing.listed(target, found)
        return ToolListing(found.tools)

    async def _request(
        self,
        target: McpTarget,
        tenant: str,
        what: What,
        request: Callable[["McpSession"], Awaitable[T]],
    ) -> T:
        """Call the server, unless it just timed out, and record the outcome.

        Raises `ServerError`.
        """
        # A program runs once per tenant; any other server that hangs, hangs for all tenants.
        pause = target.key + (tenant if target.command else "")
        if self._pauses.has(pause):
            raise ServerError(
                f"The MCP server '{target.label}' did not answer in time. Try again in a moment."
            )
        await loaded()
        try:
            answer = await self._in_turn(target, tenant, what, request)
        except ServerError as error:
            if what == "call" and self._is_of_tool(error, target, tenant):
                log.debug("A call of the MCP server '%s' failed: %s", target.label, error.gist)
            else:
                self._standing.failed(target, what, error)
                if error.is_slow:
                    self._pauses.begin(pause)
            raise
        self._pauses.end(pause)
        self._standing.answered(target, what)
        return answer

    async def _in_turn(
        self,
        target: McpTarget,
        tenant: str,
        what: What,
        request: Callable[["McpSession"], Awaitable[T]],
    ) -> T:
        """Call the server when the tenant's turn has come; the time limit begins then.

        Raises `ServerError`.
        """
        try:
            async with self._turns.slot(tenant):
                if not self._sessions.is_open(target, tenant):
                    await _resolve(target, tenant)
                    await self._sessions.space(target, tenant)
                requested = self._through_session(
                    target, tenant, request, may_repeat=what == "list"
                )
                return await _discreet(
                    target.secrets, self._within(self._limit(target, what), requested, target)
                )
        except NoRoomError as error:
            raise ServerError(
                "Too many calls of MCP servers are waiting. Try again later."
            ) from error

    def _limit(self, target: McpTarget, what: What) -> float:
        """Return its time limit in seconds."""
        if what == "call":
            return target.timeout or self._timeout
        return LIST_TIMEOUT + (STARTING if target.command else 0)

    def _is_of_tool(self, error: ServerError, target: McpTarget, tenant: str) -> bool:
        """Whether a failed call does not concern the whole server: it was reachable."""
        is_slow_tool = (
            error.is_slow and not error.may_repeat and self._sessions.is_open(target, tenant)
        )
        return is_slow_tool or error.type == "mcp_protocol_error"

    async def _through_session(
        self,
        target: McpTarget,
        tenant: str,
        request: Callable[["McpSession"], Awaitable[T]],
        *,
        may_repeat: bool = False,
    ) -> T:
        """Call through a session, and retry once through another if the first ended before anything
        was executed.
        """
        async with self._sessions.acquire(target, tenant) as session:
            try:
                return await request(session)
            except ServerError as error:
                if not error.may_repeat and (session.is_alive or not may_repeat):
                    raise
        async with self._sessions.acquire(target, tenant) as session:
            return await request(session)

    async def _within(self, seconds: float, work: Coroutine[Any, Any, T], target: McpTarget) -> T:
        """Return the result of the work, or raise `ServerError` after this many seconds.

        Cancelled with the caller.
        """
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(retrieve)
        try:
            # Do not wait for it any longer: cancelling a request at a server takes time too.
            await asyncio.wait({task}, timeout=seconds)
        finally:
            task.cancel()
        if task.done() and not task.cancelled():
            return task.result()
        raise ServerError(
            f"The MCP server '{target.label}' did not answer within {seconds:g} seconds.",
            is_slow=True,
        )


async def _resolve(target: McpTarget, tenant: str) -> None:
    """Resolve a server's name before its time limit begins; the result is cached briefly.

    Raises `ServerError` if it has no address.
    """
    host = urlsplit(target.url).hostname or ""
    if not host or is_address(host):
        return
    try:
        await target.reach.resolve(host, Asker(tenant))
    except OSError as error:
        message = f"The MCP server '{target.label}' is unreachable."
        is_slow = isinstance(error.__cause__, TimeoutError)
        raise ServerError(message, may_repeat=True, is_slow=is_slow) from error


async def _discreet(secrets: Sequence[str], answer: Awaitable[T]) -> T:
    """Return a server's answer; for a `ServerError`, without the credentials that the server
    received.
    """
    try:
        return await answer
    except ServerError as error:
        error.message = without(secrets, error.message)
        raise
