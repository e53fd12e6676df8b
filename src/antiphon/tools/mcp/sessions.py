"""The open sessions: shared by callers with the same server, the same credentials, and the same
tenant.
"""

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
from antiphon.tools.mcp.target import McpTarget

if TYPE_CHECKING:
    from antiphon.tools.mcp.session import McpSession, Way

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
    """Return the counter of a process's open sessions: a tenant at its share closes an idle one for
    the next.

    Nothing waits in it, since each call has had its turn before.
    """
    return FairScheduler(MOST_SESSIONS, leaves_room=True)


OPENINGS, SPAN = 8, 0.1
"""Sessions that begin to open within this many seconds."""


def opening_turns() -> FairScheduler:
    """Return the scheduler that spaces the openings of sessions.

    Opening one takes 5 ms of CPU in some fifty steps. If hundreds opened at once, each turn of the
    event loop would have a step of each of them, and other requests need several turns. The slot is
    released before the session is open: a server that does not answer does not delay others.
    """
    return FairScheduler(OPENINGS, leaves_room=True)


OPENING = 10.0
STARTING = 60.0
"""Seconds that a session can take to open, over HTTP and with a program, which may have to be
downloaded first.
"""

_NO_STREAMABLE = (400, 404, 405)
"""Statuses of a server that supports only the previous transport (MCP, "Transports", on backwards
compatibility).
"""

_NO_EVENTS = 405

Key = tuple[str, str]
"""The server and the tenant: `McpTarget.key` and the tenant."""


@dataclass(slots=True, eq=False)
class _OpenSession:
    opening: "asyncio.Task[McpSession]"
    users: int = 0
    going: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        """Whether its session is open, also if no further call can use it."""
        opening = self.opening
        return (
            opening.done()
            and not opening.cancelled()
            and not opening.exception()
            and opening.result().is_alive
        )

    @property
    def is_over(self) -> bool:
        """Whether it can no longer be used."""
        if not self.opening.done():
            return False
        return (
            self.opening.cancelled()
            or self.opening.exception() is not None
            or not self.opening.result().is_usable
        )


