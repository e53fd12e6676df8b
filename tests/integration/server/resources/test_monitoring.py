"""`/status`: how the backends are doing, shown to this machine alone. `/readyz`: whether requests
can be served.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from antiphon.errors import StoreError
from antiphon.status import storage_status
from antiphon.storage.records.tenants import StorageUse
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.upstream.http import HttpBackend
from tests.support.changed_stores import ChangedStore
from tests.support.pair import KEY, error, pair, stating
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve


async def test_the_status_shows_each_backend_with_its_models_and_its_last_error() -> None:
    async with pair(error(500, f"http://10.0.0.7 {KEY}"), stating("Hello")) as two:
        for _ in range(8):
            await two.send_request()
        async with two.server.http.get(two.server.url.removesuffix("/v1") + "/status") as response:
            seen = await response.text()
            status = await response.json()

    a, b = status["backends"]
    assert (a["name"], a["health"], a["failed"], a["ejections"]) == ("a", "out", 5, 1)
    assert (b["name"], b["health"], b["asked"], b["failed"], b["last_error"]) == (
        "b",
        "up",
        8,
        0,
        "",
    )
    reported = f"Backend 'a' ({two.server.parts.models.backends[0].backend.url})"
    assert (a["models"], a["last_error"]) == (
        ["m"],
        f"{reported} failed with status 500. Check its log for the reason.",
    )
    assert (status["workers"], status["responses_in_flight"]) == (1, 0)
    for secret in ("10.0.0.7", KEY):
        assert secret not in seen


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
async def test_it_is_invisible_elsewhere(server: RunningServer, header: str) -> None:
    url = server.url.removesuffix("/v1") + "/status"
    async with server.http.get(url, headers={header: "x"}) as response:
        assert (response.status, (await response.json())["error"]["code"]) == (
            403,
            "status_not_allowed",
        )


class FailingStore(ChangedStore):
    async def storage_use(self, limit: int) -> StorageUse:
        raise StoreError("The store's disk is broken.")


class SilentStore(ChangedStore):
    async def storage_use(self, limit: int) -> StorageUse:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize("kind", [FailingStore, SilentStore])
async def test_a_store_that_does_not_answer_hides_no_backend(
    backend: ReplayBackend, kind: type[SqliteStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_status, "PATIENCE", 0.0)
    async with (
        serve(HttpBackend("b", backend.url), store=kind.open("sqlite://")) as server,
        server.http.get(server.url.removesuffix("/v1") + "/status") as response,
    ):
        status = await response.json()

    assert (response.status, status["storage"]) == (200, None)
    assert [one["name"] for one in status["backends"]] == ["b"]


# Readiness.


@asynccontextmanager
async def answering(reply: bytes) -> AsyncIterator[str]:
    """A backend that gives one reply to every request, and closes the connection."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def readiness(server: RunningServer) -> tuple[int, dict[str, Any]]:
    async with server.http.get(server.url.removesuffix("/v1") + "/readyz") as response:
        return response.status, await response.json()


@pytest.mark.parametrize(
    ("status", "is_ready"), [(b"404 Not Found", True), (b"401 Unauthorized", True), (b"", False)]
)
async def test_a_backend_that_answers_at_all_was_reached(status: bytes, is_ready: bool) -> None:
    reply = (
        b"HTTP/1.1 %b\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % status if status else b""
    )
    async with answering(reply) as url, serve(HttpBackend("b", url)) as server:
        code, body = await readiness(server)

    assert (code, body["backends"], body["store"]) == (200 if is_ready else 503, is_ready, True)


async def test_a_read_only_store_answers_no_requests(backend: ReplayBackend) -> None:
    class Full(SqliteStore):
        async def check_writable(self) -> None:
            raise StoreError("The store's disk is full.")

    async with serve(HttpBackend("b", backend.url), store=Full.open("sqlite://")) as server:
        code, body = await readiness(server)

    assert (code, body) == (503, {"status": "unavailable", "store": False, "backends": True})
