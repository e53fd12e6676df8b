"""How tenants share the writing and reading of content: part by part, in turns."""

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager

from antiphon.errors import StoreError
from antiphon.sharing.scheduler import FairScheduler, NoRoomError

PARTS_AT_ONCE = 5
"""Parts that a process writes or reads at once, of one tenant alone four; SQLite writes one of them at a time."""

PARTS_WAITING = 10_000
"""Parts that may wait; more are refused at once."""


def part_turns() -> FairScheduler:
    """Return what shares the parts that a process writes and reads between tenants."""
    return FairScheduler(PARTS_AT_ONCE, PARTS_WAITING, leaves_room=True)


@asynccontextmanager
async def turn_of(turns: FairScheduler, tenant: str) -> AsyncGenerator[None, None]:
    """Wait for the tenant's turn, so many files of one tenant do not delay those of others. Raises `StoreError`."""
    try:
        async with turns.slot(tenant):
            yield
    except NoRoomError as error:
        raise StoreError("The store is overloaded: too many files are being sent.") from error


async def in_parts(content: AsyncIterable[bytes], size: int) -> AsyncGenerator[tuple[bytes, bool], None]:
    """Give content in parts of `size` bytes, each with whether it is the last; that one may be smaller, or empty."""
    pending = bytearray()
    async for piece in content:
        pending += piece
        while len(pending) > size:  # what is exactly a part may be the last one
            yield bytes(pending[:size]), False
            del pending[:size]
    yield bytes(pending), True
