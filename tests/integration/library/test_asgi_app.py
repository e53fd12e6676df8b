"""`antiphon.asgi`: served directly, and mounted in another application."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

import antiphon
from antiphon import ConfigError
from antiphon.library.asgi_app import AsgiApplication
from tests.support.waiting import until

BODY = {"model": "demo", "input": "Hi"}


def client_of(app: Any, host: str = "api.example") -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=f"http://{host}")


async def lifespan_of(app: AsgiApplication) -> tuple[list[Any], list[Any]]:
    """What an application sends after startup, and after shutdown."""
    inbox: asyncio.Queue[Any] = asyncio.Queue()
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    inbox.put_nowait({"type": "lifespan.startup"})
    living = asyncio.create_task(app({"type": "lifespan"}, inbox.get, send))
    await until(lambda: sent)
    started = list(sent)
    inbox.put_nowait({"type": "lifespan.shutdown"})
    await living
    return started, sent[len(started) :]


async def test_a_host_starts_and_closes_it() -> None:
    started, closed = await lifespan_of(antiphon.asgi())
    assert (started, closed) == (
        [{"type": "lifespan.startup.complete"}],
        [{"type": "lifespan.shutdown.complete"}],
    )


async def test_a_host_reads_why_it_cannot_start() -> None:
    [failed], _ = await lifespan_of(antiphon.asgi(store="nowhere"))
    assert failed["type"] == "lifespan.startup.failed"
    assert "The store URL" in failed["message"]


async def test_the_first_request_starts_an_application_that_is_mounted() -> None:
    api = antiphon.asgi()
    app = Starlette()
    app.mount("/ai", api)
    async with client_of(app) as client:
        replies = await asyncio.gather(
            *(client.post("/ai/v1/responses", json=BODY) for _ in range(3))
        )
    await api.close()
    assert [reply.status_code for reply in replies] == [200] * 3


async def test_its_lifespan_is_one_of_the_application_around_it(tmp_path: Path) -> None:
    def home(request: Request) -> PlainTextResponse:
        return PlainTextResponse("The application's own page.")

    api = antiphon.asgi(store=f"sqlite://{tmp_path}/a.db")
    app = Starlette(routes=[Route("/", home)], lifespan=api.lifespan)
    app.mount("/ai", api)
    async with app.router.lifespan_context(app), client_of(app) as client:
        assert (await client.get("/")).text == "The application's own page."
        created = (await client.post("/ai/v1/responses", json=BODY)).json()
    async with antiphon.AsyncAntiphon(store=f"sqlite://{tmp_path}/a.db") as embedded:
        assert (await embedded.responses.retrieve(created["id"])).output_text == created[
            "output_text"
        ]


async def test_an_application_may_wrap_its_lifespan() -> None:
    api = antiphon.asgi()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with api.lifespan():
            yield

    app = Starlette(lifespan=lifespan)
    app.mount("/ai", api)
    async with app.router.lifespan_context(app), client_of(app) as client:
        assert (await client.post("/ai/v1/responses", json=BODY)).status_code == 200


async def test_websockets_reach_it_where_it_is_mounted() -> None:
    api = antiphon.asgi()
    app = Starlette()
    app.mount("/ai", api)
    inbox: asyncio.Queue[Any] = asyncio.Queue()
    outbox: asyncio.Queue[Any] = asyncio.Queue()
    scope = {
        "type": "websocket",
        "path": "/ai/v1/responses",
        "headers": [],
        "query_string": b"",
        "subprotocols": [],
    }
    serving = asyncio.create_task(app(scope, inbox.get, outbox.put))
    inbox.put_nowait({"type": "websocket.connect"})
    inbox.put_nowait(
        {"type": "websocket.receive", "text": json.dumps({"type": "response.create", **BODY})}
    )
    assert (await outbox.get())["type"] == "websocket.accept"
    assert json.loads((await outbox.get())["text"])["type"] == "response.created"
    inbox.put_nowait({"type": "websocket.disconnect", "code": 1000})
    await serving
    await api.close()


def test_it_can_be_opened_again_in_another_loop() -> None:
    api = antiphon.asgi()
    app = Starlette(lifespan=api.lifespan)
    app.mount("/ai", api)
    for _ in range(2):
        with TestClient(app) as client:
            assert client.post("/ai/v1/responses", json=BODY).status_code == 200


async def test_its_settings_count() -> None:
    api = antiphon.asgi(
        antiphon.Settings(store="sqlite://", allowed_hosts=["good.example"], metrics=False)
    )
    async with client_of(api, "bad.example") as bad, client_of(api, "good.example") as good:
        assert (await bad.post("/v1/responses", json=BODY)).status_code == 421
        assert (await good.get("/metrics")).status_code == 404
        assert (await good.get("/v1/models")).status_code == 200
    await api.close()


async def test_it_belongs_to_the_loop_of_its_first_request() -> None:
    api = antiphon.asgi()
    await api.open()
    with pytest.raises(RuntimeError, match="in another event loop"):
        await asyncio.to_thread(asyncio.run, api.close())
    await api.close()


def test_wrong_settings_are_reported_before_the_first_request() -> None:
    with pytest.raises(ConfigError, match="port"):
        antiphon.asgi(antiphon.Settings(port=9000))


@pytest.mark.parametrize(("is_on", "status"), [(False, 404), (True, 200)])
async def test_it_serves_the_console_if_the_application_wants_it(is_on: bool, status: int) -> None:
    api = antiphon.asgi(console=is_on)
    app = Starlette()
    app.mount("/ai", api)
    async with client_of(app, "localhost") as client:
        replies = [await client.get(f"/ai{path}") for path in ("/console/", "/admin/v1/session")]
    await api.close()
    assert [reply.status_code for reply in replies] == [status] * 2
