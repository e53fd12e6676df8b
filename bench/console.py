"""What the console costs: lists, searches and figures over a million responses, facts of each, and
open lists.
"""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, closing
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.json import encode as encode_json

from antiphon.console.changes import Changes
from antiphon.console.summaries import summary
from antiphon.protocol.items.messages import Message
from antiphon.protocol.response import Response
from antiphon.query.conditions import Filters
from antiphon.query.response_filters import parse_filters
from antiphon.recording.facts import ResponseOrigin, facts_of
from antiphon.storage.open import open_store
from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.operations import facts_page, figures
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.facts import STORED, Facts, FactsQuery
from antiphon.storage.records.figures import FiguresQuery
from antiphon.storage.sqlite.file import path_of
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from antiphon.storage.upkeep import purge
from antiphon.telemetry.observers import ResponseRecord, Span
from bench.report import OURS, Reading

MANY = 1_000_000
AT_ONCE = 5_000
DAYS = 30
DAY = 86_400

LISTS = {
    "first page": "",
    "first page of one model": "model:model-3",
    "first page of failures": "status:failed",
    "first page by two filters without an index": "backend:gpu-1 took:>2s",
    "two words": '"lighthouse 77" keeper',
}
"""What is listed, and its filters."""

TIMES = 20
"""How often each list is read. Its slowest but one is the 95th percentile."""

CONSOLES, RATE, WATCHED = 50, 200, 4
"""Open lists, responses per second, and seconds."""


def reading(kind: str, url: str, most: int = MANY) -> Iterator[Reading]:
    """Fill an empty store with a million responses, and give what it takes to read them:
    milliseconds.
    """
    yield from asyncio.run(_stored(kind, url, most))


def facts() -> Iterator[Reading]:
    """Give what the facts of a response and what open lists cost: CPU microseconds, and percent of
    a core.
    """
    yield (
        "facts of a response, made and written to SQLite, CPU µs",
        OURS,
        _making() + asyncio.run(_keeping()),
    )
    yield (
        f"{CONSOLES} open consoles at {RATE} responses/s, % of a core",
        OURS,
        asyncio.run(_watching()),
    )


async def _stored(kind: str, url: str, most: int) -> list[Reading]:
    now = time.time()
    await fill(url, most, now)
    store = await open_store(url)
    try:
        while await store.write(figures.sum_up):
            pass
        readings = []
        for name, line in LISTS.items():
            wanted = FactsQuery(50, filters=parse_filters(line, now))
            slowest = await _slowest(partial(store.read, facts_page.page, "t0", wanted))
            readings.append((f"{name} of {most:,} responses, {kind}, p95, ms", OURS, slowest))
        for by in ("model", "key"):
            query = FiguresQuery(int(now) - DAYS * DAY, int(now), DAY // 3, by)
            slowest = await _slowest(partial(store.read, figures.figures, "t0", query))
            readings.append((f"figures of {DAYS} days by {by}, {kind}, p95, ms", OURS, slowest))
        path = path_of(url) if isinstance(store, SqliteStore) else None
        if path is not None:
            await purge(store)
            size = _size(path) / most
            readings.append(
                (
                    f"facts and sums of a response, kept for {DAYS} days, {kind}: bytes on disk",
                    OURS,
                    size,
                )
            )
        return readings
    finally:
        await store.close()


def _size(path: Path) -> int:
    """Return the bytes of a database, without the pages that a purge has freed for new rows."""
    with closing(sqlite3.connect(path)) as connection:
        (used,) = connection.execute(
            "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, "
            "pragma_freelist_count, pragma_page_size"
        ).fetchone()
    return int(used)


async def fill(
    url: str, most: int, now: float, create: Callable[[int, float], Facts] | None = None
) -> None:
    """Put responses of thirty days into a store with a clock that makes none of them late.

    `create` returns one by its number and its start in seconds.
    """
    create = create or new_facts
    opened: Store
    if url.startswith("sqlite"):
        opened = SqliteStore.open(url, now=lambda: 0)
    else:
        opened = await PostgresStore.open(url, now=lambda: 0)
    for start in range(0, most, AT_ONCE):
        begins = [
            now - DAYS * DAY * (1 - number / most) for number in range(start, start + AT_ONCE)
        ]
        await opened.write(
            stored_facts.put_new,
            [create(start + place, began) for place, began in enumerate(begins)],
        )
    await opened.close()


def new_facts(number: int, start: float) -> Facts:
    """Return facts of one of these responses, which began then: most are of one tenant, a few have
    failed.
    """
    began = int(start * 1000)
    took = 200 + number * 7919 % 4000
    return Facts(
        id=f"resp_{number:032x}",
        tenant="t0" if number % 10 else "t1",
        began=began,
        ended=began + took,
        status="failed" if number % 50 == 7 else "completed",
        model=f"model-{number % 7}",
        served_model=f"model-{number % 7}",
        backend=f"gpu-{number % 3}",
        key_id=f"key_{number % 20}",
        flags=STORED,
        tools="",
        queued=2,
        first=took // 4,
        input_tokens=1000,
        cached_tokens=500,
        output_tokens=200,
        reasoning_tokens=0,
        calls=1,
        attempts=1,
        error="server_error" if number % 50 == 7 else "",
        previous_response_id="",
        conversation_id="",
        request_bytes=2000,
        tags="",
        input=f"Write a story about lighthouse {number % 1000} and its keeper, in which nothing "
        "of note happens.",
        output="Every evening the keeper climbed the hundred and twelve steps, with a lamp and a "
        "book.",
        cost=None,
        spans=b'[1790000000000,[["call","gpu-1",1200,950000,210000,""]]]',
    )


async def _slowest(read: Callable[[], Awaitable[Any]]) -> float:
    """Return the 95th percentile of a read, in milliseconds."""
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await read()
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)[-2]


