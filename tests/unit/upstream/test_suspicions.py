"""What a backend refused is found by halves, within limits, and for each tenant alone."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.upstream.suspicions import (
    HOUR,
    MOST_ATTEMPTS,
    MOST_OF_TENANT,
    MOST_SUSPECTS,
    Suspicions,
    Trial,
)

ALL = frozenset({"temperature", "top_p", "user", "tools.plain:1", "messages.text"})


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Client:
    """Sends requests with these suspects to a backend that refuses some of them."""

    def __init__(self, suspicions: Suspicions, guilty: Iterable[str], tenant: str = "a") -> None:
        self.suspicions, self.guilty, self.tenant = suspicions, frozenset(guilty), tenant
        self.sent = 0
        self.lessons: frozenset[str] = frozenset()

    def send_request(self, found: Iterable[str] = ALL) -> str | None:
        """Return the lesson that a request teaches; raises `PermissionError` if it is not
        answered.
        """
        contained = frozenset(found) - self.lessons
        trial = self.suspicions.trial(self.tenant, contained)
        sent = contained - (trial.applied if trial else frozenset())
        self.sent += 1
        if not sent & self.guilty:
            if trial is not None:
                self.suspicions.accepted(trial)
            return None
        return self.retry(trial, sent)

    def retry(self, trial: Trial | None, sent: frozenset[str]) -> str | None:
        if trial is not None and trial.tested:
            self.suspicions.attempt(self.tenant, trial.left)
        elif not (
            self.suspicions.is_proven(self.tenant, sent)
            or self.suspicions.attempt(self.tenant, sent)
        ):
            raise PermissionError
        self.sent += 1
        lesson = self.suspicions.explained(self.tenant, trial, sent)
        if lesson:
            self.lessons |= {lesson}
        return lesson


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize("guilty", sorted(ALL))
def test_the_refused_suspect_becomes_a_lesson_after_a_few_requests(
    clock: Clock, guilty: str
) -> None:
    client = Client(Suspicions(clock), {guilty})

    learned = [client.send_request() for _ in range(10)]

    assert [one for one in learned if one] == [guilty]
    assert client.sent <= 10 + 4  # each test costs at most one more request
    before = client.sent
    client.send_request()
    assert client.sent == before + 1


@given(
    guilty=st.sets(st.sampled_from(sorted(ALL))),
    requested=st.lists(st.sets(st.sampled_from(sorted(ALL)), min_size=1), max_size=12),
)
def test_all_that_a_backend_refuses_is_found_and_nothing_else(
    guilty: set[str], requested: list[set[str]]
) -> None:
    clock = Clock()
    client = Client(Suspicions(clock), guilty)

    for found in [*requested, *[ALL] * 14]:
        client.send_request(found)
        clock.now += HOUR / 4

    assert client.lessons == guilty


def test_a_suspicion_ends_if_the_backend_does_not_refuse_again(clock: Clock) -> None:
    suspicions = Suspicions(clock)
    client = Client(suspicions, {"user"})
    client.send_request()
    client.guilty = frozenset()

    for _ in range(8):
        client.send_request()

    assert not client.lessons
    assert suspicions.trial("a", ALL) is None


def test_requests_without_a_suspect_are_sent_as_they_are(clock: Clock) -> None:
    suspicions = Suspicions(clock)
    Client(suspicions, {"user"}).send_request({"user", "top_p"})

    assert suspicions.trial("a", frozenset({"temperature"})) is None
    assert suspicions.trial("a", frozenset()) is None


def test_the_suspicion_of_a_tenant_changes_no_request_of_another(clock: Clock) -> None:
    suspicions = Suspicions(clock)
    Client(suspicions, {"user"}).send_request()

    assert suspicions.trial("b", ALL) is None


def test_a_backend_that_refuses_everything_costs_three_attempts_an_hour(clock: Clock) -> None:
    suspicions = Suspicions(clock)

    assert [suspicions.attempt("a", ALL) for _ in range(5)] == [True] * MOST_ATTEMPTS + [False] * 2
    assert suspicions.attempt("b", ALL)
    clock.now += HOUR + 1
    assert suspicions.attempt("a", ALL)


def test_concurrent_requests_are_all_retried_when_one_has_found_the_remedy(clock: Clock) -> None:
    suspicions = Suspicions(clock)
    Client(suspicions, {"user"}).send_request()

    assert suspicions.is_proven("a", ALL)
    assert not suspicions.is_proven("a", frozenset({"other", "user"}))
    assert not suspicions.is_proven("b", ALL)


def test_attempts_beyond_the_limit_do_not_count(clock: Clock) -> None:
    suspicions = Suspicions(clock)
    for _ in range(100):
        suspicions.attempt("a", ALL)

    assert suspicions.attempt("a", frozenset({"user"}))


def test_ever_new_suspects_of_a_tenant_are_limited_together(clock: Clock) -> None:
    suspicions = Suspicions(clock)

    done = [
        suspicions.attempt("a", frozenset({f"tools.plain:{number}"}))
        for number in range(MOST_OF_TENANT + 5)
    ]

    assert done.count(True) == MOST_OF_TENANT


def test_beyond_the_limit_all_suspects_are_simplified_without_a_test(clock: Clock) -> None:
    suspicions = Suspicions(clock)
    client = Client(suspicions, {"user"})
    client.send_request({"user"})
    for _ in range(MOST_ATTEMPTS):
        suspicions.attempt("a", frozenset({"user"}))

    trial = suspicions.trial("a", frozenset({"user"}))

    assert trial is not None
    assert (trial.applied, trial.tested) == ({"user"}, frozenset())


def test_two_requests_at_once_narrow_a_suspicion_once(clock: Clock) -> None:
    suspicions = Suspicions(clock)
    Client(suspicions, {"user"}).send_request()
    first = suspicions.trial("a", ALL)
    second = suspicions.trial("a", ALL)
    assert first is not None
    assert second is not None

    suspicions.accepted(first)
    left = first.suspicion.left
    suspicions.explained("a", second, ALL)
    suspicions.accepted(second)

    assert first.suspicion.left == left == first.applied


def test_a_test_that_was_accepted_with_another_request_clears_only_what_that_contained(
    clock: Clock,
) -> None:
    suspicions = Suspicions(clock)
    Client(suspicions, {"user"}).send_request()
    client = Client(suspicions, {"user"})

    client.send_request({"temperature"})
    learned = [client.send_request() for _ in range(8)]

    assert "user" in learned


def test_a_known_lesson_ends_the_suspicion_that_it_explains(clock: Clock) -> None:
    suspicions = Suspicions(clock)
    Client(suspicions, {"user"}).send_request()

    suspicions.drop("user", "b")
    assert suspicions.trial("a", ALL) is not None
    suspicions.drop("user", "a")

    assert suspicions.trial("a", ALL) is None


def test_a_lesson_about_a_parameter_explains_the_refusal_of_its_values(clock: Clock) -> None:
    suspicions = Suspicions(clock)
    Client(suspicions, {"temperature=1.9"}).send_request({"temperature=1.9", "user"})

    assert suspicions.trial("a", frozenset({"temperature=0.5"})) is None
    suspicions.drop("temperature", None)

    assert suspicions.trial("a", frozenset({"temperature=1.9", "user"})) is None


def test_ever_new_suspects_that_are_accepted_do_not_pile_up(clock: Clock) -> None:
    suspicions = Suspicions(clock)
    Client(suspicions, {"user"}).send_request({"user"})
    for number in range(MOST_SUSPECTS * 2):
        trial = suspicions.trial("a", frozenset({"user", f"tools.plain:{number}"}))
        assert trial is not None
        suspicions.accepted(trial)

    trial = suspicions.trial("a", frozenset({"user"}))
    assert trial is not None
    assert len(trial.suspicion.known) == MOST_SUSPECTS


def test_the_number_of_tenants_with_suspicions_is_bounded(clock: Clock) -> None:
    suspicions = Suspicions(clock)
    for number in range(300):
        Client(suspicions, {"user"}, f"tenant-{number}").send_request()

    retained = [number for number in range(300) if suspicions.trial(f"tenant-{number}", ALL)]

    assert len(retained) == 200
    assert retained[-1] == 299


def test_a_suspicion_expires_after_a_day(clock: Clock) -> None:
    suspicions = Suspicions(clock)
    Client(suspicions, {"user"}).send_request()

    clock.now += 25 * HOUR

    assert suspicions.trial("a", ALL) is None
