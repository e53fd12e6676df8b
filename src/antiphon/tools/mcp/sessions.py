"""The open sessions: shared by callers with the same server, the same credentials, and the same tenant."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from antiphon.outbound.lookups import Asker
from antiphon.sharing.loading import load
from antiphon.sharing.scheduler import FairScheduler
from antiphon.tools.mcp.result import ServerError
from antiphon.tools.mcp.slices import reading_turns
from antiphon.tools.mcp.target import Target

if TYPE_CHECKING:
    from antiphon.tools.mcp.session import Session, Way

FIRST = 10.0
LONGEST = 60.0
"""Seconds of the first pause, which doubles each time, and of the longest."""

MOST_PAUSES = 1_000
"""Servers that are paused at once."""


class Pauses:
    """The servers that timed out, each by a key."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._pauses: dict[str, tuple[float, float]] = {}
        """Its length, and its end."""

    def has(self, key: str) -> bool:
        """Whether a server is paused now."""
        return key in self._pauses and self._clock() < self._pauses[key][1]

    def begin(self, key: str) -> None:
        """Pause a server that timed out; concurrent timeouts count as one."""
        if self.has(key):
            return
        last, _ = self._pauses.pop(key, (FIRST / 2, 0.0))
        length = min(2 * last, LONGEST)
        self._pauses[key] = (length, self._clock() + length)
        if len(self._pauses) > MOST_PAUSES:
            del self._pauses[next(iter(self._pauses))]

    def end(self, key: str) -> None:
        """End the pause of a server, since it answered."""
        self._pauses.pop(key, None)


IDLE = 60.0
"""Seconds that an unused session stays open."""

MOST_SESSIONS = 256
"""Sessions that are open at once."""


def session_turns() -> FairScheduler:
    """Return the counter of a process's open sessions: a tenant at its share closes an idle one for the next.

    Nothing waits in it, since each call has had its turn before.
    """
    return FairScheduler(MOST_SESSIONS, leaves_room=True)


OPENINGS, SPAN = 8, 0.1
"""Sessions that begin to open within this many seconds."""


def opening_turns() -> FairScheduler:
    """Return the scheduler that spaces the openings of sessions.

    Opening one takes 5 ms of CPU in some fifty steps. If hundreds opened at once, each turn of the event loop would
    have a step of each of them, and other requests need several turns. The slot is released before the session is open:
    a server that does not answer does not delay others.
    """
    return FairScheduler(OPENINGS, leaves_room=True)


OPENING = 10.0
STARTING = 60.0
"""Seconds that a session can take to open, over HTTP and with a program, which may have to be downloaded first."""

_NO_STREAMABLE = (400, 404, 405)
"""Statuses of a server that supports only the previous transport (MCP, "Transports", on backwards compatibility)."""

_NO_EVENTS = 405

Key = tuple[str, str]
"""The server and the tenant: `Target.key` and the tenant."""


@dataclass(slots=True, eq=False)
class _Held:
    opening: "asyncio.Task[Session]"
    users: int = 0
    going: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        """Whether its session is open, also if no further call can use it."""
        opening = self.opening
        return opening.done() and not opening.cancelled() and not opening.exception() and opening.result().is_alive

    @property
    def is_over(self) -> bool:
        """Whether it can no longer be used."""
        if not self.opening.done():
            return False
        return self.opening.cancelled() or self.opening.exception() is not None or not self.opening.result().is_usable


