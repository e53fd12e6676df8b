"""Tenants share running responses and connections: one tenant never holds all of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from antiphon.http_server.closing import ClosingConnection, ConnectionLimits
from antiphon.server.limits import ServerLimits
from antiphon.sharing.scheduler import FairScheduler, SchedulerUsage
from antiphon.storage.open import open_store
from antiphon.upstream.http import HttpBackend
from tests.support.keys import bearing, issue
from tests.support.metrics import scrape
from tests.support.raw import connected
from tests.support.replay import JSON, Answer, ReplayBackend, delta, echo, sse
from tests.support.server import RunningServer, serve
from tests.support.waiting import until

PATIENCE = 30.0

SLOTS, SHARE = 5, 4
"""Slots, and how many of them one tenant may hold."""

HANG = "Hang"

CHAT = {"model": "m", "messages": [{"role": "user", "content": HANG}]}


def hang(request: dict[str, Any]) -> Answer:
    if (
        "messages" not in request
    ):  # a request for embeddings gets its slot when the others are ended
        return Answer([b"{}"], JSON)
    if request["messages"][-1]["content"] == HANG:
        return Answer([sse(delta(content="Once"), done=False)], wait=asyncio.Event())
    return echo(request)


@dataclass
class Shared:
    """A server and its tenants' keys."""

    server: RunningServer
    backend: ReplayBackend
    a: str
    b: str

    def usage(self, name: str = "responses") -> SchedulerUsage:
        return self.server.parts.shared.usage()[name]

    async def send_request(
        self, key: str, path: str = "/responses", **body: Any
    ) -> tuple[int, Any]:
        request_body = {"model": "m", "input": "Hi", **body}
        return await self.server.post(path, json=request_body, headers=bearing(key))

    async def fill(self, count: int, key: str | None = None) -> list[asyncio.Task[Any]]:
        """Send so many responses that never end, and return when all of them are made or wait."""
        before = self.usage()
        tasks = [
            asyncio.create_task(self.send_request(key or self.a, input=HANG)) for _ in range(count)
        ]
        await until(lambda: _total(self.usage()) == _total(before) + count)
        return tasks

    async def fill_share(self) -> list[asyncio.Task[Any]]:
        """Have tenant A hold all that it may."""
        tasks = await self.fill(SHARE)
        await until(lambda: len(self.backend.requests) == SHARE)
        return tasks


def _total(usage: SchedulerUsage) -> int:
    return usage.in_use + usage.waiting


async def end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def sharing(
    backend: ReplayBackend, slots: int = SLOTS, limits: ServerLimits | None = None
) -> AsyncIterator[Shared]:
    backend.script = hang
    store = await open_store("sqlite://")
    a = await issue(store, "a")
    b = await issue(store, "b")
    async with serve(
        HttpBackend("replay", backend.url), store=store, limits=limits, max_responses=slots
    ) as server:
        yield Shared(server, backend, a, b)


# Running responses.


async def test_a_tenant_that_holds_its_share_waits_and_another_does_not(
    backend: ReplayBackend,
) -> None:
    async with sharing(backend) as shared:
        running = await shared.fill_share()
        waiting = await shared.fill(1)
        status, _ = await shared.send_request(shared.b)
        usage = shared.usage()
        numbers = await scrape(shared.server)
        await end(running[0])
        await until(lambda: len(backend.requests) == SHARE + 2)
        after = shared.usage()
        await end(*running, *waiting)
        await until(lambda: _total(shared.usage()) == 0)

    assert status == 200
    assert (usage.in_use, usage.capacity, usage.waiting) == (SHARE, SLOTS, 1)
    assert usage.oldest_wait > 0
    assert numbers["antiphon_shared_in_use{resource=responses}"] == SHARE
    assert numbers["antiphon_shared_capacity{resource=responses}"] == SLOTS
    assert numbers["antiphon_shared_waiting{resource=responses}"] == 1
    assert numbers["antiphon_shared_oldest_wait_seconds{resource=responses}"] > 0
    assert (after.in_use, after.waiting) == (SHARE, 0)


