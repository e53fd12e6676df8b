"""`python -m bench.console_lists`: what the first page of responses takes, for each filter and
order of the console, over a million responses; and the memory of these pages and of exports.

It fills an empty store and prints for each page the 95th percentile in milliseconds, its processor
time, and whether the range has to be narrowed. Values of filters, and what an id leads to, are read
as well.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from typing import get_args

from msgspec.structs import replace

from antiphon.console.export import Format, encoding_of, export
from antiphon.console.summaries import KeyNames
from antiphon.query.response_filters import FILTERS, SORTS, parse_filters
from antiphon.storage.open import open_store
from antiphon.storage.operations import facts_page, facts_values, figures, finding
from antiphon.storage.operations.step import Operation, query_composed, reads
from antiphon.storage.records.facts import Facts, FactsPage, FactsQuery
from antiphon.storage.records.figures import FiguresQuery
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from bench.console import DAY, DAYS, MANY, fill, new_facts
from bench.postgres import is_installed, postgres
from bench.process import cpu, cpu_of_all, memory, parent

READS = 20
"""How often each page is read. The slowest but one is the 95th percentile."""

GOAL = 100.0
"""Milliseconds."""

PAGE = 50

VALUES = {
    "backend": "gpu-1",
    "cost": "0.05..0.06",
    "error": "server_error",
    "first": ">900ms",
    "key": "key_7",
    "model": "model-3",
    "served": "model-*",
    "since": "1d",
    "sort": "newest",
    "status": "failed",
    "tenant": "t0",
    "tokens": ">1k",
    "took": ">4s",
    "tool": "mcp",
    "until": "7d",
}
"""A value of each filter that has others than `yes` and `no`."""

OTHERS = {
    "a negated filter": "-status:completed",
    "either of two": "status:failed OR took:>4s",
    "two words": '"lighthouse 77" keeper',
    "a word that nothing has": "zebra",
    "two filters without an index": "backend:gpu-1 took:>2s",
    "thirty-two filters without an index": " ".join(["-took:>6s"] * 31 + ["cached:yes"]),
    "thirty-two words": " ".join(["-zebra"] * 31 + ["cached:yes"]),
    "thirty-two lists of values": " ".join([f"-model:{','.join('abcdefgh' * 4)}"] * 32),
}


def main() -> None:
    """Fill a store of each kind, and print what its pages take."""
    parser = argparse.ArgumentParser(prog="python -m bench.console_lists", description=__doc__)
    parser.add_argument("--responses", type=int, default=MANY)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    parser.add_argument("--store", metavar="URL", help="read a store that this bench has filled")
    parser.add_argument("--fill", metavar="URL", help="fill an empty store, and read nothing")
    arguments = parser.parse_args()
    if arguments.fill:
        _fill(arguments.fill, arguments.responses)
    elif arguments.store:
        asyncio.run(_print(arguments.store, arguments.responses))
    else:
        _measure(arguments.responses, arguments.only)


def _measure(most: int, only: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        urls = []
        if only != "postgres":
            urls.append(f"sqlite://{folder}/lists.db")
        if only != "sqlite" and is_installed():
            urls.append(stack.enter_context(postgres())())
        for url in urls:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # memory is measured here
                pool.submit(_fill, url, most).result()
            asyncio.run(_print(url, most))


def _fill(url: str, most: int) -> None:
    asyncio.run(_filled(url, most))


async def _filled(url: str, most: int) -> None:
    await fill(url, most, time.time(), _priced)
    store = await open_store(url)
    while await store.write(figures.sum_up):
        pass
    await store.close()


async def _print(url: str, most: int) -> None:
    now = time.time()
    store = await open_store(url)
    kind = "SQLite" if isinstance(store, SqliteStore) else "PostgreSQL"
    try:
        used = await _cpu_of(store)
        print(f"\n{kind}, {most:,} responses: p95 of {READS} reads in ms, its processor time, best")
        at_first = memory(os.getpid())
        for tenant in ("t0", None):
            print(f"-- {tenant or 'all tenants'}")
            for name, line in _lines(most):
                query = FactsQuery(PAGE, filters=parse_filters(line, now))
                read = partial(store.read, facts_page.page, tenant, query)
                print(f"{await _took(read, used)}  {name}: {line[:60]}", flush=True)
            for name, other in _other_reads(store, tenant).items():
                print(f"{await _took(other, used)}  {name}", flush=True)
        print(f"-- memory, MiB\n{_more(at_first):8.1f}  after all of these pages")
        for line in ("", "zebra"):
            for form in get_args(Format):
                encoding = encoding_of(form, "USD")
                parts = export(store, KeyNames(store), None, parse_filters(line, now), encoding)
                before, size, most_used = memory(os.getpid()), 0, 0.0
                began = time.perf_counter()
                async for part in parts:
                    size += len(part.body)
                    most_used = max(most_used, _more(before))
                print(
                    f"{most_used:8.1f}  more during an export as {form} of {size / 2**20:.0f} MiB, "
                    f"{time.perf_counter() - began:.0f} s: {line or 'everything'}",
                    flush=True,
                )
    finally:
        await store.close()


def _more(before: int) -> float:
    """Return by how much this process has grown, in MiB."""
    return (memory(os.getpid()) - before) / 2**20


@reads("backend_pid", is_of_all=True)
def _backend_pid() -> Operation[int]:
    ((found,),) = yield from query_composed("SELECT pg_backend_pid()", ())
    return int(found)


async def _cpu_of(store: Store) -> Callable[[], float]:
    """Return what tells the processor time of this process, and of its database."""
    own = partial(cpu, os.getpid())
    if isinstance(store, SqliteStore):
        return own
    server = parent(await store.read(_backend_pid))  # it starts a process for each connection
    return lambda: own() + cpu_of_all(server)


def _lines(most: int) -> Iterator[tuple[str, str]]:
    """Yield what is listed, and its line of filters."""
    yield "the newest", ""
    some = f"resp_{most // 2:032x}"
    ids = {"chain": some, "id": some, "conversation": "conv_1", "metadata.NAME": "x"}
    for name, form in FILTERS.items():
        value = VALUES.get(name) or ids.get(name) or form.values[0]
        yield f"{name}:", f"{name.replace('NAME', 'team')}:{value}"
    yield from OTHERS.items()
    for sort in SORTS[1:]:
        for narrowed in ("", "since:1d ", "since:15h ", "status:failed since:14d "):
            yield f"sort:{sort}", f"{narrowed}sort:{sort}"


def _other_reads(store: Store, tenant: str | None) -> dict[str, Callable[[], Awaitable[object]]]:
    now = int(time.time())
    filters = parse_filters("took:>1s", now)
    query = FiguresQuery(now - DAYS * DAY, now, DAY // 3, "model", filters)
    return {
        "figures: took:>1s": partial(store.read, figures.figures, tenant, query),
        "suggestions of models": partial(store.read, facts_values.values, tenant, "model"),
        "suggestions of tools": partial(store.read, facts_values.values, tenant, "tool"),
        "an unknown call": partial(store.read, finding.find, tenant, "call_1"),
        "an unknown item": partial(store.read, finding.find, tenant, "msg_1"),
    }


async def _took(read: Callable[[], Awaitable[object]], used: Callable[[], float]) -> str:
    """Return the 95th percentiles of a read in time and in processor time, its best time, and a
    mark for what is slow or is not listed.
    """
    times, costs = [], []
    for _ in range(READS):
        began, before = time.perf_counter(), used()
        found = await read()
        times.append((time.perf_counter() - began) * 1000)
        costs.append((used() - before) * 1000)
    times.sort()
    costs.sort()
    mark = "SLOW" if times[-2] > GOAL else ""
    if isinstance(found, FactsPage):
        mark += " narrow the range" if found.sortable_since is not None else ""
        mark += " partial" if found.read_to else ""
    return f"{times[-2]:8.1f} {costs[-2]:8.1f} {times[0]:8.1f} {mark:>21}"


def _priced(number: int, start: float) -> Facts:
    """Return facts with a price, and every tenth with a call of a tool."""
    return replace(
        new_facts(number, start),
        cost=number * 7919 % 100_000_000,
        tools=" mcp tracker.close_issue " if number % 10 == 3 else "",
    )


if __name__ == "__main__":
    main()
