"""The histories that clients have sent last, in memory for the next turn: bounded in bytes, and in
time.
"""

import asyncio
from collections.abc import Callable
from time import monotonic

from antiphon.protocol.known_inputs import KnownInput
from antiphon.sharing.recent import Recent

MOST = 64 * 1024 * 1024
"""Bytes of all histories, of all tenants: about 10 of 1 MB."""

RETAINED = 600.0
"""Seconds after its last turn in which a history is kept."""

EVERY = 60.0
"""Seconds between two searches for older ones, while there are any."""


class RecentInputs:
    """The newest input of each conversation. See `protocol.known_inputs.InputMemory`."""

    def __init__(self, most: int = MOST, now: Callable[[], float] = monotonic) -> None:
        self._inputs: Recent[object, tuple[KnownInput, float]] = Recent(
            most, lambda entry: entry[0].weight
        )
        self._now = now
        self._timer: asyncio.TimerHandle | None = None

    @property
    def size(self) -> int:
        """Bytes of all histories."""
        return self._inputs.size

    def of(self, tenant: str) -> list[KnownInput]:
        """Return the histories of a tenant. Any thread can call this."""
        return [known for known, _ in self._inputs.values(tenant)]

    def put(self, tenant: str, known: KnownInput) -> None:
        """Keep a history, in place of the one that it continues."""
        self._inputs.put(tenant, known.key, (known, self._now()))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY, self._sweep)

    def _sweep(self) -> None:
        oldest = self._now() - RETAINED
        self._inputs.drop(lambda entry: entry[1] < oldest)
        self._timer = (
            asyncio.get_running_loop().call_later(EVERY, self._sweep) if self._inputs.size else None
        )
