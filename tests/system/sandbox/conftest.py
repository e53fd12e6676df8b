"""Machines to attack. Meanwhile the memory of the server, which is this process, stays as it
was.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from antiphon.sandbox.contract import Machine
from tests.support.sandboxes import MEGABYTE, forget_peak, machine_of, memory, why_not

MOST = 100 * MEGABYTE
"""Bytes of memory that an attack may cost the server."""


@pytest.fixture(scope="session", autouse=True)
def bubblewrap() -> None:
    """Skip where bubblewrap does not work."""
    if problem := why_not():
        pytest.skip(problem)


@pytest.fixture(autouse=True)
def bounded(bubblewrap: None) -> Iterator[None]:
    forget_peak()
    before = memory("VmRSS")
    yield
    assert memory("VmHWM") - before < MOST


@pytest.fixture
async def machine() -> AsyncIterator[Machine]:
    async with machine_of() as one:
        yield one
