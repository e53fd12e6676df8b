"""Writes the facts of responses that are not saved themselves, however often the store fails."""

import asyncio
from contextlib import suppress

from antiphon.errors import StoreError, log
from antiphon.storage.contract import Facts, Store

SOON = 0.25
"""Seconds for which facts of responses that are not stored gather before they are written."""

TRY_AGAIN = 1.0
"""Seconds between two tries to write them, where the store fails."""

MOST_WAITING = 10_000
"""Facts that wait for a store that fails; more are dropped."""

AT_ONCE = 500
"""Facts that are written in one step: a store that was away finds many that wait, and others write too."""

LAST_TRY = 5.0
"""Seconds that the end of the process waits for the last facts."""


class FactsWriter:
    """Keeps the facts of responses that are not saved themselves, all that come together in one step."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[Facts] = []
        self._writing: asyncio.Task[None] | None = None

    def add(self, facts: Facts) -> None:
        """Have facts written soon."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append(facts)
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def close(self) -> None:
        """Write what is left, if the store takes it soon."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
        if self._waiting:
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout(LAST_TRY):
                    await self._store.put_facts(self._waiting)

    async def _write(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(SOON)
                await self._write_all()
        finally:
            self._writing = None

    async def _write_all(self) -> None:
        """Write what waits, however often the store fails.

        Where it fails, fewer are written at once. Facts that fail alone go to the end of the queue, and are dropped if
        they fail alone again after others were written: the store rejects them, and the others do not wait for them.
        """
        count, failed, rejected = AT_ONCE, set[str](), set[str]()
        was_told = False
        while self._waiting:
            facts = self._waiting[:count]
            try:
                await asyncio.shield(asyncio.ensure_future(self._store.put_facts(facts)))
            except StoreError as error:
                if not was_told:
                    log.warning("Facts about responses wait for the store: %s", error)
                was_told = True
                if len(facts) == 1:
                    self._put_back(failed, rejected)
                count = max(1, len(facts) // 2)
                await asyncio.sleep(TRY_AGAIN)
            else:
                del self._waiting[: len(facts)]
                rejected |= failed
                count = min(2 * count, AT_ONCE)

    def _put_back(self, failed: set[str], rejected: set[str]) -> None:
        """Put the facts that failed alone to the end of the queue, or drop those that the store rejects."""
        one = self._waiting.pop(0)
        if one.id in rejected:
            log.warning("The store rejects the facts about the response %s. They are dropped.", one.id)
        else:
            failed.add(one.id)
            self._waiting.append(one)
