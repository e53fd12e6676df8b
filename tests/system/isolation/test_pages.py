"""Large pages of A take no page reader from B."""

import asyncio
import re
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.integration.tools.mcp.raw import serving
from tests.support.callers import calling
from tests.support.replay import Answer, ReplayBackend
from tests.support.rivals import Tenant, rivals

LARGE = ("<p>word <b>bold</b> <a href=/x>link</a></p>" * 110_000).encode()
"""4.7 MB, which take some seconds of CPU to read."""
PAGES = 12
SETTINGS = """
web_search = "http://127.0.0.1:1"
outgoing_networks = ["127.0.0.0/8"]
check_interval = 0
connect_timeout = 30
"""


def open_all(request: dict[str, Any]) -> Answer:
    """Open every page that the user names."""
    (requested,) = (
        message["content"] for message in request["messages"] if message["role"] == "user"
    )
    return calling(
        request, *(("open_page", {"url": url}) for url in re.findall(r"http\S+", requested))
    )


async def opened(tenant: Tenant, *urls: str) -> str:
    """What the model was told of these pages."""
    status, response = await tenant.respond(
        "Read " + " ".join(urls), tools=[{"type": "web_search"}]
    )
    assert status == 200, response
    text: str = response["output"][-1]["content"][0]["text"]
    return text


async def test_large_pages_of_one_tenant_do_not_keep_another_from_reading_small_ones(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    (tmp_path / "antiphon.toml").write_text(SETTINGS)
    backend.script = open_all
    server = asyncio.Semaphore(0)

    async def page(request: web.Request) -> web.Response:
        if request.path.startswith("/large"):
            server.release()
            return web.Response(body=LARGE, content_type="text/html")
        return web.Response(
            text=f"<title>Small</title><p>Found {request.path}.", content_type="text/html"
        )

    store = f"sqlite://{tmp_path}/antiphon.db"
    async with serving(page) as site, rivals(tmp_path, store, backend.url) as two:
        large = [f"{site}/large/{number}" for number in range(PAGES)]
        reading = asyncio.create_task(opened(two.a, *large))
        async with asyncio.timeout(30):
            for _ in range(PAGES):
                await server.acquire()
        reported = await opened(two.b, *(f"{site}/small/{number}" for number in range(4)))
        assert [number for number in range(4) if f"Found /small/{number}" not in reported] == []
        assert not reading.done()
        reading.cancel()
        await asyncio.wait({reading})
