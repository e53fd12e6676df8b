"""One tenant's background jobs leave room for another's (attack 9)."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from antiphon.storage.open import open_store
from tests.support.command import serving
from tests.support.keys import bearing, issue
from tests.support.replay import JSON, completion

JOBS = 80
"""More than a process makes at once."""

PATIENCE = 30.0


class Hanging:
    """A model that never answers who says so."""

    def __init__(self) -> None:
        self.hanging = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return web.json_response({"object": "list", "data": [{"id": "m"}]})
        if b"hang" in await request.read():
            self.hanging += 1
            await asyncio.Event().wait()
        return web.Response(body=completion("Hello"), content_type=JSON.partition(";")[0])


async def test_a_crowd_of_jobs_does_not_hold_up_another_tenant(tmp_path: Path, store_url: str) -> None:
    store = await open_store(store_url)
    a, b = await issue(store, "a"), await issue(store, "b")
    await store.close()
    model = Hanging()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", model.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=512).start()
    backend = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        async with (
            serving(tmp_path, "--port", "0", "--backend", backend, "--store", store_url) as server,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
        ):

            async def queue(key: str, text: str) -> dict[str, Any]:
                body = {"model": "m", "input": text, "background": True}
                async with http.post(f"{server.url}/responses", json=body, headers=bearing(key)) as response:
                    assert response.status == 200
                    made: dict[str, Any] = await response.json()
                return made

            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*(queue(a, "hang") for _ in range(JOBS)))
                while model.hanging < 16:  # the default of a process was 16
                    await asyncio.sleep(0.02)
                job = await queue(b, "Hi")
                while job["status"] != "completed":
                    await asyncio.sleep(0.02)
                    async with http.get(f"{server.url}/responses/{job['id']}", headers=bearing(b)) as response:
                        job = await response.json()
            assert 16 <= model.hanging < 64
    finally:
        await runner.cleanup()
