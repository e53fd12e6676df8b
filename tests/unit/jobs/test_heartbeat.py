"""The heartbeat's thread: it beats when the event loop is late, and only while something is
held.
"""

import threading
from types import SimpleNamespace

import pytest

from antiphon.errors import StoreError
from antiphon.jobs import heartbeat as heartbeats
from antiphon.jobs.heartbeat import HeartbeatThread
from tests.support.waiting import PATIENCE, until


class Connection:
    """Counts beats, and fails the first ones."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.beats = 0
        self.is_closed = False
        self.threads: set[threading.Thread] = set()

    def beat(self) -> None:
        self.threads.add(threading.current_thread())
        self.beats += 1
        if self.beats <= self.failures:
            raise (
                StoreError("The store is unreachable.") if self.beats % 2 else RuntimeError("a bug")
            )

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeats, "LATE_BEAT", 0.02)
    monkeypatch.setattr(heartbeats, "POLL_INTERVAL", 0.005)


async def test_a_thread_sends_heartbeats_while_something_is_locked_and_the_loop_is_late() -> None:
    connection = Connection(failures=3)
    retained = {"resp_1"}
    answers = [True]

    def is_needed() -> bool:
        answers.append(bool(retained))
        return answers[-1]

    heart = HeartbeatThread(connection, is_needed)
    heart.need()
    await until(lambda: connection.beats >= 6)
    retained.clear()
    await until(lambda: not answers[-1])  # from then on the thread waits for `need`
    count = connection.beats
    retained.add("resp_2")
    heart.need()
    await until(lambda: connection.beats > count)
    heart.close()

    assert connection.is_closed
    assert threading.current_thread() not in connection.threads
    assert len(connection.threads) == 1


async def test_it_is_silent_as_long_as_the_event_loop_beats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heartbeats, "LATE_BEAT", PATIENCE)
    connection = Connection()
    polls = 0

    def is_needed() -> bool:
        nonlocal polls
        polls += 1
        return True

    heart = HeartbeatThread(connection, is_needed)
    heart.need()
    heart.beaten()
    await until(lambda: polls > 5)
    heart.close()
    assert connection.beats == 0


def test_a_worker_without_locks_has_no_thread() -> None:
    before = threading.active_count()
    heart = HeartbeatThread(Connection(), lambda: False)
    assert threading.active_count() == before
    heart.close()


async def test_the_thread_ends_when_it_is_closed_just_before_it_goes_to_sleep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thread that missed the end waited for ever, and with it the end of the server."""
    sets = threading.Semaphore(0)

    class Needed(threading.Event):
        """Is cleared just after `close` set it."""

        def set(self) -> None:
            super().set()
            sets.release()

        def clear(self) -> None:
            closing.start()
            for _ in range(3):  # `need` set one event, `close` sets both
                sets.acquire(timeout=PATIENCE)
            super().clear()

    monkeypatch.setattr(
        heartbeats, "threading", SimpleNamespace(Event=Needed, Thread=threading.Thread)
    )
    connection = Connection()
    heart = HeartbeatThread(connection, lambda: False)
    closing = threading.Thread(target=heart.close, daemon=True)
    heart.need()
    await until(lambda: connection.is_closed)
    closing.join(PATIENCE)
    assert not closing.is_alive()
