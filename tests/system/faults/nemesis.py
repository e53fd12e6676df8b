"""Breaks servers at random while clients ask, lets everything heal, and looks whether any fact was
lost.
"""

import asyncio
import random
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.ports import free_port
from simulation.promises import event_of

from antiphon.storage.open import open_store
from antiphon.storage.sqlite.file import path_of
from tests.support.keys import bearing, issue
from tests.system.faults.clients import OPEN, Clients
from tests.system.faults.cluster import Node, cluster
from tests.system.faults.hostile import SETTINGS, attacking
from tests.system.faults.model import thinking
from tests.system.faults.record import (
    TAKE_OVER,
    Afterwards,
    Record,
    lost,
    take_overs,
    torn_streams,
    two_ends,
    vacuous,
)

HEAL = 30.0
"""Seconds after which nothing may be in progress any more."""

ATTACKS = 3
"""Of the four kinds of A's attacks, how many some server accepts at least while others are
killed.
"""

REST = (1.0, 4.0)
"""Seconds between two faults."""

STOPPED = (9.0, 12.0)
"""Seconds for which a process is stopped: longer than others wait for it."""

LONGER = 60.0
"""Seconds for which a busy machine may go on until enough was acknowledged."""

LONGEST_WRITE = 2.0
"""Seconds after which a file that is still locked is not locked by one who writes."""


class Restarting(Protocol):
    """A database that can be restarted, or replaced by its standby."""

    async def restart(self) -> None:
        """End it without any farewell; return when it, or another, serves again."""


@dataclass
class Verdict:
    """What was found. `broken` is empty where everything holds."""

    broken: list[str]
    figures: str


async def torment(
    folder: Path,
    store: str,
    seconds: float,
    seed: int,
    *,
    count: int = 2,
    each: int = 2,
    postgres: Restarting | None = None,
) -> Verdict:
    """Run clients of tenant B and faults for so long on a store, while tenant A attacks; then judge
    what B has.
    """
    dice = random.Random(seed)
    async with thinking() as model:
        nodes = [
            Node(f"n{i}", folder, free_port(), model.url_for(f"n{i}"), store) for i in range(count)
        ]
        (folder / "antiphon.toml").write_text(SETTINGS)
        a, b = await _keys(store)
        async with cluster(nodes, b) as http:
            clients = Clients(http, nodes, dice)
            pending = asyncio.create_task(clients.run(each))
            async with attacking(nodes, a, random.Random(seed)) as hostile:
                faults, outages = await _break(nodes, postgres, dice, seconds, clients.record)
            clients.end()
            settled = await _settle(clients, pending)
            after = await _poll(clients)
    record = clients.record
    times = take_overs(clients.record, model, nodes, outages)
    broken = [
        *lost(record, after, model),
        *two_ends(record, after),
        *torn_streams(record, after),
        *vacuous(record),
    ]
    broken += (
        [f"of A's attacks only {hostile.done} were accepted"] if len(hostile.done) < ATTACKS else []
    )
    broken += [f"{after.jobs} jobs are left"] if after.jobs else []
    broken += (
        [f"{settled:.0f} s after the end something was in progress, at last: {clients.last}"]
        if settled > HEAL
        else []
    )
    late = [one for one in times if one > TAKE_OVER]
    broken += [f"a take-over took {one:.1f} s" for one in late]
    accepted = ", ".join(f"{count} times {kind}" for kind, count in hostile.done.items())
    return Verdict(
        broken, f"{_figures(seed, faults, record, times, settled)}; A attacked by {accepted}"
    )


async def _keys(store_url: str) -> tuple[dict[str, str], dict[str, str]]:
    """Make keys for tenants A and B; return the headers that present them."""
    store = await open_store(store_url)
    a = await issue(store, "a")
    b = await issue(store, "b")
    await store.close()
    return {**bearing(a)}, {**bearing(b)}


