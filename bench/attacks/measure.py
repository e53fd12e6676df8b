"""B's requests, unloaded and while A attacks: what they take, how many fail, and how the server's memory grows."""

import asyncio
import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles

import aiohttp

from antiphon.access.api_keys import Mint
from antiphon.ids import new_id
from antiphon.storage.contract import Limits
from antiphon.storage.open import open_store
from bench.attacks.attackers import ATTACKS
from bench.process import free_port, memory_of_all, peak_memory, running
from bench.report import OURS, TARGET, Reading
from bench.server import Served, module, wait_for_answer

RATE = 50
"""Requests of B a second."""

SECONDS = 4.0

BEGINNING = 20.0
"""Seconds that an attack may take to begin; one that has not begun by then is measured as it is."""

PATIENCE = 30.0
"""Seconds after which a request of B counts as failed."""

TIMES, MORE = 3, 100.0
"""B's p99 may be so many times the unloaded one, and so many milliseconds more."""

BODIES = 128
"""Mebibytes that the server may hold of clients' data, by its settings."""

MARGIN = 100e6
"""Bytes more than its settings say that the server may hold."""

SETTINGS = 'webhook_private_addresses = true\noutgoing_networks = ["127.0.0.0/8"]\n'


def attacked(folder: Path, seconds: float = SECONDS) -> Iterator[Reading]:
    """Measure each attack once, each on a server of its own."""
    with module("bench.attacks.backend") as backend:
        for name in ATTACKS:
            yield from _measured(name, backend, folder, seconds)


def _measured(name: str, backend: Served, folder: Path, seconds: float) -> Iterator[Reading]:
    store = f"sqlite://{folder}/{new_id('attack')}.db"
    a, b = asyncio.run(_issue(store))
    with _serving(backend.port, folder, store) as served:
        unloaded, _ = asyncio.run(_ask(served.port, b, seconds / 2))
        idle = memory_of_all(served.pid)
        command = [sys.executable, "-m", "bench.attacks.attackers", name, str(served.port), a, str(backend.port)]
        with running(command) as attacker:
            assert attacker.stdout is not None
            select.select([attacker.stdout], [], [], BEGINNING)
            p99, failed = asyncio.run(_ask(served.port, b, seconds))
            grown = max(memory_of_all(served.pid), peak_memory(served.pid)) - idle
    yield f"p99 of B, {name}, ms", OURS, p99
    yield f"p99 of B, {name}, ms", TARGET, TIMES * unloaded + MORE
    yield f"failed requests of B, {name}", OURS, failed
    yield f"failed requests of B, {name}", TARGET, 0
    yield f"memory more than idle, {name}, MB", OURS, grown / 1e6
    yield f"memory more than idle, {name}, MB", TARGET, (BODIES * 1024 * 1024 + MARGIN) / 1e6


async def _issue(store_url: str) -> tuple[str, str]:
    """Make a key for each tenant."""
    store = await open_store(store_url)
    mint = await Mint.of(store)
    keys = []
    for tenant in ("a", "b"):
        key, kept = mint.issue(new_id("key"), tenant, "bench", Limits(), int(time.time()), None)
        await store.put_api_key(kept)
        keys.append(key)
    await store.close()
    return keys[0], keys[1]


@contextmanager
def _serving(backend: int, folder: Path, store: str) -> Iterator[Served]:
    (folder / "attacks.toml").write_text(f"{SETTINGS}max_bodies = {BODIES * 1024 * 1024}\n")
    port = free_port()
    command = [sys.executable, "-m", "antiphon", "serve", "--port", str(port), "--store", store]
    command += ["--backend", f"http://127.0.0.1:{backend}/v1", "--config", str(folder / "attacks.toml")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANTIPHON_")}
    with running(command, environment, folder, log=folder / "attacks.log") as program:
        wait_for_answer(port, "/healthz", program)
        yield Served(port, program.pid)


async def _ask(port: int, key: str, seconds: float) -> tuple[float, int]:
    """Send B's requests at a steady rate; return the p99 in milliseconds, and how many failed."""
    headers = {"authorization": f"Bearer {key}"}
    connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=PATIENCE)
    url = f"http://127.0.0.1:{port}"
    async with aiohttp.ClientSession(url, headers=headers, connector=connector, timeout=timeout) as http:

        async def ask(delay: float) -> tuple[float, bool]:
            await asyncio.sleep(delay)
            began = time.perf_counter()
            is_good = False
            try:
                async with http.post("/v1/responses", json={"model": "m", "input": "Hello!"}) as reply:
                    await reply.read()
                    is_good = reply.status == 200
            except (aiohttp.ClientError, TimeoutError):
                pass
            return (time.perf_counter() - began) * 1000, is_good

        await ask(0)
        outcomes = await asyncio.gather(*(ask(number / RATE) for number in range(int(RATE * seconds))))
    return quantiles([took for took, _ in outcomes], n=100)[98], sum(not is_good for _, is_good in outcomes)