class McpSessions:
    """Opens sessions, shares them, and closes those that were unused for `idle` seconds.

    `on_change` is called with the server when its tools have changed. `silence`: see `McpSession`.
    `turns` counts the sessions of each tenant, `reading` shares the reading of lists, `openings`
    spaces the openings of sessions.
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
        """Those that wait for a turn to open a session, or have one that no session has used
        yet.
        """
        self._on_change = on_change
        self._silence = silence
        self._idle = idle
        self._retained: dict[Key, _OpenSession] = {}
        self._refused: set[_OpenSession] = set()
        """Sessions that the server refused, and that calls still use."""
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def acquire(self, target: McpTarget, tenant: str) -> AsyncIterator["McpSession"]:
        """Provide a session, a new one if none is alive. Raises `ServerError`."""
        key = (target.key, tenant)
        retained = self._retained.get(key)
        if retained is None or retained.is_over:
            retained = self._begin(key, target)
        retained.users += 1
        if retained.going is not None:
            retained.going.cancel()
        try:
            # A caller that stops waiting leaves it to the others.
            yield await asyncio.shield(retained.opening)
        finally:
            retained.users -= 1
            if not retained.users:
                loop = asyncio.get_running_loop()
                retained.going = loop.call_later(
                    0 if retained.is_over else self._idle, self._let_go, key, retained
                )

    def is_open(self, target: McpTarget, tenant: str) -> bool:
        """Whether there is a session that can be used."""
        retained = self._retained.get((target.key, tenant))
        return retained is not None and retained.opening.done() and not retained.is_over

    async def space(self, target: McpTarget, tenant: str) -> None:
        """Return once a session can begin to open, or one is opening already."""
        key = (target.key, tenant)
        retained = self._retained.get(key)
        if retained is not None and not retained.is_over:
            return
        if key not in self._spacing:
            self._spacing[key] = asyncio.create_task(self._space(key))
        await asyncio.shield(self._spacing[key])

    async def close(self) -> None:
        """Close every session, and wait until all have ended."""
        for spacing in self._spacing.values():
            spacing.cancel()
        self._spacing.clear()
        for key, retained in list(self._retained.items()):
            self._let_go(key, retained)
        for retained in list(self._refused):
            self._end(retained)
        while self._closing:
            await asyncio.wait(set(self._closing))

    async def _space(self, key: Key) -> None:
        """Take a turn. It is for the next session of this key: those that come before it begins
        take no other turn.
        """
        await self._openings.enter(key[1], is_patient=True)
        asyncio.get_running_loop().call_later(SPAN, self._end_turn, key, asyncio.current_task())

    def _end_turn(self, key: Key, spacing: "asyncio.Task[None] | None") -> None:
        self._openings.leave(key[1])
        if self._spacing.get(key) is spacing:  # no session has been opened
            del self._spacing[key]

    def _begin(self, key: Key, target: McpTarget) -> _OpenSession:
        if (former := self._retained.get(key)) is not None:
            self._replace(key, former)
        while not self._turns.take(key[1]):
            self._make_room(key[1])
        self._spacing.pop(key, None)
        opening = asyncio.create_task(self._open(key, target))
        opening.add_done_callback(retrieve)
        retained = self._retained[key] = _OpenSession(opening)
        return retained

    def _make_room(self, tenant: str) -> None:
        """Close an unused session: one of this tenant, else one of the tenant with the most
        sessions.

        Raises `ServerError` if this tenant uses all of its share.
        """
        idle = [key for key, retained in self._retained.items() if not retained.users]
        own = [key for key in idle if key[1] == tenant]
        if not own and (not idle or self._turns.free):  # free capacity is for other tenants
            raise ServerError(
                "Too many MCP servers are in use at once. Try again later.", may_repeat=True
            )
        count = Counter(holder for _, holder in self._retained)
        key = own[0] if own else max(idle, key=lambda key: count[key[1]])
        self._let_go(key, self._retained[key])

    def _replace(self, key: Key, retained: _OpenSession) -> None:
        """Stop sharing a session, and begin to close it.

        Its last caller closes one that is still in use.
        """
        if not (retained.users and retained.is_open):
            self._let_go(key, retained)
            return
        del self._retained[key]
        self._turns.leave(key[1])
        self._refused.add(retained)

    def _let_go(self, key: Key, retained: _OpenSession) -> None:
        """Stop sharing a session, and begin to close it."""
        if self._retained.get(key) is retained:
            del self._retained[key]
            self._turns.leave(key[1])
        self._end(retained)

    def _end(self, retained: _OpenSession) -> None:
        self._refused.discard(retained)
        if retained.going is not None:
            retained.going.cancel()
        closing = asyncio.create_task(_close(retained))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _open(self, key: Key, target: McpTarget) -> "McpSession":
        module = await loaded()
        target = replace(target, reach=target.reach.on_behalf(Asker(key[1])))

        async def opened(way: "Way") -> "McpSession":
            session: McpSession = module.McpSession(
                target, way, self._silence, lambda: self._on_change(key), self._reading
            )
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


async def _close(retained: _OpenSession) -> None:
    if not retained.opening.done():
        retained.opening.cancel()
        await asyncio.wait({retained.opening})
    if not retained.opening.cancelled() and retained.opening.exception() is None:
        await retained.opening.result().close()


async def loaded() -> Any:
    """Load the SDK. The load does not count towards a server's time limit, so callers load it
    before.
    """
    return await load("antiphon.tools.mcp.session")


def retrieve(task: "asyncio.Task[Any]") -> None:
    """Consume an exception that no caller may be waiting for any more."""
    if not task.cancelled():
        task.exception()
