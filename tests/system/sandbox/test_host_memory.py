"""What code costs the memory of a host, measured outside of its machine, whatever kind of memory it
tries to take.
"""

import asyncio
import time

import pytest
from bench.attacks.memory import KINDS, code, most_while, namespaces

from tests.support.sandboxes import LIMITS, MEGABYTE, PATIENCE, machine_of, run
from tests.support.waiting import until
from tests.system.sandbox.test_priority import processes

SPARE = 64 * MEGABYTE
"""Bytes above the limits of memory and disk, which is memory too."""


@pytest.mark.parametrize("kind", KINDS)
async def test_no_kind_of_memory_exceeds_the_limit(kind: str) -> None:
    before = namespaces()
    async with machine_of() as machine:
        most = await most_while(run(machine, code(kind)), namespaces() - before)
    assert 0 < most < LIMITS.memory + LIMITS.disk + SPARE


async def test_a_too_large_machine_ends_while_the_event_loop_is_blocked() -> None:
    before = namespaces()
    async with machine_of() as machine:
        spaces = namespaces() - before
        call = asyncio.create_task(run(machine, code("memory of processes")))
        await until(lambda: len(processes(spaces)) > 2)
        end = time.monotonic() + PATIENCE
        while processes(spaces) and time.monotonic() < end:
            """No coroutine runs."""
        assert processes(spaces) == {}
        assert (await call).ending == "memory"
