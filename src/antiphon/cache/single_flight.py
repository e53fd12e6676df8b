"""Answers in progress: a request equal to one in progress waits for its answer."""

import asyncio
from dataclasses import dataclass, field

PATIENCE = 30.0
"""Seconds for which an answer in progress can stall: then the waiting requests continue on their
own.
"""


class Left(Exception):  # noqa: N818 - waiting requests can still receive the answer
    """The first request disconnected, or failed: one of the waiting requests takes over."""


@dataclass(slots=True)
class Flight:
    """One answer in progress. `moved` is when it last grew, None before the first event."""

    landed: "asyncio.Future[bytes | None]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    moved: float | None = None

    def move(self) -> None:
        """Record that the answer has grown."""
        self.moved = asyncio.get_running_loop().time()

    async def wait(self) -> bytes | None:
        """Return the answer, None if it must not be reused, or does not arrive in time.

        Raises `Left`.
        """
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
    """All answers in progress in this process, by request key."""

    def __init__(self) -> None:
        self._flights: dict[bytes, Flight] = {}

    def find(self, key: bytes) -> Flight | None:
        """Return the answer in progress, if there is one."""
        return self._flights.get(key)

    def begin(self, key: bytes) -> Flight:
        """Record that this request is sent to the model now."""
        flight = self._flights[key] = Flight()
        return flight

    def land(self, key: bytes, flight: Flight, answer: bytes | None) -> None:
        """Pass the answer to the waiting requests, or None if it must not be reused: then each
        calls the model itself.
        """
        self._end(key, flight)
        if not flight.landed.done():
            flight.landed.set_result(answer)

    def leave(self, key: bytes, flight: Flight) -> None:
        """The first request disconnected, or failed: the first of the waiting requests takes
        over.
        """
        self._end(key, flight)
        flight.landed.cancel()

    def _end(self, key: bytes, flight: Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