async def test_a_tenant_may_hold_its_share_again_once_its_responses_have_ended(
    backend: ReplayBackend,
) -> None:
    async with sharing(backend) as shared:
        for _ in range(SLOTS):
            await end(*await shared.fill(SHARE))
            await until(lambda: _total(shared.usage()) == 0)
        again = await shared.fill(SHARE)
        usage = shared.usage()
        await end(*again)

    assert (usage.in_use, usage.waiting) == (SHARE, 0)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/responses", {"input": HANG, "stream": True}),
        ("/responses/compact", {"input": HANG}),
        ("/chat/completions", CHAT),
        ("/chat/completions", {**CHAT, "stream": True}),
        ("/embeddings", {"input": HANG}),
    ],
)
async def test_every_model_call_occupies_a_slot(
    backend: ReplayBackend, path: str, body: dict[str, Any]
) -> None:
    async with sharing(backend) as shared:
        running = await shared.fill_share()
        request_body = {"json": {"model": "m", **body}, "headers": bearing(shared.a)}
        waiting = asyncio.create_task(shared.server.post(path, **request_body))
        await until(lambda: shared.usage().waiting == 1)
        requested_of_model = len(backend.requests)
        await end(*running, waiting)

    assert requested_of_model == SHARE


async def test_a_response_on_a_websocket_holds_a_slot_and_waits_for_it(
    backend: ReplayBackend,
) -> None:
    async with sharing(backend) as shared:
        running = await shared.fill_share()
        url = f"{shared.server.url}/responses"
        async with shared.server.http.ws_connect(url, headers=bearing(shared.a)) as socket:
            await socket.send_json({"type": "response.create", "model": "m", "input": "Hi"})
            await until(lambda: shared.usage().waiting == 1)
            await end(running[0])
            async with asyncio.timeout(PATIENCE):
                while (await socket.receive_json())["type"] != "response.completed":
                    pass
            await socket.send_json({"type": "response.create", "model": "m", "input": HANG})
            await until(lambda: shared.usage().in_use == SHARE)
        await until(lambda: shared.usage().in_use == SHARE - 1)
        await end(*running)


async def test_a_background_response_is_queued_though_its_tenant_holds_its_share(
    backend: ReplayBackend,
) -> None:
    async with sharing(backend) as shared:
        running = await shared.fill_share()
        status, queued = await shared.send_request(shared.a, background=True)
        usage = shared.usage()
        await end(*running)

    assert (status, queued["status"]) == (200, "queued")
    assert (usage.in_use, usage.waiting) == (SHARE, 0)


async def test_the_error_of_a_full_queue_has_a_retry_after(backend: ReplayBackend) -> None:
    async with sharing(backend, slots=1) as shared:
        tasks = await shared.fill(2)
        body = {"json": {"model": "m", "input": "Hi"}, "headers": bearing(shared.a)}
        async with shared.server.http.post(f"{shared.server.url}/responses", **body) as reply:
            error = (await reply.json())["error"]
            status = reply.status
            wait = int(reply.headers["retry-after"])
        usage = shared.usage()
        await end(*tasks)

    assert (status, error["type"], error["code"]) == (
        503,
        "service_unavailable_error",
        "server_is_overloaded",
    )
    assert 1 <= wait <= 30
    assert (usage.in_use, usage.waiting) == (1, 1)


async def test_a_client_that_disconnects_gives_up_its_place(backend: ReplayBackend) -> None:
    async with sharing(backend, slots=1) as shared:
        running, waiting = await shared.fill(2)
        await end(waiting)
        await until(lambda: shared.usage().waiting == 0)
        assert shared.usage().in_use == 1
        await end(running)
        await until(lambda: shared.usage().in_use == 0)
        assert (await shared.send_request(shared.a))[0] == 200


async def test_a_request_that_is_refused_returns_its_slot(backend: ReplayBackend) -> None:
    async with sharing(backend) as shared:
        key = await issue(shared.server.parts.store, "c", requests_per_minute=1, models=("m",))
        statuses = [
            (await shared.send_request(key))[0],
            (await shared.send_request(key))[0],
            (await shared.send_request(key, model="x"))[0],
        ]
        usage = shared.usage()

    assert statuses == [200, 429, 400]
    assert usage.in_use == 0


async def test_without_keys_no_slot_is_occupied(backend: ReplayBackend) -> None:
    backend.script = hang
    async with serve(HttpBackend("replay", backend.url), max_responses=1) as server:
        body = {"json": {"model": "m", "input": HANG}}
        tasks = [asyncio.create_task(server.post("/responses", **body)) for _ in range(3)]
        await until(lambda: len(backend.requests) == 3)
        usage = server.parts.shared.usage()["responses"]
        await end(*tasks)

    assert (usage.in_use, usage.waiting) == (0, 0)


