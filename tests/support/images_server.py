"""An image server over HTTP on a port of this machine: it draws real PNGs, or sends what a test
says.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from antiphon.errors import ClientError
from antiphon.upstream.demo.images import drawn, fields_of
from tests.support.web_app import serving_app

Handler = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse | None]]


@dataclass
class ImagesBackend:
    """The server while it runs."""

    url: str = ""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """The path and the fields of each request."""
    headers: list[dict[str, str]] = field(default_factory=list)
    handler: Handler | None = None
    """Answers instead, unless it returns None."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Draw what a request asks for."""
        body = await request.read()
        path = request.path.removeprefix("/v1")
        is_json = request.content_type == "application/json"
        fields = await request.json() if is_json else fields_of(path, body)
        self.requests.append((path, fields))
        self.headers.append(dict(request.headers))
        if self.handler is not None and (answer := await self.handler(request, fields)) is not None:
            return answer
        try:
            found = drawn(path, fields)
        except ClientError as error:
            return web.json_response({"error": error.body()}, status=error.status)
        if isinstance(found, dict):
            return web.json_response(found)
        stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await stream.prepare(request)
        for part in found:
            await stream.write(part)
        await stream.write_eof()
        return stream


@asynccontextmanager
async def images_server(
    files: Callable[[web.Request], Awaitable[web.StreamResponse]] | None = None,
) -> AsyncIterator[ImagesBackend]:
    """Serve images, and files below `/files/`."""
    backend = ImagesBackend()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/images/generations", backend.answer)
    app.router.add_post("/v1/images/edits", backend.answer)
    if files is not None:
        app.router.add_get("/files/{name}", files)
    async with serving_app(app) as origin:
        backend.url = f"{origin}/v1"
        yield backend
