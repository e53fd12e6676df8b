from antiphon.errors import BackendError
from antiphon.upstream.health import MOST_FAILURES, PROBE_AFTER, Health
from antiphon.upstream.retry_policy import KEY_REST, QUOTA_REST, Failure

FAILED = Failure(500)
GONE = Failure(0)
ERROR = BackendError("It failed.")


def ejected(failure: Failure = FAILED, now: float = 0.0) -> Health:
    health = Health()
    for _ in range(MOST_FAILURES):
        health.failed(failure, ERROR, now)
    return health


def test_five_failures_in_a_row_take_a_backend_out_once() -> None:
    health = Health()

    assert [health.failed(FAILED, ERROR, 0.0) for _ in range(7)] == [False] * 4 + [True] + [False] * 2
    assert health.is_ejected
    assert not health.is_up(1.0)
    assert health.ejections == 1


def test_a_success_between_failures_begins_the_row_anew() -> None:
    health = Health()
    for _ in range(20):
        for _ in range(MOST_FAILURES - 1):
            health.failed(FAILED, ERROR, 0.0)
        health.succeeded()

    assert health.is_up(0.0)


def test_one_request_tries_it_after_thirty_seconds_and_only_one() -> None:
    health = ejected()

    assert not health.is_up(PROBE_AFTER - 0.1)
    assert health.is_up(PROBE_AFTER)
    health.asked(PROBE_AFTER)
    assert not health.is_up(PROBE_AFTER + 0.1)


def test_a_probe_that_succeeds_brings_it_back() -> None:
    health = ejected()
    health.asked(PROBE_AFTER)
    health.succeeded()

    assert health.is_up(PROBE_AFTER + 0.1)
    assert not health.is_ejected


def test_a_probe_that_fails_or_is_given_up_is_followed_by_the_next_thirty_seconds_later() -> None:
    failed, given_up = ejected(), ejected()
    for health in (failed, given_up):
        health.asked(PROBE_AFTER)
    failed.failed(FAILED, ERROR, PROBE_AFTER + 5)

    assert [failed.is_up(PROBE_AFTER + 5 + after) for after in (PROBE_AFTER - 0.1, PROBE_AFTER)] == [False, True]
    assert [given_up.is_up(PROBE_AFTER + after) for after in (PROBE_AFTER - 0.1, PROBE_AFTER)] == [False, True]
    assert failed.ejections == 1


def test_an_active_check_brings_back_who_was_gone_and_not_who_answers_with_errors() -> None:
    gone, failing, breaking = ejected(GONE), ejected(), ejected(Failure(0, is_broken=True))
    for health in (gone, failing, breaking):
        health.seen()

    assert [health.is_up(0.0) for health in (gone, failing, breaking)] == [True, False, False]


def test_a_rest_says_how_long_and_why_and_the_longest_one_holds() -> None:
    health, limit = Health(), BackendError("Too many.")
    health.failed(Failure(429, wait=20), limit, 100.0)
    health.failed(Failure(429, wait=5), limit, 101.0)

    assert [health.rest(now) for now in (101.0, 119.0, 121.0)] == [19.0, 1.0, 0.0]
    assert health.resting_for("m") is limit
    assert health.failures == 0


def test_a_limit_of_rate_is_one_models_and_a_used_up_account_or_a_refused_key_everybodys() -> None:
    limited, broke, locked = Health(), Health(), Health()
    limited.failed(Failure(429, wait=20), ERROR, 0.0, "big")
    broke.failed(Failure(429, "insufficient_quota"), ERROR, 0.0, "big")
    locked.failed(Failure(401), ERROR, 0.0, "big")

    assert [limited.rest(0.0, model) for model in ("big", "small", None)] == [20.0, 0.0, 20.0]
    assert [health.rest(0.0, "small") for health in (broke, locked)] == [QUOTA_REST, KEY_REST]


def test_rests_that_are_over_are_forgotten_however_many_models_there_were() -> None:
    health = Health()
    for number in range(1000):
        health.failed(Failure(429, wait=1), ERROR, 2.0 * number, f"m{number}")

    assert len(health.rests) == 1


def test_what_went_wrong_is_kept_without_what_anybody_said() -> None:
    health = Health()
    health.failed(Failure(429), BackendError("Slow down, you who said CANARY.", gist="It limits its rate."), 7.0)

    assert (health.last_error, health.last_error_at) == ("It limits its rate.", 7.0)
