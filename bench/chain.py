"""What a turn costs that has many before it: gateway and store, in this process, with a model that
takes no time.

A chat backend keeps nothing, so it is sent the whole text of a chain each time: reading that and
making a request of it grows with the chain. Everything else is to cost the same in every turn.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, field
from statistics import median

import asyncpg
import uvloop
from msgspec.structs import replace

from antiphon import ids
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.protocol.validation.validate import decode_request
from antiphon.storage.open import open_store
from antiphon.storage.operations import responses as stored_responses
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.store import Store
from antiphon.upstream.backend import Listing, Reply
from antiphon.upstream.registry import ModelRegistry
from bench.backend import ANSWER
from bench.parts import bench_parts

LENGTHS = (1, 10, 100, 1000)
"""Which turns of a chain are measured."""

LONGEST = LENGTHS[-1]

SIZED = LENGTHS[1::2]
"""Whose bytes on disk are counted."""

SAMPLES = 32
"""Turns of each length, all upon the same chain, in turn: so that a busy moment is none of one
length.
"""

SIZED_SAMPLES = 48
"""Turns whose bytes are counted together: disks are filled by the page."""

READS = 9

_TEXT = "Please tell me a little more about that, and why you think so. " * 4


@dataclass(slots=True)
class Costs:
    """By the number of the turn: seconds until the model is asked, seconds from its answer on, and
    bytes on disk.

    `history` is the seconds in which the store reads the longest chain.
    """

    text: dict[int, float] = field(default_factory=dict)
    rest: dict[int, float] = field(default_factory=dict)
    size: dict[int, float] = field(default_factory=dict)
    history: float = 0.0


class Instant:
    """A model that has its answer ready. `requested` is when it was asked last."""

    name = "instant"
    url = ""
    requested = 0.0

    async def post(self, path: str, body: bytes) -> Reply:
        """See `Backend.post`."""
        self.requested = time.perf_counter()
        return Reply(200, {"content-type": "application/json"}, _answer())

    async def get(self, path: str) -> Reply:
        """See `Backend.get`."""
        return Reply(404, {}, _answer())

    async def list_models(self) -> Listing:
        """See `Backend.list_models`."""
        return Listing([{"id": "instant"}])

    async def close(self) -> None:
        """See `Backend.close`."""


async def _answer() -> AsyncIterator[bytes]:
    yield ANSWER


def costs(url: str) -> Costs:
    """Return what turns cost in a new store at this URL."""
    return uvloop.run(_costs(url))


async def _costs(url: str) -> Costs:
    store = await open_store(url)
    try:
        backend = Instant()
        parts = bench_parts(ModelRegistry([backend], ids.now), store)
        chain = await _grow(parts)
        costs = Costs()
        rounds = [
            [await turn(parts, backend, chain[length - 1]) for length in LENGTHS]
            for _ in range(SAMPLES)
        ]
        for length, turns in zip(LENGTHS, zip(*rounds, strict=True), strict=True):
            costs.text[length], costs.rest[length] = (
                median(part) for part in zip(*turns, strict=True)
            )
        for length in SIZED:
            before = await _size(url)
            for _ in range(SIZED_SAMPLES):
                await turn(parts, backend, chain[length - 1])
            costs.size[length] = (await _size(url) - before) / SIZED_SAMPLES
        costs.history = median([await _read(store, str(chain[-1])) for _ in range(READS)])
        return costs
    finally:
        await store.close()


async def _grow(parts: Parts) -> list[str | None]:
    """Make a chain one turn shorter than the longest; return what each turn would follow, None for
    the first.
    """
    run = await Gateway(parts).create(decode_request(body_of(None)))
    created = await parts.store.read(stored_responses.load, "", (await run.result()).id)
    assert created is not None
    responses = [again(created) for _ in range(LONGEST - 1)]
    chain = [None, *(response.id for response in responses)]
    follow = [
        replace(each, previous_response_id=parent)
        for each, parent in zip(responses, chain, strict=False)
    ]
    await asyncio.gather(*map(parts.store.save, follow))
    return chain


def again(response: StoredResponse) -> StoredResponse:
    """Return the same as another response, with items of its own."""
    return replace(
        response,
        id=ids.new_id("resp"),
        input=[replace(item, id=ids.new_id("msg")) for item in response.input],
        output=[replace(item, id=ids.new_id("msg")) for item in response.output],
    )


def body_of(previous: str | None) -> bytes:
    follows = f'"previous_response_id": "{previous}", ' if previous else ""
    return f'{{{follows}"model": "instant", "input": "{_TEXT}"}}'.encode()


async def turn(parts: Parts, backend: Instant, previous: str | None) -> tuple[float, float]:
    """Make a turn; return the seconds until the model was asked, and those from there until the
    turn is durable.
    """
    request = decode_request(body_of(previous))
    began = time.perf_counter()
    run = await Gateway(parts).create(request)
    await run.result()
    return backend.requested - began, time.perf_counter() - backend.requested


async def _read(store: Store, response_id: str) -> float:
    began = time.perf_counter()
    items = await store.read(stored_responses.history, "", response_id)
    seconds = time.perf_counter() - began
    assert items is not None and len(items) == 2 * (LONGEST - 1)
    return seconds


async def _size(url: str) -> int:
    """Return the bytes that a store's responses take on disk, their indexes included."""
    if url.startswith("sqlite://"):
        with closing(sqlite3.connect(url.removeprefix("sqlite://"))) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            pages, page = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "page_size")
            )
            return int(pages * page)
    connection = await asyncpg.connect(url)
    try:
        size = "SELECT pg_total_relation_size('responses') + pg_total_relation_size('items')"
        return int(await connection.fetchval(size))
    finally:
        await connection.close()