def _figures(
    seed: int, faults: dict[str, int], record: Record, times: list[float], settled: float
) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in faults.items())
    slowest = f"the slowest in {max(times):.1f} s" if times else "none"
    return (
        f"seed {seed}: {kinds}; {record.facts} acknowledged facts, "
        f"{len(record.jobs)} background responses, {len(times)} calls made again, {slowest}; "
        f"at rest {settled:.1f} s after the end"
    )


async def _break(
    nodes: list[Node],
    postgres: Restarting | None,
    dice: random.Random,
    seconds: float,
    record: Record,
) -> tuple[dict[str, int], list[float]]:
    """A kill, then one fault after the other, until the time is over and enough was acknowledged
    meanwhile; everything runs at the end.

    Return how many there were of each kind, and the ends of the times in which they kept everybody
    from writing.
    """
    kinds = ["kill", "kill", "stop", *(["restart"] * 2 if postgres else [])]
    done = dict.fromkeys(kinds, 0)
    outages = []
    until = time.monotonic() + seconds
    while time.monotonic() < until or (any(vacuous(record)) and time.monotonic() < until + LONGER):
        await asyncio.sleep(dice.uniform(*REST))
        kind = dice.choice(kinds) if any(done.values()) else "kill"
        node = dice.choice(nodes)
        done[kind] += 1
        if kind == "restart" and postgres is not None:
            await postgres.restart()
            outages.append(time.monotonic())
        elif kind == "kill":
            await node.kill()
            await asyncio.sleep(dice.uniform(0, 2))
            await node.start()
        else:
            node.stop()
            await asyncio.sleep(dice.uniform(*STOPPED))
            is_locked = await asyncio.to_thread(_is_locked, node.store)
            node.cont()
            outages += [time.monotonic()] if is_locked else []
    return done, outages


def _is_locked(store: str) -> bool:
    """Whether nobody can write to a store: SQLite has one writer, and one that is stopped keeps the
    file locked.

    PostgreSQL ends the transaction of a process that is stopped.
    """
    path = path_of(store) if store.startswith("sqlite") else None
    if path is None:
        return False
    with closing(sqlite3.connect(path, timeout=LONGEST_WRITE, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        connection.execute("ROLLBACK")
        return False


async def _settle(clients: Clients, requesting: "asyncio.Task[None]") -> float:
    """Wait until everything that was begun has ended; return how long that took."""
    begun = time.monotonic()
    await asyncio.wait_for(requesting, 3 * HEAL)
    for response_id in clients.record.jobs:
        while (await clients.get(f"/responses/{response_id}"))[1].get("status") in OPEN:
            assert time.monotonic() - begun < 3 * HEAL, f"{response_id} does not end"
            await asyncio.sleep(0.1)
    return time.monotonic() - begun


async def _poll(clients: Clients) -> Afterwards:
    record = clients.record
    responses: dict[str, dict[str, Any] | None] = {}
    for response_id in record.jobs | record.answers:
        status, body = await clients.get(f"/responses/{response_id}")
        responses[response_id] = body if status == 200 else None
    replays = {
        one.response_id: [await _replay(clients, one.response_id) for _ in range(2)]
        for one in record.readings
    }
    items = {one: await _items(clients, one) for one in record.turns}
    running = [
        one for one, response in responses.items() if response and response["status"] in OPEN
    ]
    return Afterwards(responses, replays, items, len(running))


async def _items(clients: Clients, conversation_id: str) -> list[dict[str, Any]] | None:
    found: list[dict[str, Any]] = []
    page: dict[str, Any] = {"has_more": True, "last_id": ""}
    while page["has_more"]:
        after = f"&after={page['last_id']}" if page["last_id"] else ""
        status, page = await clients.get(
            f"/conversations/{conversation_id}/items?order=asc&limit=100{after}"
        )
        if status != 200:
            return None
        found += page["data"]
    return found


async def _replay(clients: Clients, response_id: str) -> list[tuple[int, bytes]]:
    async with clients.http.get(clients.url(f"/responses/{response_id}?stream=true")) as response:
        frames = (await response.read()).split(b"\n\n")
    return [(event_of(one)["sequence_number"], one) for one in frames if one]
