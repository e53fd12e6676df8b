import pytest

from antiphon.errors import BackendError
from antiphon.upstream.health import ALL, MOST_FAILURES, PROBE_AFTER, PROBING, Health, Pause
from antiphon.upstream.retry_policy import LONGEST_PAUSE, QUOTA_WAIT, Failure

FAILED = Failure(500)
UNAVAILABLE = Failure(0)
ERROR = BackendError("It failed.")


def ejected(failure: Failure = FAILED, now: float = 0.0) -> Health:
    health = Health()
    for _ in range(MOST_FAILURES):
        health.failed(failure, ERROR, now)
    return health


def test_five_failures_in_a_row_take_a_backend_out_once() -> None:
    health = Health()

    assert [health.failed(FAILED, ERROR, 0.0) for _ in range(7)] == [False] * 4 + [True] + [
        False
    ] * 2
    assert health.is_ejected
    assert not health.is_up(1.0)
    assert health.ejections == 1


def test_a_success_between_failures_resets_the_count() -> None:
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
    health.requested(PROBE_AFTER)
    assert not health.is_up(PROBE_AFTER + 0.1)


def test_a_probe_that_succeeds_brings_it_back() -> None:
    health = ejected()
    health.requested(PROBE_AFTER)
    health.succeeded()

    assert health.is_up(PROBE_AFTER + 0.1)
    assert not health.is_ejected


def test_a_failed_or_abandoned_probe_is_followed_by_the_next_after_thirty_seconds() -> None:
    failed = ejected()
    abandoned = ejected()
    for health in (failed, abandoned):
        health.requested(PROBE_AFTER)
    failed.failed(FAILED, ERROR, PROBE_AFTER + 5)

    assert [
        failed.is_up(PROBE_AFTER + 5 + after) for after in (PROBE_AFTER - 0.1, PROBE_AFTER)
    ] == [False, True]
    assert [abandoned.is_up(PROBE_AFTER + after) for after in (PROBE_AFTER - 0.1, PROBE_AFTER)] == [
        False,
        True,
    ]
    assert failed.ejections == 1


def test_an_active_check_restores_a_recovered_backend_and_not_one_that_answers_with_errors() -> (
    None
):
    removed = ejected(UNAVAILABLE)
    failing = ejected()
    breaking = ejected(Failure(0, is_broken=True))
    for health in (removed, failing, breaking):
        health.seen()

    assert [health.is_up(0.0) for health in (removed, failing, breaking)] == [True, False, False]


def test_one_refused_key_is_enough_to_leave_a_backend_out_until_a_probe() -> None:
    health = Health()

    assert health.failed(Failure(401), ERROR, 0.0)
    assert [health.is_up(now) for now in (1.0, PROBE_AFTER)] == [False, True]
    assert not health.pauses


@pytest.mark.parametrize("failure", [FAILED, UNAVAILABLE, Failure(0, is_broken=True), Failure(401)])
def test_an_active_check_brings_back_a_backend_that_did_not_answer_the_check_before(
    failure: Failure,
) -> None:
    health = ejected(failure)
    health.missed()
    health.failed(Failure(503, wait=20), ERROR, 0.0)
    health.seen()

    assert health.is_up(0.0)
    assert not health.failures
    assert left(health, 1.0) == 0.0


def test_a_successful_check_does_not_affect_the_next_failure_or_a_rate_limit() -> None:
    health = Health()
    health.missed()
    health.seen()
    for _ in range(MOST_FAILURES):
        health.failed(FAILED, ERROR, 0.0)
    health.failed(Failure(429, wait=20), ERROR, 0.0, "m")
    health.seen()

    assert not health.is_up(1.0)
    assert left(health, 1.0) == 19.0


def left(health: Health, now: float, model: str = "m", tenant: str = "") -> float:
    pause = health.pause(now, model, tenant)
    return pause.left(now) if pause else 0.0


def limited(wait: float | None = 600.0, *tenants: str) -> Health:
    """A backend that rejected a request of each of these tenants, by default of the nameless one,
    at 0 s.
    """
    health = Health()
    for tenant in tenants or ("",):
        health.failed(Failure(429, wait=wait), ERROR, 0.0, "m", tenant)
    return health


def test_a_pause_has_its_length_and_reason_and_the_longest_one_applies() -> None:
    health = Health()
    limit = BackendError("Too many.")
    health.failed(Failure(429, wait=20), limit, 100.0, "m")
    health.failed(Failure(429, wait=5), limit, 101.0, "m")

    assert [left(health, now) for now in (101.0, 119.0, 121.0)] == [19.0, 1.0, 0.0]
    assert health.pauses["m"].error is limit
    assert health.failures == 0


def test_a_backend_rests_as_long_as_its_longest_pause() -> None:
    health = Health()
    assert health.rest(0.0) == 0.0
    for model, wait in (("m", 20.0), ("n", 10.0)):
        health.failed(Failure(429, "rate_limit_exceeded", wait), ERROR, 0.0, model)

    assert [health.rest(now) for now in (0.0, 15.0, 25.0)] == [20.0, 5.0, 0.0]


