"""The order in which items open: a message or another whole item alone, calls next to each other.

An item opens when those before it have closed, as rule 3 of the stream demands. The items of calls
are the exception: they stay open while their work runs, and the writer holds back the events of
later ones (`ResponseWriter.hold`).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

Kind = Literal["alone", "call"]


@dataclass(eq=False, slots=True)
class SurroundingItem:
    """An item that is open around the running code."""

    kind: Kind
    is_open: bool = True


_around: ContextVar[SurroundingItem | None] = ContextVar("open_item", default=None)


class ItemOrder:
    """The open items of one response."""

    def __init__(self) -> None:
        self._opening = asyncio.Lock()
        self._calls = 0
        self._no_calls = asyncio.Event()
        self._no_calls.set()

    async def acquire(self) -> None:
        """Wait until no item is open, and let none open until `release`.

        Raises `RuntimeError` in the block of an open item, which would wait for itself.
        """
        _refuse_within("alone", "call")
        await self._opening.acquire()
        try:
            await self._no_calls.wait()
        except BaseException:
            self._opening.release()
            raise

    def release(self) -> None:
        """Let the next item open."""
        self._opening.release()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Open an item for a block, while no other is open. Raises as `acquire`."""
        await self.acquire()
        try:
            with _within("alone"):
                yield
        finally:
            self.release()

    @asynccontextmanager
    async def with_calls(self) -> AsyncIterator[None]:
        """Open the item of a call for a block, next to those of other calls. Raises `RuntimeError`
        in the block of an item that is open alone.
        """
        _refuse_within("alone")
        async with self._opening:
            self._calls += 1
            self._no_calls.clear()
        try:
            with _within("call"):
                yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._no_calls.set()


@contextmanager
def _within(kind: Kind) -> Iterator[None]:
    before = _around.get()
    item = SurroundingItem(kind)
    _around.set(item)
    try:
        yield
    finally:
        item.is_open = False  # also for tasks that were created in the block
        _around.set(before)


def _refuse_within(*kinds: Kind) -> None:
    around = _around.get()
    if around is not None and around.is_open and around.kind in kinds:
        raise RuntimeError(
            "An item cannot open within another one: not in a block of ctx.message() or "
            "ctx.reasoning(), and no message in a step with show=True. Open it after that block."
        )
