"""Fair sharing of content reads and writes: tenants take turns, part by part."""

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager

from antiphon.errors import StoreError
from antiphon.sharing.scheduler import FairScheduler, NoRoomError

PARTS_AT_ONCE = 5
"""Maximum number of concurrent reads and writes of parts; four of one tenant. SQLite writes one at
a time.
"""

PARTS_WAITING = 10_000
"""Maximum number of waiting parts. Further parts are rejected immediately."""


def part_turns() -> FairScheduler:
    """Return the scheduler that shares a process's reads and writes of parts between tenants."""
    return FairScheduler(PARTS_AT_ONCE, PARTS_WAITING, leaves_room=True)


@asynccontextmanager
async def turn_of(turns: FairScheduler, tenant: str) -> AsyncGenerator[None, None]:
    """Wait for the tenant's turn, so that a tenant with many files does not delay others.

    Raises `StoreError`.
    """
    try:
        async with turns.slot(tenant):
            yield
    except NoRoomError as error:
        raise StoreError("The store is overloaded: too many file transfers are waiting.") from error


async def in_parts(
    content: AsyncIterable[bytes], size: int
) -> AsyncGenerator[tuple[bytes, bool], None]:
    """Yield content in parts of `size` bytes, each with a flag for the last part, which can be
    smaller or empty.
    """
    pending = bytearray()
    async for piece in content:
        pending += piece
        while len(pending) > size:  # a part of exactly `size` bytes can be the last one
            yield bytes(pending[:size]), False
            del pending[:size]
    yield bytes(pending), True
