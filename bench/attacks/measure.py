"""B's work, unloaded and while A attacks: what a request takes, what fails, and how the server's memory grows."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from antiphon.access.api_keys import Mint
from antiphon.ids import new_id
from antiphon.storage.contract import Limits
from antiphon.storage.open import open_store
from antiphon.tools.web.reading import MEMORY
from bench.attacks.attackers import NICE
from bench.attacks.resolver import write_resolver
from bench.attacks.table import ATTACKS, Attack
from bench.attacks.tenant import Outcome, tenant
from bench.process import Program, free_port, memory_of_all, peak_memory_of_all, running
from bench.report import OURS, TARGET, Reading
from bench.server import Served, module, wait_for_answer

BEGINNING = 20.0
"""Seconds that an attack may take to begin; one that has not begun by then is measured as it is."""

TIMES, MORE = 3, 100.0
"""B's p99 may be so many times the unloaded one, and so many milliseconds more."""

BODIES = 128 * 1024 * 1024
"""Bytes that a process may hold of clients' data, by its settings."""

MARGIN = 100e6
"""Bytes more than its settings say that the server may hold."""

SETTINGS = f"""
webhook_private_addresses = true
outgoing_networks = ["127.0.0.0/8"]
web_search = "http://127.0.0.1:1"
connect_timeout = 30
max_bodies = {BODIES}
"""


def attacked(folder: Path, seconds: float, names: str = "") -> Iterator[Reading]:
    """Measure each attack once, each on a server of its own; only those with `names` in their names."""
    # A's own servers would not share the server's CPUs either.
    with module("bench.attacks.backend", "0") as backend, module("bench.attacks.backend", str(NICE)) as site:
        for attack in ATTACKS:
            if attack.method and names in attack.name:
                yield from _measured(attack, backend.port, site.port, folder, seconds)


def _measured(attack: Attack, backend: int, site: int, folder: Path, seconds: float) -> Iterator[Reading]:
    store = f"sqlite://{folder}/{new_id('attack')}.db"
    a, b = asyncio.run(_issue(store))
    with _serving(attack, backend, folder, store) as served:
        command = [sys.executable, "-m", "bench.attacks.attackers", attack.method, str(served.port), a, str(site)]
        unloaded, loaded, grown = asyncio.run(_compare(served, b, backend, command, seconds))
    if failed := {kind: count for kind, count in loaded.failed.items() if count}:
        print(f"{attack.name}: of B failed {failed}", file=sys.stderr, flush=True)
    yield f"p99 of B, {attack.name}, ms", OURS, loaded.p99
    yield f"p99 of B, {attack.name}, ms", TARGET, TIMES * unloaded.p99 + MORE
    name = f"failed requests, jobs, webhooks, pages and tools of B, {attack.name}"
    yield name, OURS, sum(loaded.failed.values())
    yield name, TARGET, 0
    yield f"memory more than idle, {attack.name}, MB", OURS, grown / 1e6
    yield f"memory more than idle, {attack.name}, MB", TARGET, _most_memory(attack) / 1e6


def _most_memory(attack: Attack) -> float:
    """Return the bytes by which the server may grow: the limits of its processes and page readers, and a margin."""
    return BODIES * attack.workers + MEMORY * attack.readers + MARGIN


async def _compare(
    served: Served, key: str, backend: int, command: list[str], seconds: float
) -> tuple[Outcome, Outcome, int]:
    """Return what B's work came to without and with the attack, and by how many bytes the server has grown."""
    async with tenant(served.port, key, backend) as b:
        await b.begin()
        unloaded = await b.work(seconds)
        idle = memory_of_all(served.pid)
        with running(command) as attacker:
            await asyncio.wait({asyncio.create_task(asyncio.to_thread(_begun, attacker))}, timeout=BEGINNING)
            loaded = await b.work(seconds)
            return unloaded, loaded, peak_memory_of_all(served.pid) - idle


def _begun(attacker: Program) -> None:
    """Return when the attack has begun, or its program has ended."""
    assert attacker.stdout is not None
    attacker.stdout.readline()


async def _issue(store_url: str) -> tuple[str, str]:
    """Make a key for each tenant."""
    store = await open_store(store_url)
    mint = await Mint.of(store)
    keys = []
    for name in ("a", "b"):
        key, kept = mint.issue(new_id("key"), name, "bench", Limits(), int(time.time()), None)
        await store.put_api_key(kept)
        keys.append(key)
    await store.close()
    return keys[0], keys[1]


@contextmanager
def _serving(attack: Attack, backend: int, folder: Path, store: str) -> Iterator[Served]:
    (folder / "attacks.toml").write_text(SETTINGS)
    port = free_port()
    command = [sys.executable, "-m", "antiphon", "serve", "--port", str(port), "--store", store]
    command += ["--backend", f"http://127.0.0.1:{backend}/v1", "--config", str(folder / "attacks.toml")]
    command += ["--workers", str(attack.workers)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANTIPHON_")}
    environment["PYTHONPATH"] = write_resolver(folder)
    with running(command, environment, folder, log=folder / "attacks.log") as program:
        wait_for_answer(port, "/healthz", program)
        yield Served(port, program.pid)
