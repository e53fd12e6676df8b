"""The heartbeat's thread: it beats when the event loop is late, and only while something is held."""

import threading
import time
from collections.abc import Callable

import pytest

from antiphon.errors import StoreError
from antiphon.jobs import heartbeat as heartbeats
from antiphon.jobs.heartbeat import Heartbeat

PATIENCE = 30.0


class Pulse:
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
            raise StoreError("The store is unreachable.") if self.beats % 2 else RuntimeError("a bug")

    def close(self) -> None:
        self.is_closed = True


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeats, "LATE", 0.02)
    monkeypatch.setattr(heartbeats, "LOOK_EVERY", 0.005)


def test_a_thread_beats_while_something_is_held_and_the_loop_is_late() -> None:
    pulse, held = Pulse(failures=3), {"resp_1"}
    heart = Heartbeat(pulse, lambda: bool(held))
    heart.need()
    until(lambda: pulse.beats >= 6)
    held.clear()
    until(lambda: not heart._needed.is_set())
    count = pulse.beats
    held.add("resp_2")
    heart.need()
    until(lambda: pulse.beats > count)
    heart.close()

    assert pulse.is_closed
    assert threading.current_thread() not in pulse.threads
    assert len(pulse.threads) == 1


def test_it_is_silent_as_long_as_the_event_loop_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeats, "LATE", PATIENCE)
    pulse, looks = Pulse(), 0

    def is_needed() -> bool:
        nonlocal looks
        looks += 1
        return True

    heart = Heartbeat(pulse, is_needed)
    heart.need()
    heart.beaten()
    until(lambda: looks > 5)
    heart.close()
    assert pulse.beats == 0


def test_who_holds_nothing_has_no_thread() -> None:
    before = threading.active_count()
    heart = Heartbeat(Pulse(), lambda: False)
    assert threading.active_count() == before
    heart.close()


def test_the_thread_ends_when_it_is_closed_just_before_it_goes_to_sleep() -> None:
    """A thread that missed the end waited for ever, and with it the end of the server."""
    heart = Heartbeat(Pulse(), lambda: False)

    class Needed(threading.Event):
        """Is cleared just after `close` set it."""

        def clear(self) -> None:
            heart._ended.set()
            self.set()
            super().clear()

    heart._needed = Needed()
    heart.need()
    assert heart._thread is not None
    heart._thread.join(PATIENCE)
    assert not heart._thread.is_alive()
