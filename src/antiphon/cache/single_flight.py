"""Answers on their way: who asks what is being asked already waits for that answer."""

import asyncio
from dataclasses import dataclass, field

PATIENCE = 30.0
"""Seconds for which an answer that has begun may stand still: then those who wait for it go on by themselves."""


class Left(Exception):  # noqa: N818 - whoever waits may still have the answer
    """Whoever asked is gone, or failed: one of those who wait asks in his place."""


@dataclass(slots=True)
class Flight:
    """One answer on its way. `moved` is when it was last told more of, None before the first."""

    landed: "asyncio.Future[bytes | None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    moved: float | None = None

    def move(self) -> None:
        """Note that there is more of it."""
        self.moved = asyncio.get_running_loop().time()

    async def wait(self) -> bytes | None:
        """Return the answer, None where there is none to be given again, or none in time. Raises `Left`."""
        loop = asyncio.get_running_loop()
        while not self.landed.done():
            left = PATIENCE if self.moved is None else self.moved + PATIENCE - loop.time()
            if left <= 0:
                return None
            await asyncio.wait({self.landed}, timeout=left)
        if self.landed.cancelled():
            raise Left
        return self.landed.result()


class Flights:
    """All answers that this process is being given, by what was asked."""

    def __init__(self) -> None:
        self._flights: dict[bytes, Flight] = {}

    def find(self, key: bytes) -> Flight | None:
        """Return the answer on its way, if there is one."""
        return self._flights.get(key)

    def begin(self, key: bytes) -> Flight:
        """Say that this is being asked now."""
        flight = self._flights[key] = Flight()
        return flight

    def land(self, key: bytes, flight: Flight, answer: bytes | None) -> None:
        """Give those who wait the answer, or None where it is not to be given again: then each asks for himself."""
        self._end(key, flight)
        if not flight.landed.done():
            flight.landed.set_result(answer)

    def leave(self, key: bytes, flight: Flight) -> None:
        """Whoever asked is gone, or failed: the first of those who wait asks in his place."""
        self._end(key, flight)
        flight.landed.cancel()

    def _end(self, key: bytes, flight: Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
