"""What code costs the memory of a host, measured outside of its machine, whatever kind of memory it tries to take."""

import pytest
from bench.attacks.memory import KINDS, code, most_while, namespaces

from tests.support.sandboxes import LIMITS, MEGABYTE, machine_of, run

SPARE = 64 * MEGABYTE
"""Bytes above the limits of memory and disk, which is memory too."""


@pytest.mark.parametrize("kind", KINDS)
async def test_no_kind_of_memory_exceeds_the_limit(kind: str) -> None:
    before = namespaces()
    async with machine_of() as machine:
        most = await most_while(run(machine, code(kind)), namespaces() - before)
    assert 0 < most < LIMITS.memory + LIMITS.disk + SPARE
