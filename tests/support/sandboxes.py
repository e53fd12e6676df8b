"""Machines for tests, and what can be seen of them from outside."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from bench.attacks.memory import all_namespaces

from antiphon.sandbox.bubblewrap import Bubblewrap
from antiphon.sandbox.contract import CodeResult, Machine, MachineLimits
from tests.support.waiting import until

MEGABYTE = 1024 * 1024
LIMITS = MachineLimits(
    memory=256 * MEGABYTE,
    processes=40,
    file_size=8 * MEGABYTE,
    disk=24 * MEGABYTE,
    files=10,
    output=20_000,
)
PATIENCE = 60.0
"""Seconds for what should take a moment."""


@cache
def why_not() -> str:
    """Why bubblewrap does not work here; empty where it does."""
    return asyncio.run(Bubblewrap().probe())


@asynccontextmanager
async def machine_of(limits: MachineLimits = LIMITS, python: str = "") -> AsyncIterator[Machine]:
    sandbox = Bubblewrap(python)
    try:
        yield await sandbox.start(limits)
    finally:
        await sandbox.close()


async def parts(*contents: bytes) -> AsyncIterator[bytes]:
    for content in contents:
        yield content


async def content(machine: Machine, name: str, limit: int = 100 * MEGABYTE) -> bytes:
    return b"".join([part async for part in machine.read(name, limit)])


async def run(machine: Machine, code: str, seconds: float = PATIENCE) -> CodeResult:
    return await machine.run_code(code, seconds)


async def value(machine: Machine, code: str) -> str:
    """What the last expression of code gives; it prints nothing."""
    result = await run(machine, code)
    assert (result.printed, result.ending) == ("", "completed")
    return result.value


async def vanished(spaces: set[str]) -> None:
    """Wait until no process is left in these namespaces."""
    await until(lambda: not spaces & all_namespaces())


def memory(kind: str) -> int:
    """Bytes of this process: `VmRSS` now, or `VmHWM`, the most since `forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{kind}:"))


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")
