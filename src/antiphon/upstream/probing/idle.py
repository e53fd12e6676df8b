"""Sends probes only while a backend is idle, so that they never delay a user's request.

A probe occupies a slot of the backend like any request, and releases it when another request
arrives: the probe's request is cancelled, which ends its generation, and is sent again later.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.probing.answers import ProbeAnswer

TENANT = "\0probe"
"""The tenant of probes in the fair scheduler; no client can have this name."""

POLL_INTERVAL = 0.05
"""Seconds between checks for another request."""

MOST_INTERRUPTIONS = 10
"""Interruptions after which one probing is abandoned."""

LONGEST_WAIT = 300.0
"""Total seconds that one probing waits for the backend before it is abandoned."""


class BackendBusyError(Exception):
    """The backend is too busy to be probed now."""


class WhenIdle:
    """Sends requests while a backend has nothing else to do.

    `pause` is the number of seconds between checks.
    """

    def __init__(self, state: BackendState, pause: float = 1.0) -> None:
        self._state = state
        self._pause = pause
        self._interruptions = 0
        self._waited = 0.0

    async def __call__(self, send: Callable[[], Awaitable[ProbeAnswer]]) -> ProbeAnswer:
        """Send as soon as the backend is idle.

        Raises `BackendBusyError` if it is busy too long or too often.
        """
        slots = self._state.slots
        while True:
            while not (self._is_idle() and slots.take(TENANT)):
                await self._wait()
            try:
                answer = await self._unless_busy(send)
            finally:
                slots.leave(TENANT)
            if answer is not None:
                return answer
            self._interruptions += 1
            if self._interruptions == MOST_INTERRUPTIONS:
                raise BackendBusyError

    async def _wait(self) -> None:
        if self._waited >= LONGEST_WAIT:
            raise BackendBusyError
        self._waited += self._pause
        await asyncio.sleep(self._pause)

    def _is_idle(self) -> bool:
        state = self._state
        return not (
            state.slots.in_use or state.slots.waiting or state.listing or state.health.is_ejected
        )

    async def _unless_busy(self, send: Callable[[], Awaitable[ProbeAnswer]]) -> ProbeAnswer | None:
        """Return the answer; None if another request arrived first."""
        slots = self._state.slots
        sending = asyncio.ensure_future(send())
        try:
            while not sending.done():
                await asyncio.wait({sending}, timeout=POLL_INTERVAL)
                if not sending.done() and (slots.in_use > 1 or slots.waiting):
                    return None
            return sending.result()
        finally:
            if not sending.done():
                sending.cancel()
                with suppress(asyncio.CancelledError):
                    await sending
