"""API keys: what a request takes of the limits per minute and day, in microseconds and tokens."""

import pytest

from antiphon.storage.operations import api_keys
from antiphon.storage.operations.api_keys import MINUTE, NO_LIMIT
from antiphon.storage.operations.step import Query, QueryMany, ReadSize
from antiphon.storage.records.money import Budget, ExhaustedBudget, MoneyClaim
from antiphon.storage.records.tenants import BucketState, KeyLimits, UsageRecord
from tests.support.statements import statements_of

NOON = 1_700_049_600
TODAY = NOON - 43_200
MONTH = NOON - 43_200 - 14 * 86_400
AT = NOON * 1_000_000


@pytest.mark.parametrize(
    ("limits", "tokens", "requests_cost", "tokens_cost", "taken", "most"),
    [
        (KeyLimits(), 50, 0, 0, 50, NO_LIMIT),
        (KeyLimits(requests_per_minute=4), 50, MINUTE // 4, 0, 50, NO_LIMIT),
        (KeyLimits(tokens_per_minute=100), 50, 0, MINUTE // 2, 50, NO_LIMIT),
        (KeyLimits(tokens_per_minute=100), 900, 0, MINUTE, 100, NO_LIMIT),
        (KeyLimits(tokens_per_day=40), 50, 0, 0, 40, 40),
    ],
)
def test_a_request_takes_its_share_of_a_minute(
    limits: KeyLimits, tokens: int, requests_cost: int, tokens_cost: int, taken: int, most: int
) -> None:
    take = statements_of(api_keys.take("key_1", limits, tokens), NOON)

    assert next(take) == Query(
        "take_tokens", ("key_1", AT, requests_cost, tokens_cost, TODAY, taken, most)
    )
    with pytest.raises(StopIteration) as ended:
        take.send([(AT + 15_000_000, AT - 1, 70)])
    assert ended.value.value == BucketState(True, 15.0, 0.0, 70)


@pytest.mark.parametrize(
    ("rows", "state"),
    [
        ([(AT + 59_500_000, AT + 250_000, 7)], BucketState(False, 59.5, 0.25, 7)),
        ([], BucketState(False, 0.0, 0.0, 0)),
    ],
)
def test_a_rejected_request_reports_the_exhausted_limit(
    rows: list[tuple[int, int, int]], state: BucketState
) -> None:
    take = statements_of(api_keys.take("key_1", KeyLimits(requests_per_minute=1), 0), NOON)
    next(take)

    assert take.send([]) == Query("level", ("key_1", TODAY))
    with pytest.raises(StopIteration) as ended:
        take.send(rows)
    assert ended.value.value == state


CLAIM = MoneyClaim("acme", "key_1", 10, Budget(100, None), Budget(None, 200))
LOCK = Query("lock_budgets", ("acme", "key_1"))


def test_the_budgets_of_today_are_locked_once_and_taken_with_the_tokens() -> None:
    take = statements_of(api_keys.take("key_1", KeyLimits(), 0, CLAIM), NOON)

    assert next(take) == LOCK
    step = take.send([("", TODAY, 50, 140), ("key_1", TODAY, 90, 400)])
    assert isinstance(step, Query) and step.query == "take_tokens"
    assert take.send([(AT, AT, 0)]) == QueryMany(
        "spend_budget", [("acme", "", 10), ("acme", "key_1", 10)]
    )
    with pytest.raises(StopIteration) as ended:
        take.send([])
    assert ended.value.value.is_granted


def test_a_budget_of_an_earlier_day_is_opened_again() -> None:
    take = statements_of(api_keys.take("key_1", KeyLimits(), 0, CLAIM), NOON)
    next(take)

    step = take.send([("", TODAY, 0, 0), ("key_1", TODAY - 1, 0, 0)])
    assert step == QueryMany("open_budget", [("acme", "key_1", TODAY, MONTH)])
    assert take.send([]) == LOCK


@pytest.mark.parametrize(
    ("rows", "lacking"),
    [
        ([("", TODAY, 50, 140), ("key_1", TODAY, 91, 0)], ExhaustedBudget(False, "day", 100)),
        ([("", TODAY, 51, 140), ("key_1", TODAY, 90, 0)], ExhaustedBudget(True, "month", 200)),
    ],
)
def test_a_budget_without_room_takes_nothing(
    rows: list[tuple[str, int, int, int]], lacking: ExhaustedBudget
) -> None:
    take = statements_of(api_keys.take("key_1", KeyLimits(), 0, CLAIM), NOON)
    next(take)

    assert take.send(rows) == Query("level", ("key_1", TODAY))
    with pytest.raises(StopIteration) as ended:
        take.send([])
    assert (ended.value.value.is_granted, ended.value.value.exhausted) == (False, lacking)


def test_usage_is_recorded_by_its_day_and_settled_in_the_order_of_keys() -> None:
    uses = [
        UsageRecord("acme", key, NOON - ago, 1, 5, 6, 9, "m", 2, 70, True, 90)
        for key, ago in (("key_2", 0), ("key_1", 86_400), ("key_1", 0))
    ]
    charge = statements_of(api_keys.charge(uses), NOON)

    counts = (1, 5, 2, 6, 70)
    assert next(charge) == QueryMany(
        "add_use",
        [
            ("acme", TODAY - 86_400, "key_1", "m", *counts),
            ("acme", TODAY, "key_1", "m", *counts),
            ("acme", TODAY, "key_2", "m", *counts),
        ],
    )
    assert charge.send([]) == QueryMany(
        "settle_budget",
        [
            ("acme", "", TODAY - 86_400, 70, 90),
            ("acme", "", TODAY, 140, 180),
            ("acme", "key_1", TODAY - 86_400, 70, 90),
            ("acme", "key_1", TODAY, 70, 90),
            ("acme", "key_2", TODAY, 70, 90),
        ],
    )
    assert charge.send([]) == QueryMany(
        "settle",
        [("key_1", 2, AT, TODAY - 86_400), ("key_1", 2, AT, TODAY), ("key_2", 2, AT, TODAY)],
    )


@pytest.mark.parametrize(
    ("tenant", "most", "query", "values"),
    [
        (None, None, "usage_of_all", (1, 2, 0, 1, 0, 1, NO_LIMIT)),
        ("acme", 10, "usage", (1, 2, 0, 1, 0, 1, 10, "acme")),
    ],
)
def test_usage_is_summed_without_blocking_the_loop(
    tenant: str | None, most: int | None, query: str, values: tuple[object, ...]
) -> None:
    usage = api_keys.usage(tenant, 1, 2, ("key", "day"), most)
    step = next(usage)

    assert isinstance(step, ReadSize) and step.is_large
    assert next(usage) == Query(query, values)
