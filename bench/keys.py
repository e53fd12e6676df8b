"""What authentication takes of a request: with a key that is known, and where nobody needs one."""

import asyncio
import time
from typing import Any

from antiphon import ids
from antiphon.access.api_keys import Mint
from antiphon.gateway import Gateway
from antiphon.runs.engine import Engine
from antiphon.server.admission import Authentication
from antiphon.server.limits import Limits as Bounds
from antiphon.server.memory import Room
from antiphon.server.request import HttpRequest
from antiphon.storage.contract import Limits
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.upstream.registry import ModelRegistry

_REQUESTS = 10_000

_HEADERS = [(b"host", b"127.0.0.1"), (b"accept", b"*/*"), (b"user-agent", b"bench"), (b"content-type", b"json")]


def check() -> tuple[float, float]:
    """Return what it takes of processor time to check a key, and to see that none is needed, in µs."""
    return asyncio.run(_check())


async def _check() -> tuple[float, float]:
    store = SqliteStore.open("sqlite://")
    free = Gateway(_engine(store))
    without = await _pass(None, []), await _pass(free, [])
    mint = await Mint.of(store)
    key, kept = mint.issue("key_1", "acme", "bench", Limits(), 1, None)
    await store.put_api_key(kept)
    keyed = await _pass(Gateway(_engine(store)), [(b"authorization", b"Bearer " + key.encode())])
    await store.close()
    return keyed - without[0], without[1] - without[0]


def _engine(store: SqliteStore) -> Engine:
    return Engine(ModelRegistry([], ids.now), store, ids.new_id, ids.now)


async def _pass(gateway: Gateway | None, headers: list[tuple[bytes, bytes]]) -> float:
    bounds, room = Bounds(), Room(1)
    began = time.process_time()
    for _ in range(_REQUESTS):
        scope = {"type": "http", "path": "/v1/responses", "headers": [*_HEADERS, *headers]}
        request = HttpRequest(scope, _receive, bounds, room)
        if gateway is not None and await gateway.known_keys.are_needed():
            await Authentication(gateway).identify(request)
    return (time.process_time() - began) / _REQUESTS * 1e6


async def _receive() -> Any:
    """No body is read."""