class Sessions:
    """Opens sessions, shares them, and closes those that were unused for `idle` seconds.

    `on_change` is called with the server when its tools have changed. `silence`: see `Session`. `turns` counts the
    sessions of each tenant, `reading` shares the reading of lists, `openings` spaces the openings of sessions.
    """

    def __init__(
        self,
        on_change: Callable[[Key], None],
        silence: float,
        idle: float = IDLE,
        turns: FairScheduler | None = None,
        reading: FairScheduler | None = None,
        openings: FairScheduler | None = None,
    ) -> None:
        self._turns = turns or session_turns()
        self._reading = reading or reading_turns()
        self._openings = openings or opening_turns()
        self._spacing: dict[Key, asyncio.Task[None]] = {}
        """Those that wait for a turn to open a session, or have one that no session has used yet."""
        self._on_change = on_change
        self._silence = silence
        self._idle = idle
        self._held: dict[Key, _Held] = {}
        self._refused: set[_Held] = set()
        """Sessions that the server refused, and that calls still use."""
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def lend(self, target: Target, tenant: str) -> AsyncIterator["Session"]:
        """Provide a session, a new one if none is alive. Raises `ServerError`."""
        key = (target.key, tenant)
        held = self._held.get(key)
        if held is None or held.is_over:
            held = self._begin(key, target)
        held.users += 1
        if held.going is not None:
            held.going.cancel()
        try:
            # A caller that stops waiting leaves it to the others.
            yield await asyncio.shield(held.opening)
        finally:
            held.users -= 1
            if not held.users:
                loop = asyncio.get_running_loop()
                held.going = loop.call_later(0 if held.is_over else self._idle, self._let_go, key, held)

    def is_open(self, target: Target, tenant: str) -> bool:
        """Whether there is a session that can be used."""
        held = self._held.get((target.key, tenant))
        return held is not None and held.opening.done() and not held.is_over

    async def space(self, target: Target, tenant: str) -> None:
        """Return once a session can begin to open, or one is opening already."""
        key = (target.key, tenant)
        held = self._held.get(key)
        if held is not None and not held.is_over:
            return
        if key not in self._spacing:
            self._spacing[key] = asyncio.create_task(self._space(key))
        await asyncio.shield(self._spacing[key])

    async def close(self) -> None:
        """Close every session, and wait until all have ended."""
        for spacing in self._spacing.values():
            spacing.cancel()
        self._spacing.clear()
        for key, held in list(self._held.items()):
            self._let_go(key, held)
        for held in list(self._refused):
            self._end(held)
        while self._closing:
            await asyncio.wait(set(self._closing))

    async def _space(self, key: Key) -> None:
        """Take a turn. It is for the next session of this key: those that come before it begins take no other turn."""
        await self._openings.enter(key[1], is_patient=True)
        asyncio.get_running_loop().call_later(SPAN, self._end_turn, key, asyncio.current_task())

    def _end_turn(self, key: Key, spacing: "asyncio.Task[None] | None") -> None:
        self._openings.leave(key[1])
        if self._spacing.get(key) is spacing:  # no session has been opened
            del self._spacing[key]

    def _begin(self, key: Key, target: Target) -> _Held:
        if (former := self._held.get(key)) is not None:
            self._replace(key, former)
        while not self._turns.take(key[1]):
            self._make_room(key[1])
        self._spacing.pop(key, None)
        opening = asyncio.create_task(self._open(key, target))
        opening.add_done_callback(retrieve)
        held = self._held[key] = _Held(opening)
        return held

    def _make_room(self, tenant: str) -> None:
        """Close an unused session: one of this tenant, else one of the tenant with the most sessions.

        Raises `ServerError` if this tenant uses all of its share.
        """
        idle = [key for key, held in self._held.items() if not held.users]
        own = [key for key in idle if key[1] == tenant]
        if not own and (not idle or self._turns.free):  # free capacity is for other tenants
            raise ServerError("Too many MCP servers are in use at once. Try again later.", may_repeat=True)
        count = Counter(holder for _, holder in self._held)
        key = own[0] if own else max(idle, key=lambda key: count[key[1]])
        self._let_go(key, self._held[key])

    def _replace(self, key: Key, held: _Held) -> None:
        """Stop sharing a session, and begin to close it. Its last caller closes one that is still in use."""
        if not (held.users and held.is_open):
            self._let_go(key, held)
            return
        del self._held[key]
        self._turns.leave(key[1])
        self._refused.add(held)

    def _let_go(self, key: Key, held: _Held) -> None:
        """Stop sharing a session, and begin to close it."""
        if self._held.get(key) is held:
            del self._held[key]
            self._turns.leave(key[1])
        self._end(held)

    def _end(self, held: _Held) -> None:
        self._refused.discard(held)
        if held.going is not None:
            held.going.cancel()
        closing = asyncio.create_task(_close(held))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _open(self, key: Key, target: Target) -> "Session":
        module = await loaded()
        target = replace(target, reach=target.reach.on_behalf(Asker(key[1])))

        async def opened(way: "Way") -> "Session":
            session: Session = module.Session(target, way, self._silence, lambda: self._on_change(key), self._reading)
            await session.open(STARTING if way == "stdio" else OPENING)
            return session

        if target.transport != "auto":
            return await opened(target.transport)  # type: ignore[arg-type]
        try:
            return await opened("http")
        except ServerError as error:
            if error.code not in _NO_STREAMABLE or error.type != "http_error":
                raise
            try:
                return await opened("sse")
            except ServerError as last:
                # A server without events at this URL answers GET with 405.
                raise (error if last.code == _NO_EVENTS else last) from None


async def _close(held: _Held) -> None:
    if not held.opening.done():
        held.opening.cancel()
        await asyncio.wait({held.opening})
    if not held.opening.cancelled() and held.opening.exception() is None:
        await held.opening.result().close()


async def loaded() -> Any:
    """Load the SDK. The load does not count towards a server's time limit, so callers load it before."""
    return await load("antiphon.tools.mcp.session")


def retrieve(task: "asyncio.Task[Any]") -> None:
    """Consume an exception that no caller may be waiting for any more."""
    if not task.cancelled():
        task.exception()
