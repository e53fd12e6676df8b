"""What the door takes of a request: with a key that is known, and where nobody needs one."""

import asyncio
import time
from typing import Any

from antiphon.engine.keys.known import KnownKeys
from antiphon.engine.keys.mint import Mint
from antiphon.server.access import Door
from antiphon.storage.contract import Limits
from antiphon.storage.sqlite.store import SqliteStore

_REQUESTS = 10_000

_HEADERS = [(b"host", b"127.0.0.1"), (b"accept", b"*/*"), (b"user-agent", b"bench"), (b"content-type", b"json")]


def check() -> tuple[float, float]:
    """Return what it takes of processor time to check a key, and to see that none is needed, in µs."""
    return asyncio.run(_check())


async def _check() -> tuple[float, float]:
    store = SqliteStore.open("sqlite://")
    open_door = Door(_inside, KnownKeys(store))
    alone, free = await _pass(_inside, []), await _pass(open_door, [])
    mint = await Mint.of(store)
    key, kept = mint.issue("key_1", "acme", "bench", Limits(), 1, None)
    await store.put_api_key(kept)
    keyed = await _pass(Door(_inside, KnownKeys(store)), [(b"authorization", b"Bearer " + key.encode())])
    await store.close()
    return keyed - alone, free - alone


async def _inside(scope: Any, receive: Any, send: Any) -> None:
    """What stands behind the door."""


async def _pass(app: Any, headers: list[tuple[bytes, bytes]]) -> float:
    began = time.process_time()
    for _ in range(_REQUESTS):
        await app({"path": "/v1/responses", "headers": [*_HEADERS, *headers]}, None, None)
    return (time.process_time() - began) / _REQUESTS * 1e6