# Connections.

MANY, MOST = 10, 8
"""Connections of the server, and how many of them one tenant may have."""


async def open_connections(
    shared: Shared, key: str, stack: AsyncExitStack, count: int
) -> list[aiohttp.ClientSession]:
    """Open connections that stay open, and send a request on each."""
    sessions = [
        await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1))
        )
        for _ in range(count)
    ]
    for session in sessions:
        assert (await visit(shared, key, session))[0] == 200
    return sessions


async def visit(shared: Shared, key: str, session: aiohttp.ClientSession) -> tuple[int, Any, bool]:
    """Send a request; return the status, the code of the error, and whether the connection
    closes.
    """
    async with session.get(f"{shared.server.url}/models", headers=bearing(key)) as reply:
        code = (await reply.json()).get("error", {}).get("code")
        return reply.status, code, reply.headers.get("connection") == "close"


async def test_a_tenant_never_has_all_connections(backend: ReplayBackend) -> None:
    async with (
        sharing(backend, limits=ServerLimits(connections=MANY)) as shared,
        AsyncExitStack() as stack,
    ):
        mine = await open_connections(shared, shared.a, stack, MOST)
        again = [await visit(shared, shared.a, session) for session in mine]
        async with aiohttp.ClientSession() as one_more:
            refused = await visit(shared, shared.a, one_more)
        async with aiohttp.ClientSession() as other:
            server = await visit(shared, shared.b, other)
            usage = shared.usage("connections")
        await mine[0].close()
        await until(lambda: shared.usage("connections").in_use == MOST - 1)
        async with aiohttp.ClientSession() as one_more:
            after = await visit(shared, shared.a, one_more)

    assert again == [(200, None, False)] * MOST
    assert refused == (503, "server_is_overloaded", True)
    assert server == (200, None, False)
    assert (usage.in_use, usage.capacity) == (MOST + 1, MANY)
    assert after == (200, None, False)


async def test_a_connection_is_the_last_tenants(backend: ReplayBackend) -> None:
    async with (
        sharing(backend, limits=ServerLimits(connections=MANY)) as shared,
        AsyncExitStack() as stack,
    ):
        (session,) = await open_connections(shared, shared.a, stack, 1)
        assert (await visit(shared, shared.b, session))[0] == 200
        assert shared.usage("connections").in_use == 1
        await open_connections(shared, shared.a, stack, MOST - 1)


class Closed(asyncio.Transport):
    def is_closing(self) -> bool:
        return True


async def test_a_connection_that_is_closing_is_not_counted_any_more() -> None:
    connection = ClosingConnection(asyncio.get_running_loop(), ConnectionLimits(5, 5))
    slots = FairScheduler(5)
    connection.transport = Closed()

    assert connection.belong("a", slots)
    assert slots.in_use == 0


async def test_a_websocket_is_one_of_its_tenants_connections(backend: ReplayBackend) -> None:
    async with (
        sharing(backend, limits=ServerLimits(connections=MANY)) as shared,
        AsyncExitStack() as stack,
    ):
        url = f"{shared.server.url}/responses"
        headers = bearing(shared.a)
        for _ in range(MOST):
            await stack.enter_async_context(shared.server.http.ws_connect(url, headers=headers))
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await shared.server.http.ws_connect(url, headers=headers)
        await stack.aclose()
        await until(lambda: shared.usage("connections").in_use == 0)

    assert refused.value.status == 503


async def test_a_connection_that_becomes_a_websocket_is_counted_once(
    backend: ReplayBackend,
) -> None:
    upgrade = (
        b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
        b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    )
    async with sharing(backend, limits=ServerLimits(connections=MANY)) as shared:
        key = f"host: x\r\nauthorization: Bearer {shared.a}\r\n".encode()
        async with connected(shared.server.url) as (reader, writer), asyncio.timeout(PATIENCE):
            writer.write(b"GET /v1/models HTTP/1.1\r\n" + key + b"\r\n")
            assert b" 200 " in await reader.readuntil(b"]}")
            writer.write(b"GET /v1/responses HTTP/1.1\r\n" + key + upgrade + b"\r\n")
            assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
            during = shared.usage("connections").in_use
        await until(lambda: shared.usage("connections").in_use == 0)

    assert during == 1
