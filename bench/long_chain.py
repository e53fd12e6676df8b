"""State as large as it gets: a chain of 10,000 turns of ten items each, and a response of 100,000
items.

Both are written by the store's own methods, since a client would need minutes. The turns are made
in this process, with a model that takes no time; the list of items is asked for over HTTP.
"""

import asyncio
import time
from dataclasses import dataclass
from statistics import median

import aiohttp
import msgspec
import uvloop
from msgspec.structs import replace

from antiphon import ids
from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.protocol.validation.validate import decode_request
from antiphon.storage.open import open_store
from antiphon.storage.records.responses import StoredItem, StoredResponse
from antiphon.storage.store import Store
from antiphon.upstream.registry import ModelRegistry
from bench.chain import Instant, body_of, turn
from bench.parts import bench_parts

SHORT, LONG = 1_000, 10_000
"""The turns that are compared."""

ITEMS = 10
"""Of each turn."""

MANY = 100_000
"""Items of the large response."""

SAMPLES, LISTINGS, LONG_SAMPLES = 9, 100, 3
"""Of turns that are short, of lists of one item, and of turns that load 100,000 items and take
seconds.
"""

AT_ONCE = 500
"""Responses that are written together."""


@dataclass(slots=True)
class Costs:
    """By the number of the turn: seconds until the model is asked, and seconds from its answer
    until it is stored.

    `rejected` is the seconds until a turn is rejected whose history is ten times as long as a turn
    may load, and `loaded` those of a turn whose history is just as long as it may be.
    """

    text: dict[int, float]
    rest: dict[int, float]
    loaded: float
    rejected: float


def costs(url: str) -> Costs:
    """Return what turns of the chain cost in a new store at this URL."""
    return uvloop.run(_costs(url))


async def _costs(url: str) -> Costs:
    store = await open_store(url)
    try:
        heads = await _grow(store)
        measured = {
            length: await _turns(_parts(store, LONG), heads[length]) for length in (SHORT, LONG)
        }
        loaded = sum(await _turns(_parts(store, SHORT), heads[SHORT]))
        rejected = median(
            [await _rejected(_parts(store, SHORT), heads[LONG]) for _ in range(SAMPLES)]
        )
        text = {length: parts[0] for length, parts in measured.items()}
        return Costs(
            text, {length: parts[1] for length, parts in measured.items()}, loaded, rejected
        )
    finally:
        await store.close()


def _parts(store: Store, turns: int) -> tuple[Parts, Instant]:
    """Return parts that load at most so many turns."""
    backend = Instant()
    return bench_parts(
        ModelRegistry([backend], ids.now), store, max_history_items=turns * ITEMS
    ), backend


async def _turns(parts: tuple[Parts, Instant], head: str) -> tuple[float, float]:
    """Make some turns after this head; return the medians of both parts of what they cost."""
    created_parts, backend = parts
    created = [await turn(created_parts, backend, head) for _ in range(LONG_SAMPLES)]
    text, rest = (median(part) for part in zip(*created, strict=True))
    return text, rest


async def _rejected(parts: tuple[Parts, Instant], head: str) -> float:
    request = decode_request(body_of(head))
    began = time.perf_counter()
    try:
        run = await Gateway(parts[0]).create(request)
        await run.result()
    except ClientError as error:
        if error.code == "context_length_exceeded":
            return time.perf_counter() - began
        raise
    raise RuntimeError("A turn was made whose history is longer than a turn may load.")


async def _grow(store: Store) -> dict[int, str]:
    """Make the chain; return the response that each compared turn follows."""
    chain = [ids.new_id("resp") for _ in range(LONG - 1)]
    created = [
        _response(one, parent, ITEMS) for one, parent in zip(chain, [None, *chain], strict=False)
    ]
    for start in range(0, len(created), AT_ONCE):
        await asyncio.gather(*map(store.save, created[start : start + AT_ONCE]))
    return {length: chain[length - 2] for length in (SHORT, LONG)}


def _response(response_id: str, parent: str | None, count: int) -> StoredResponse:
    body = msgspec.json.encode(
        {"id": response_id, "object": "response", "model": "instant", "output": []}
    )
    now = int(ids.now())
    stored = StoredResponse(
        response_id, now, "completed", parent, body, [_item() for _ in range(count)]
    )
    return replace(stored, expires_at=now + 86_400)


def _item() -> StoredItem:
    key = ids.new_id("msg")
    message = {"type": "message", "id": key, "status": "completed", "role": "user"}
    return StoredItem(
        key, msgspec.json.encode({**message, "content": [{"type": "input_text", "text": "Go on."}]})
    )


def large_response(url: str) -> str:
    """Store the large response in a new store at this URL; return its id."""
    return uvloop.run(_store_large(url))


async def _store_large(url: str) -> str:
    store = await open_store(url)
    response = _response(ids.new_id("resp"), None, MANY)
    await store.save(response)
    await store.close()
    return response.id


def first_item(port: int, response_id: str) -> float:
    """Return the median of the seconds in which a server lists one item of the response."""
    return uvloop.run(_first_item(port, response_id))


async def _first_item(port: int, response_id: str) -> float:
    taken = []
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http:
        for _ in range(LISTINGS):
            began = time.perf_counter()
            async with http.get(f"/v1/responses/{response_id}/input_items?limit=1") as reply:
                reply.raise_for_status()
                await reply.read()
            taken.append(time.perf_counter() - began)
    return median(taken)
