"""How often an address may fail to sign in."""

from antiphon.access import sessions
from antiphon.access.sessions import FAILURES, FORGIVEN_EVERY, MOST_ADDRESSES, FailedAttempts


class Time:
    """A clock that the test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def failed(attempts: FailedAttempts, address: str, count: int) -> None:
    for _ in range(count):
        attempts.add(address)


def test_an_address_waits_after_many_failures_and_others_do_not() -> None:
    attempts = FailedAttempts(Time())
    failed(attempts, "a", FAILURES - 1)
    assert attempts.wait("a") <= 0
    attempts.add("a")
    assert attempts.wait("a") == FORGIVEN_EVERY
    assert attempts.wait("b") <= 0


def test_failures_are_forgiven_one_by_one() -> None:
    time = Time()
    attempts = FailedAttempts(time)
    failed(attempts, "a", FAILURES)
    time.now += FORGIVEN_EVERY
    assert attempts.wait("a") <= 0
    attempts.add("a")
    assert attempts.wait("a") == FORGIVEN_EVERY
    time.now += FORGIVEN_EVERY * FAILURES
    failed(attempts, "a", FAILURES - 1)
    assert attempts.wait("a") <= 0


def test_a_limited_number_of_addresses_is_remembered_and_the_worst_longest() -> None:
    attempts = FailedAttempts(Time())
    failed(attempts, "worst", FAILURES)
    for number in range(2 * MOST_ADDRESSES):
        attempts.add(str(number))

    assert attempts.wait("worst") > 0
    assert len(attempts) == MOST_ADDRESSES


def test_addresses_that_are_forgiven_make_room_first() -> None:
    time = Time()
    attempts = FailedAttempts(time)
    for number in range(sessions.MOST_ADDRESSES):
        attempts.add(str(number))
    time.now += FORGIVEN_EVERY + 1
    attempts.add("new")

    assert len(attempts) == 1
