"""B's work, unloaded and while A attacks: what a request takes, what fails, and how the server's
memory grows.
"""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from antiphon.ids import new_id
from antiphon.protocol.containers import MEMORY as MEMORY_OF_CONTAINERS
from antiphon.tools.web.reading import MEMORY
from bench.attacks.attackers import NICE
from bench.attacks.serving import BODIES, CODE, issue, serving
from bench.attacks.table import ATTACKS, Attack
from bench.attacks.tenant import POLL_INTERVAL, Outcome, tenant
from bench.process import Program, memory_of_all, peak_memory_of_all, processes_of_all, running
from bench.report import OURS, TARGET, Reading
from bench.server import RunningServer, module

BEGINNING = 20.0
"""Seconds that an attack may take to begin; one that has not begun by then is measured as it is."""

TIMES, MORE = 3, 100.0
"""B's p99 may be so many times the unloaded one, and so many milliseconds more."""

CONTAINER = MEMORY_OF_CONTAINERS["1g"]
"""Bytes of a container for code, as its default limit is."""

MARGIN = 100e6
"""Bytes more than its settings say that the server may hold."""


def attacked(folder: Path, seconds: float, names: str = "") -> Iterator[Reading]:
    """Measure each attack once, each on a server of its own; only those with `names` in their
    names.
    """
    # A's own servers would not share the server's CPUs either.
    with (
        module("bench.attacks.backend", "0") as backend,
        module("bench.attacks.backend", str(NICE)) as site,
    ):
        for attack in ATTACKS:
            if names not in attack.name:
                continue
            if attack.measure is not None:
                yield from _or_skipped(attack.measure(folder))
            elif attack.method:
                yield from _or_skipped(_measured(attack, backend.port, site.port, folder, seconds))


def _or_skipped(figures: Iterator[Reading]) -> Iterator[Reading]:
    """Yield what can be measured here, or say why it cannot: the other attacks are measured all the
    same.
    """
    try:
        yield from figures
    except RuntimeError as error:
        print(f"Skipped: {error}", file=sys.stderr, flush=True)


def _measured(
    attack: Attack, backend: int, site: int, folder: Path, seconds: float
) -> Iterator[Reading]:
    store = f"sqlite://{folder}/{new_id('attack')}.db"
    (a, _), (b, _) = asyncio.run(issue(store))
    with serving(
        backend, folder, store, workers=attack.workers, settings=CODE if attack.processes else ""
    ) as server:
        command = [
            sys.executable,
            "-m",
            "bench.attacks.attackers",
            attack.method,
            str(server.port),
            a,
            str(site),
        ]
        unloaded, loaded, grown = asyncio.run(
            _compare(attack, server, b, backend, command, seconds)
        )
    if attack.has_times:
        for figure in ("median", "worst"):
            before = getattr(unloaded, figure)
            during = getattr(loaded, figure)
            yield f"{figure} of B before, {attack.name}, ms", OURS, before
            yield f"{figure} of B, {attack.name}, ms", OURS, during
            yield f"{figure} of B later, {attack.name}, ms", OURS, during - before
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
    """Return the bytes by which the server may grow: the limits of its processes, readers and
    containers, a margin.
    """
    return (
        BODIES * attack.workers
        + MEMORY * attack.readers
        + CONTAINER * bool(attack.processes)
        + MARGIN
    )


async def _compare(
    attack: Attack,
    server: RunningServer,
    key: str,
    backend: int,
    command: list[str],
    seconds: float,
) -> tuple[Outcome, Outcome, int]:
    """Return what B's work came to without and with the attack, and by how many bytes the server
    has grown.
    """
    async with tenant(server.port, key, backend) as b:
        await b.begin()
        unloaded = await b.work(seconds)
        idle = memory_of_all(server.pid)
        with running(command) as attacker:
            await asyncio.wait(
                {asyncio.create_task(asyncio.to_thread(_begun, attacker))}, timeout=BEGINNING
            )
            await _until_code_runs(attack, server)
            loaded = await b.work(seconds)
            return unloaded, loaded, peak_memory_of_all(server.pid) - idle


async def _until_code_runs(attack: Attack, server: RunningServer) -> None:
    """Raise `RuntimeError` where the code of an attack does not run: B would notice nothing of
    it.
    """
    try:
        async with asyncio.timeout(BEGINNING):
            while processes_of_all(server.pid) <= attack.processes:  # noqa: ASYNC110 - they must be looked for
                await asyncio.sleep(POLL_INTERVAL)
    except TimeoutError as error:
        raise RuntimeError(
            f"{attack.name}: the code does not run, perhaps without bubblewrap"
        ) from error


def _begun(attacker: Program) -> None:
    """Return when the attack has begun, or its program has ended."""
    assert attacker.stdout is not None
    attacker.stdout.readline()
