"""A real MCP server, by the official SDK: over Streamable HTTP, SSE and stdio, of this process's
loop or alone.

async with mcp_serving(token="secret") as server:
    ...                      # `server.url`, `server.sse_url`; what was asked stands in `server.requested`, `.headers`

python -m tests.support.mcp_server           # stdio python -m tests.support.mcp_server 8100      #
both HTTP transports; the URL is the first line that it prints
"""  # noqa: E501 - a table, a diagram or an example

import asyncio
import base64
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec
import uvicorn
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ListToolsResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.prompt import PromptServer

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""An image of one pixel."""

MODERN = "2026-07-28"
"""The first version of the protocol without a handshake."""

REQUEST = {"type": "object", "properties": {"ok": {"type": "boolean"}}}


def tool(name: str, description: str, *, reads: bool | None = None, **properties: str) -> Tool:
    """A tool whose arguments have these types, all required; `reads` tells whether it changes
    anything.
    """
    schema = {
        "type": "object",
        "properties": {argument: {"type": kind} for argument, kind in properties.items()},
        "required": list(properties),
    }
    notes = None if reads is None else ToolAnnotations(read_only_hint=reads)
    return Tool(name=name, description=description, input_schema=schema, annotations=notes)


TOOLS = (
    tool("add", "Add two numbers.", reads=True, a="number", b="number"),
    tool("echo", "Say the same.", reads=True, text="string"),
    tool("count", "Count one further, and say how far.", reads=False),
    tool("fail", "Fail."),
    tool("broken", "Answer with an error of the protocol."),
    tool("image", "Show an image."),
    tool("resource", "Give a resource, and a link to another."),
    tool("structured", "Give an object and nothing else."),
    tool("slow", "Answer once the server is told to."),
    tool("big", "Say a lot.", size="integer"),
    tool("ask", "Ask the user for something."),
)


@dataclass
class McpServer:
    """A server: what it offers, which a test may change, and what it was asked."""

    tools: list[Tool] = field(default_factory=lambda: list(TOOLS))
    token: str = ""
    """Bearer token that every request must have."""
    is_old: bool = False
    """Whether it knows only versions of the protocol that begin with a handshake."""
    page: int = 1000
    """Tools that it lists at once."""
    host: str = ""
    """Its origin, `http://127.0.0.1:4711`."""
    headers: list[dict[str, str]] = field(default_factory=list)
    """The headers of every request that it got, names in lower case."""
    requested: list[str] = field(default_factory=list)
    """The method of every message that it got over HTTP: `initialize`, `tools/list`, …"""
    called: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Name and arguments of every call that it began to carry out."""
    counted: int = 0
    """What the tool `count` has counted."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the tool `slow` has been called."""
    release: asyncio.Event = field(default_factory=asyncio.Event)
    """What the tool `slow` waits for."""
    answer: Callable[[Request], Awaitable[Response | None]] | None = None
    """Answers a request in the server's place, or leaves it to it."""
    _sessions: set[str] = field(default_factory=set)
    _dropped: set[str] = field(default_factory=set)
    _hearers: list[Any] = field(default_factory=list)
    _bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    _running: "_Quiet | None" = None
    _serving: "asyncio.Task[None] | None" = None

    @property
    def url(self) -> str:
        """Where it takes Streamable HTTP."""
        return f"{self.host}/mcp"

    @property
    def sse_url(self) -> str:
        """Where it takes the older transport, of events beside posts."""
        return f"{self.host}/sse"

    def times(self, method: str) -> int:
        """How often it was asked this over HTTP."""
        return self.requested.count(method)

    async def change(self, *tools: Tool) -> None:
        """Offer these tools from now on, and tell everybody that they changed."""
        self.tools = list(tools)
        await self._bus.publish(ToolsListChanged())
        for session in self._hearers:
            with suppress(Exception):
                await session.send_tool_list_changed()

    def drop_sessions(self) -> None:
        """Forget every session: whoever names one is told 404."""
        self._dropped |= self._sessions

    async def start(self, port: int = 0) -> None:
        """Serve on a port, on the one that it had where it had one."""
        port = port or int(self.host.rpartition(":")[2] or 0)
        listener = socket.create_server(("127.0.0.1", port))
        self.host = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = self._app()
        config = uvicorn.Config(
            self._recorded(app), log_config=None, access_log=False, lifespan="off"
        )
        self._running = _Quiet(config, asyncio.Event())
        self._serving = asyncio.create_task(self._serve(app, self._running, listener))
        await self._running.listening.wait()

    async def stop(self) -> None:
        """Stop serving at once, and break off what is under way. It can be started again."""
        if self._running is None or self._serving is None:
            return
        self._running.should_exit = self._running.force_exit = True
        for connection in list(self._running.server_state.connections):
            connection.transport.abort()
        for task in list(self._running.server_state.tasks):
            task.cancel()
        await self._serving
        self._hearers.clear()

    async def _serve(self, app: Starlette, running: "_Quiet", listener: socket.socket) -> None:
        async with app.router.lifespan_context(app):
            await running.serve([listener])

    async def serve_stdio(self) -> None:
        """Serve over this process's standard input and output until the former ends."""
        server = self._server()
        options = server.create_initialization_options(NotificationOptions(tools_changed=True))
        async with stdio_server() as (read, write):
            await server.run(read, write, options)

    def _server(self) -> Server[Any]:
        return Server(
            "tests",
            version="1",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self._bus),
            get_tool_input_schema=lambda name: {
                one.name: one.input_schema for one in self.tools
            }.get(name),
        )

    def _app(self) -> Starlette:
        server = self._server()
        posts = SseServerTransport("/messages/")
        options = server.create_initialization_options(NotificationOptions(tools_changed=True))

        async def events(request: Request) -> Response:
            async with posts.connect_sse(request.scope, request.receive, request._send) as (
                read,
                write,
            ):
                await server.run(read, write, options)
            return Response()

        older: list[Any] = [
            Route("/sse", events, methods=["GET"]),
            Mount("/messages/", app=posts.handle_post_message),
        ]
        return server.streamable_http_app(custom_starlette_routes=older)

    def _recorded(self, app: ASGIApp) -> ASGIApp:
        async def recorded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            request = Request(scope, receive)
            headers = {
                ":method": request.method,
                **{name.lower(): value for name, value in request.headers.items()},
            }
            self.headers.append(headers)
            body = await request.body()
            method = _method(body)
            if method:
                self.requested.append(method)
            refusal = await self.answer(request) if self.answer else None
            refusal = refusal or self._refusal(headers)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
            with suppress(asyncio.CancelledError):  # broken off by `stop`
                await app(scope, _again(body, receive), self._noting(send))

        return recorded

    def _refusal(self, headers: dict[str, str]) -> Response | None:
        if self.token and headers.get("authorization") != f"Bearer {self.token}":
            return PlainTextResponse("Unauthorized", 401, {"www-authenticate": "Bearer"})
        if self.is_old and headers.get("mcp-protocol-version") == MODERN:
            return PlainTextResponse("Bad Request: Unsupported protocol version", 400)
        if headers.get("mcp-session-id") in self._dropped:
            return PlainTextResponse("Session not found", 404)
        return None

    def _noting(self, send: Send) -> Send:
        async def noting(message: Message) -> None:
            for name, value in message.get("headers", ()):
                if name.lower() == b"mcp-session-id":
                    self._sessions.add(value.decode())
            await send(message)

        return noting

    async def _list(self, context: Any, params: Any) -> ListToolsResult:
        if context.session not in self._hearers:
            self._hearers.append(context.session)
        start = int(params.cursor) if params is not None and params.cursor else 0
        more = str(start + self.page) if len(self.tools) > start + self.page else None
        return ListToolsResult(tools=self.tools[start : start + self.page], next_cursor=more)

    async def _call(self, context: Any, params: Any) -> CallToolResult | InputRequiredResult:
        arguments = params.arguments or {}
        self.called.append((params.name, arguments))
        match params.name:
            case "add":
                return stated(f"{arguments['a'] + arguments['b']:g}")
            case "echo":
                return stated(str(arguments["text"]))
            case "count":
                self.counted += 1
                return stated(str(self.counted))
            case "fail":
                return CallToolResult(content=[TextContent(text="it does not work")], is_error=True)
            case "image":
                data = base64.b64encode(PNG).decode()
                return CallToolResult(
                    content=[
                        TextContent(text="A dot:"),
                        ImageContent(data=data, mime_type="image/png"),
                    ]
                )
            case "resource":
                inside = TextResourceContents(
                    uri="file:///notes.txt", text="what was noted", mime_type="text/plain"
                )
                link = ResourceLink(name="more", uri="file:///more.txt")
                return CallToolResult(content=[EmbeddedResource(resource=inside), link])
            case "structured":
                return CallToolResult(content=[], structured_content={"sum": 3})
            case "slow":
                self.reached.set()
                print("slow was called", file=sys.stderr, flush=True)
                await self.release.wait()
                return stated("at last")
            case "big":
                return stated("x" * int(arguments["size"]))
            case "ask":
                return await self._send_request(context)
            case _:
                raise MCPError(-32001, f"There is no working '{params.name}' here.")

    async def _send_request(self, context: Any) -> CallToolResult | InputRequiredResult:
        if context.protocol_version >= MODERN:
            wanted = ElicitRequest(
                params=ElicitRequestFormParams(message="May I?", requested_schema=REQUEST)
            )
            return InputRequiredResult(input_requests={"may": wanted})
        try:
            await context.session.elicit_form("May I?", REQUEST)
        except MCPError as error:
            return stated(f"refused: {error}")
        return stated("allowed")


def stated(text: str) -> CallToolResult:
    """What a tool gives back that speaks."""
    return CallToolResult(content=[TextContent(text=text)])


def _method(body: bytes) -> str:
    try:
        message = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return ""
    return str(message.get("method", "")) if isinstance(message, dict) else ""


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, and what comes after it."""
    before: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return before.pop() if before else await receive()

    return again


class _Quiet(PromptServer):
    """A server that says when it listens, and leaves the signals of the process alone."""

    def __init__(self, config: uvicorn.Config, listening: asyncio.Event) -> None:
        super().__init__(config)
        self.listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing."""
        yield


@asynccontextmanager
async def mcp_serving(**options: Any) -> AsyncIterator[McpServer]:
    """Run a server on a port of its own, with these attributes."""
    server = McpServer(**options)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def _alone(port: int) -> None:
    server = McpServer()
    await server.start(port)
    print(server.url, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_alone(int(sys.argv[1])) if sys.argv[1:] else McpServer().serve_stdio())
