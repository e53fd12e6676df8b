"""DNS lookups of the names that clients send: in separate threads, shared fairly between tenants.

A name with a DNS server that never answers holds a thread until the system's resolver times out,
which callers cannot shorten. So each tenant can hold only a part of the threads, and waits in its
own queue for the rest.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from threading import Thread
from time import monotonic
from typing import Any

from antiphon.sharing.scheduler import FairScheduler, NoRoomError

AT_ONCE = 64
"""Concurrent lookups. They wait for other servers and need no CPU, so this only limits threads."""

WAITING = 1_000
"""Lookups that can wait for a thread."""

SECONDS = 10.0
"""Seconds that a lookup can take once it has a thread."""

RETAINED = 5.0
"""Seconds for which a tenant's lookup is reused: one operation can connect more than once."""

MAX_CACHED = 1_000

Find = Callable[[str], Sequence[str]]
"""Returns every address of a name; it blocks. Raises `OSError`, and `UnicodeError` for an invalid
name.
"""

Key = tuple[str, str]
"""Tenant and name."""


@dataclass(frozen=True, slots=True)
class Asker:
    """The tenant for which a name is resolved, and how to pause the time limit of its operation in
    the queue.
    """

    tenant: str = ""
    pause: Callable[[], AbstractContextManager[None]] = nullcontext


NO_CALLER = Asker()
"""No tenant, and no time limit."""


def lookup_turns() -> FairScheduler:
    """Return the scheduler of a process's lookups."""
    return FairScheduler(AT_ONCE, WAITING, leaves_room=True)


def find(name: str) -> Sequence[str]:
    """Return the addresses of a name by the system's resolver. See `Find`."""
    return [str(info[4][0]) for info in socket.getaddrinfo(name, None, 0, socket.SOCK_STREAM)]


@dataclass(slots=True)
class _Flight:
    """One lookup, shared by all operations of a tenant that need the same name."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0


class Lookups:
    """Resolves names; concurrent lookups of one name by one tenant are one lookup."""

    def __init__(
        self, turns: FairScheduler, find: Find = find, clock: Callable[[], float] = monotonic
    ) -> None:
        self._turns = turns
        self._find = find
        self._clock = clock
        self._flights: dict[Key, tuple[_Flight, asyncio.Task[list[str]]]] = {}
        self._saved: dict[Key, tuple[float, list[str]]] = {}

    async def __call__(self, name: str, asker: Asker) -> list[str]:
        """Return every address of a name.

        Raises `OSError` if it has none, or none was found in time.
        """
        key = (asker.tenant, name)
        until, stored = self._saved.get(key, (0.0, []))
        if self._clock() < until:
            return list(stored)
        flight, task = self._flights.get(key) or self._start(key)
        flight.waiting += 1
        try:
            if not flight.begun.is_set():
                with asker.pause():
                    await flight.begun.wait()
            return list(await asyncio.shield(task))
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.begun.is_set():
                self._forget(key, task)
                task.cancel()

    def _start(self, key: Key) -> tuple[_Flight, "asyncio.Task[list[str]]"]:
        flight = _Flight()
        task = asyncio.create_task(self._fly(key, flight))
        task.add_done_callback(lambda task: self._ended(key, task))
        self._flights[key] = flight, task
        return flight, task

    def _forget(self, key: Key, task: "asyncio.Task[list[str]]") -> None:
        if key in self._flights and self._flights[key][1] is task:
            del self._flights[key]

    def _ended(self, key: Key, task: "asyncio.Task[list[str]]") -> None:
        self._forget(key, task)
        if task.cancelled() or task.exception() is not None:
            return
        self._saved.pop(key, None)
        self._saved[key] = self._clock() + RETAINED, task.result()
        if len(self._saved) > MAX_CACHED:
            del self._saved[next(iter(self._saved))]

    async def _fly(self, key: Key, flight: _Flight) -> list[str]:
        tenant, name = key
        try:
            await self._turns.enter(tenant)
        except NoRoomError as error:
            raise OSError("too many names are being looked up at once; try again later") from error
        finally:
            flight.begun.set()
        try:
            async with asyncio.timeout(SECONDS):
                found = await self._in_thread(tenant, name)
        except TimeoutError as error:
            raise OSError(f"its name was not resolved within {SECONDS:g} seconds") from error
        except UnicodeError as error:
            raise OSError("it is not a valid host name") from error
        return list(dict.fromkeys(found))

    def _in_thread(self, tenant: str, name: str) -> "asyncio.Future[Sequence[str]]":
        """Resolve in a thread, which holds its slot until it ends, even if no caller waits for it
        any more.
        """
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Sequence[str]] = loop.create_future()
        begun = self._clock()

        def done(found: Sequence[str], error: Exception | None) -> None:
            self._turns.leave(tenant, self._clock() - begun)
            if result.done():
                return
            if error is None:
                result.set_result(found)
            else:
                result.set_exception(error)

        def work() -> None:
            outcome: tuple[Sequence[str], Exception | None]
            try:
                outcome = self._find(name), None
            except Exception as error:
                outcome = (), error
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(done, *outcome)

        # A daemon thread, because a server that stops must not wait for external DNS servers.
        _start_thread(work, name, lambda error: done((), error))
        return result


def _start_thread(work: Callable[[], None], name: str, failed: Callable[[Exception], Any]) -> None:
    try:
        Thread(target=work, name=f"lookup {name[:50]}", daemon=True).start()
    except RuntimeError as error:
        failed(OSError(f"no thread can be started: {error}"))
