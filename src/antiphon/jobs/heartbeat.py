"""Sends heartbeats while a worker's event loop is busy, from a thread and over
a separate connection.
"""

import threading
import time
from collections.abc import Callable

from antiphon.errors import StoreError, log, reportable
from antiphon.storage.store import HeartbeatConnection

LATE_BEAT = 2.5
"""Seconds without a beat of the event loop after which the thread beats:
well before the worker would expire.
"""

POLL_INTERVAL = 0.5
"""Seconds between two checks whether the event loop is late."""


class HeartbeatThread:
    """Sends heartbeats instead of a late event loop, while `is_needed()`.

    The event loop usually sends them and calls `beaten`, because another write in its next
    transaction is free. The thread starts with the first `need`, sleeps while the worker holds
    nothing, and ends with `close` or the process.
    """

    def __init__(self, connection: HeartbeatConnection, is_needed: Callable[[], bool]) -> None:
        self._connection = connection
        self._is_needed = is_needed
        self._last = 0.0
        self._needed, self._ended = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def need(self) -> None:
        """The worker holds leases from now on."""
        if self._needed.is_set():
            return
        self._last = time.monotonic()
        self._needed.set()
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="antiphon-heartbeat", daemon=True
            )
            self._thread.start()

    def beaten(self) -> None:
        """The event loop has beaten."""
        self._last = time.monotonic()

    def close(self) -> None:
        """End the thread. Blocks while a heartbeat is being written, for some seconds at most."""
        self._ended.set()
        self._needed.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while self._needed.wait() and not self._ended.wait(POLL_INTERVAL):
            self._needed.clear()
            if self._ended.is_set():  # `close` may have set `_needed` before it was cleared
                break
            if self._is_needed():  # checked after `clear`: a later `need` sets it again
                self._needed.set()
                self._beat_if_late()
        self._connection.close()

    def _beat_if_late(self) -> None:
        if time.monotonic() - self._last < LATE_BEAT:
            return
        try:
            self._connection.beat()
            self._last = time.monotonic()
        except StoreError as error:
            log.debug("Cannot write a heartbeat: %s", error)
        except Exception as error:
            reportable(error)  # logs it; the thread must continue
