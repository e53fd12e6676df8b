"""What a key costs a request: its check, and the slot that the request holds while its response is
made.
"""

import asyncio
import time
from typing import Any

from antiphon import ids
from antiphon.access.api_keys import Mint
from antiphon.access.metering import MAX_RESPONSES, Meter, response_slots
from antiphon.access.spending import Weight
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.server.admission import Authentication
from antiphon.server.limits import ServerLimits as Bounds
from antiphon.server.request import HttpRequest
from antiphon.sharing.memory import Memory
from antiphon.storage.operations import api_keys
from antiphon.storage.records.tenants import ApiKey, KeyLimits
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.upstream.registry import ModelRegistry
from bench.parts import bench_parts
from bench.trace.counter import CallCounter

_REQUESTS = 2_000
_TRIES = 5
"""Each is measured so many times in turns, and the least counts: a difference of single tries may
be noise alone.
"""

_HEADERS = [
    (b"host", b"127.0.0.1"),
    (b"accept", b"*/*"),
    (b"user-agent", b"bench"),
    (b"content-type", b"json"),
]


def check() -> tuple[float, float]:
    """Return what it takes of processor time to check a key, and to see that none is needed, in
    µs.
    """
    return asyncio.run(_check())


async def _check() -> tuple[float, float]:
    store = SqliteStore.open("sqlite://")
    free = Gateway(_parts(store))
    bare, unneeded = await _least((None, []), (free, []))
    mint = await Mint.of(store)
    key, stored_key = mint.issue("key_1", "acme", "bench", KeyLimits(), 1, None)
    await store.write(api_keys.put, stored_key)
    (keyed,) = await _least(
        (Gateway(_parts(store)), [(b"authorization", b"Bearer " + key.encode())])
    )
    await store.close()
    return keyed - bare, unneeded - bare


async def _least(*ways: tuple[Gateway | None, list[tuple[bytes, bytes]]]) -> list[float]:
    tries = [[await _pass(*way) for way in ways] for _ in range(_TRIES)]
    return [min(took) for took in zip(*tries, strict=True)]


def slot() -> tuple[float, int]:
    """Return what a slot among running responses costs a request: µs of processor time, and Python
    calls.
    """
    return asyncio.run(_slot())


async def _slot() -> tuple[float, int]:
    store = SqliteStore.open("sqlite://")
    _, key = (await Mint.of(store)).issue("key_1", "acme", "bench", KeyLimits(), 1, None)
    meter = Meter(store, ids.now, response_slots(MAX_RESPONSES))
    took = [
        await _lease(meter, key, is_queued=is_queued, times=_REQUESTS)
        for is_queued in (True, False) * _TRIES
    ]
    counter = CallCounter()
    calls = []
    for is_queued in (True, False):
        with counter.counting():
            await _lease(meter, key, is_queued=is_queued, times=1)
        calls.append(counter.take().total())
    await meter.settle()
    await store.close()
    return min(took[1::2]) - min(took[::2]), calls[1] - calls[0]


async def _lease(meter: Meter, key: ApiKey, *, is_queued: bool, times: int) -> float:
    """Acquire and release a lease so many times; return the microseconds of one.

    Only what is not queued has a slot.
    """
    began = time.process_time()
    for _ in range(times):
        with await meter.admit(key, "m", Weight(), is_queued=is_queued):
            pass
    return (time.process_time() - began) / times * 1e6


def _parts(store: SqliteStore) -> Parts:
    return bench_parts(ModelRegistry([], ids.now), store)


async def _pass(gateway: Gateway | None, headers: list[tuple[bytes, bytes]]) -> float:
    bounds = Bounds()
    memory = Memory(1)
    began = time.process_time()
    for _ in range(_REQUESTS):
        scope = {"type": "http", "path": "/v1/responses", "headers": [*_HEADERS, *headers]}
        request = HttpRequest(scope, _receive, bounds, memory)
        if gateway is not None and await gateway.known_keys.are_needed():
            await Authentication(gateway).identify(request)
    return (time.process_time() - began) / _REQUESTS * 1e6


async def _receive() -> Any:
    """No body is read."""
