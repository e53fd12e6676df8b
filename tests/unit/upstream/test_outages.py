"""Outages: how long a queue pauses, when a search may try, and that a success ends them."""

from antiphon.errors import BackendError, ClientError
from antiphon.upstream.outages import LONGEST, PROBE_EVERY, Outages, backoff
from tests.support.cases import each

UNAVAILABLE = BackendError("Backend 'gpu' is unreachable.")


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@each(("elapsed", "wait"), [(0, 1), (1, 1), (30, 15), (600, LONGEST), (86_400, LONGEST)])
def test_a_pause_is_half_of_the_outage(elapsed: float, wait: float) -> None:
    assert backoff(elapsed) == wait


def test_a_queue_pauses_until_the_next_attempt_is_due() -> None:
    clock = Clock()
    outages = Outages(clock)
    assert (outages.paused(), outages.left(), outages.lasts("e")) == ((), None, None)
    outages.failed("e", UNAVAILABLE)
    assert (outages.paused(), outages.left(), outages.lasts("e")) == (["e"], 1.0, 0.0)
    clock.now += 60
    assert (outages.paused(), outages.left(), outages.lasts("e")) == ([], None, 60.0)
    outages.failed("e", UNAVAILABLE)
    outages.failed("f", UNAVAILABLE, 700.0)
    assert (outages.paused(), outages.left()) == (["e", "f"], 30.0)
    outages.succeeded("e")
    assert (outages.paused(), outages.left(), outages.lasts("e")) == (["f"], 700.0, None)


def test_one_search_at_a_time_tries_a_model_that_does_not_answer() -> None:
    clock = Clock()
    outages = Outages(clock)
    assert outages.refusal("e") is None
    outages.failed("e", ClientError("Rate limit reached.", status=429), 600.0)
    refusal = outages.refusal("e")
    assert refusal is not None
    assert (refusal.status, refusal.headers, refusal.message) == (
        503,
        {"retry-after": "10"},
        "Rate limit reached.",
    )
    clock.now += PROBE_EVERY
    assert outages.refusal("e") is None, "none tries"
    assert outages.refusal("e") is not None, "two try at once"
    outages.succeeded("e")
    assert outages.refusal("e") is None