def test_without_a_wait_a_limit_of_rate_pauses_nothing() -> None:
    assert not limited(wait=None).pauses


def test_a_pause_lasts_as_long_as_requested_at_most_thirty_seconds_before_a_probe() -> None:
    health = limited(wait=600)
    assert [left(health, now) for now in (0.0, LONGEST_PAUSE - 1, LONGEST_PAUSE)] == [
        LONGEST_PAUSE,
        1.0,
        0.0,
    ]
    assert health.pauses["m"].requested == 600

    assert [left(limited(wait=7), now) for now in (6.0, 7.0)] == [1.0, 0.0]


def probed(health: Health, now: float, tenant: str = "") -> Pause:
    found = health.probe(now, "m", tenant)
    assert found is not None
    return found


def test_one_request_finds_out_whether_the_backend_accepts_again_and_the_others_wait() -> None:
    health = limited()
    found = probed(health, LONGEST_PAUSE)
    assert left(health, LONGEST_PAUSE + 1) == PROBING

    health.lift(found)
    assert left(health, LONGEST_PAUSE + 1) == 0.0
    assert not health.pauses


def test_a_rejected_probe_pauses_again_and_an_abandoned_one_is_followed_by_the_next() -> None:
    rejected = limited()
    abandoned = limited()
    for health in (rejected, abandoned):
        found = probed(health, LONGEST_PAUSE)
        if health is rejected:
            health.failed(Failure(429, wait=600), ERROR, LONGEST_PAUSE + 1, "m")
        health.give_up(found)

    assert [left(health, LONGEST_PAUSE + 2) for health in (rejected, abandoned)] == [
        LONGEST_PAUSE - 1,
        0.0,
    ]
    assert probed(abandoned, LONGEST_PAUSE + 2)


def test_a_probe_that_hangs_is_followed_by_another() -> None:
    health = limited()
    probed(health, LONGEST_PAUSE)

    assert [left(health, 2 * LONGEST_PAUSE + more) for more in (-0.1, 0.0)] == [PROBING, 0.0]


def test_a_wait_that_has_passed_needs_no_probe() -> None:
    health = limited(wait=7)
    assert health.probe(7.0, "m", "") is None
    assert not health.pauses

    health = limited(wait=600)
    assert health.probe(600.0, "m", "") is None


def test_what_one_tenant_causes_pauses_that_tenant_until_another_is_rejected_too() -> None:
    alone = limited(600.0, "a", "a")
    both = limited(600.0, "a", "b")

    assert [left(alone, 1.0, tenant=tenant) for tenant in "abc"] == [LONGEST_PAUSE - 1, 0.0, 0.0]
    assert [left(both, 1.0, tenant=tenant) for tenant in "abc"] == [LONGEST_PAUSE - 1] * 3


def test_a_tenant_cannot_prolong_the_pause_of_all_by_its_probe() -> None:
    health = limited(600.0, "a", "b")
    found = probed(health, LONGEST_PAUSE, "a")
    health.failed(Failure(429, wait=600), ERROR, LONGEST_PAUSE + 1, "m", "a")
    health.give_up(found)

    assert [left(health, LONGEST_PAUSE + 1, tenant=tenant) for tenant in "ab"] == [
        LONGEST_PAUSE,
        0.0,
    ]


def test_the_second_tenant_decides_how_long_all_are_paused() -> None:
    health = limited(600.0, "a")
    health.failed(Failure(429, wait=2), ERROR, 1.0, "m", "b")

    assert [left(health, now, tenant="b") for now in (1.0, 3.0)] == [2.0, 0.0]


def test_a_limit_of_rate_is_of_one_model_and_a_used_up_account_of_all() -> None:
    limit = Health()
    broke = Health()
    limit.failed(Failure(429, wait=20), ERROR, 0.0, "big")
    broke.failed(Failure(429, "insufficient_quota"), ERROR, 0.0, "big")

    assert [left(limit, 0.0, model) for model in ("big", "small")] == [20.0, 0.0]
    assert limit.rest(0.0) == 20.0
    assert left(broke, 0.0, "small") == LONGEST_PAUSE
    assert broke.pauses[ALL].requested == QUOTA_WAIT


def test_pauses_that_are_over_are_forgotten_however_many_models_there_were() -> None:
    health = Health()
    for number in range(1000):
        health.failed(Failure(429, wait=1), ERROR, 2.0 * number, f"m{number}")

    assert len(health.pauses) == 1


def test_errors_are_stored_without_client_data() -> None:
    health = Health()
    health.failed(
        Failure(429),
        BackendError("Slow down, you who said CANARY.", gist="It limits its rate."),
        7.0,
    )

    assert (health.last_error, health.last_error_at) == ("It limits its rate.", 7.0)
