"""Writes the facts of responses that are not stored themselves, and retries while
the store fails.
"""

import asyncio
from contextlib import suppress

from antiphon.errors import StoreError, log
from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.records.facts import Facts
from antiphon.storage.store import Store

SOON = 0.25
"""Seconds for which facts of responses that are not stored are collected before
they are written.
"""

TRY_AGAIN = 1.0
"""Seconds between two attempts to write them while the store fails."""

MOST_WAITING = 10_000
"""Facts that wait while the store fails; more are dropped."""

AT_ONCE = 500
"""Facts written in one step: after an outage many wait, and other processes write too."""

LAST_TRY = 5.0
"""Seconds that a shutdown waits for the last facts."""


class FactsWriter:
    """Stores the facts of responses that are not stored themselves, in batches."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[Facts] = []
        self._writing: asyncio.Task[None] | None = None
        self._dropped = 0
        """Facts that were dropped since the store failed."""

    def add(self, facts: Facts) -> None:
        """Write facts soon."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append(facts)
        else:
            if not self._dropped:
                log.warning(
                    "The facts of %d responses wait for the store: those of further responses are "
                    "dropped, and lists and figures lack them.",
                    MOST_WAITING,
                )
            self._dropped += 1
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def close(self) -> None:
        """Write the remaining facts, if the store accepts them soon."""
        writing = self._writing
        self._writing = None
        if writing is not None:
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
        if self._waiting:
            try:
                async with asyncio.timeout(LAST_TRY):
                    await self._store.write(stored_facts.put_new, self._waiting)
            except (StoreError, TimeoutError) as error:
                log.warning(
                    "The facts of %d responses are lost, because the store did not accept them "
                    "before the shutdown: %s",
                    len(self._waiting),
                    error or f"no answer in {LAST_TRY:.0f} seconds.",
                )

    async def _write(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(SOON)
                await self._write_all()
        finally:
            self._writing = None

    async def _write_all(self) -> None:
        """Write the waiting facts, and retry while the store fails.

        After a failure, fewer are written at once. Facts that fail alone move to the end of the
        queue. They are dropped if they fail alone again after others were written: the store
        rejects them, and the others must not wait.
        """
        count = AT_ONCE
        failed = set[str]()
        rejected = set[str]()
        was_logged = False
        while self._waiting:
            facts = self._waiting[:count]
            try:
                await asyncio.shield(
                    asyncio.ensure_future(self._store.write(stored_facts.put_new, facts))
                )
            except StoreError as error:
                if not was_logged:
                    log.warning("Cannot write facts about responses; retrying: %s", error)
                was_logged = True
                if len(facts) == 1:
                    self._put_back(failed, rejected)
                count = max(1, len(facts) // 2)
                await asyncio.sleep(TRY_AGAIN)
            else:
                del self._waiting[: len(facts)]
                if self._dropped:
                    log.warning("The facts of %d responses were dropped.", self._dropped)
                    self._dropped = 0
                rejected |= failed
                count = min(2 * count, AT_ONCE)

    def _put_back(self, failed: set[str], rejected: set[str]) -> None:
        """Move the facts that failed alone to the end of the queue, or drop those
        that the store rejects.
        """
        one = self._waiting.pop(0)
        if one.id in rejected:
            log.warning("The store rejects the facts about the response %s; dropping them.", one.id)
        else:
            failed.add(one.id)
            self._waiting.append(one)
