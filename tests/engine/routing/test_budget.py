from antiphon.engine.routing.budget import Budget


def test_the_first_failures_may_all_be_retried() -> None:
    budget = Budget(reserve=3)

    assert [budget.spend() for _ in range(4)] == [True, True, True, False]


def test_under_a_full_outage_one_request_in_ten_is_retried() -> None:
    budget, retries = Budget(), 0
    for _ in range(10_000):
        budget.earn()
        retries += budget.spend()

    assert 1000 <= retries <= 1011


def test_quiet_times_save_up_no_storm() -> None:
    budget = Budget(reserve=10)
    for _ in range(10_000):
        budget.earn()

    assert sum(budget.spend() for _ in range(100)) == 10