def _making(many: int = 20_000) -> float:
    """Return the microseconds in which the facts of a response are made."""
    origin = ResponseOrigin("m", "t", "key_1", STORED, 500)
    requested = [Message(role="user", content="Write a story about a lighthouse.")]
    response = Response(id="resp_1", created_at=1, model="m", status="completed")
    record = ResponseRecord(response, _Target(), list)  # type: ignore[arg-type]
    record.began = time.monotonic() - 1
    record.spans = [
        Span("call", "gpu-1", record.began + 0.1, record.began + 0.2, record.began + 0.9)
    ]
    began = time.process_time()
    for _ in range(many):
        facts_of(origin, response, requested, 1_790_000_000.0, record)
    return (time.process_time() - began) / many * 1e6


class _Target:
    """Where the model is, as far as facts look at it."""

    class state:  # noqa: N801 - a field
        """The backend."""

        label = "gpu-1"


async def _keeping(many: int = 20_000, together: int = 16) -> float:
    """Return the CPU microseconds in which facts are kept, so many at once as come together under
    load.
    """
    store = await open_store("sqlite://")
    now = time.time()
    created = [new_facts(number, now) for number in range(many)]
    began = time.process_time()
    for start in range(0, many, together):
        await store.write(stored_facts.put_new, created[start : start + together])
    took = time.process_time() - began
    await store.close()
    return took / many * 1e6


async def _watching() -> float:
    """Return the percentage of a core that open lists take, beyond what the same responses take
    without.
    """
    idle = await _coming(0)
    return (await _coming(CONSOLES) - idle) / WATCHED * 100


async def _coming(consoles: int) -> float:
    """Return the CPU seconds in which responses come while so many lists are open."""
    store = await open_store("sqlite://")
    now = time.time()
    names = {f"key_{number}": "build" for number in range(20)}

    async def load_names(ids: Sequence[str]) -> dict[str, str]:
        return names

    changes = Changes(
        store, lambda known: (), load_names, lambda one, names: encode_json(summary(one, names))
    )
    watching = [asyncio.create_task(_watch(changes)) for _ in range(consoles)]
    await asyncio.sleep(0.1)
    began = time.process_time()
    number = 0
    for _ in range(WATCHED * 10):
        until = time.monotonic() + 0.1
        await store.write(
            stored_facts.put_new, [new_facts(number + each, now) for each in range(RATE // 10)]
        )
        number += RATE // 10
        await asyncio.sleep(max(0.0, until - time.monotonic()))
    took = time.process_time() - began
    for task in watching:
        task.cancel()
    await asyncio.gather(*watching, return_exceptions=True)
    await store.close()
    return took


async def _watch(changes: Changes) -> None:
    async with aclosing(changes.watch(None, Filters())) as batches:
        async for batch in batches:
            b"".join([b"event: row\ndata: %s\n\n" % row for row in batch.changed])
