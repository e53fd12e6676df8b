"""`antiphon keys update`, `usage`, `budgets` and `set-budget`, on both stores."""

import json
import time
from pathlib import Path

import pytest

from antiphon.storage.open import open_store
from antiphon.storage.operations import api_keys
from antiphon.storage.records.money import Budget, day_of
from antiphon.storage.records.tenants import KeyLimits, UsageRecord
from tests.integration.cli.test_keys import created, found
from tests.support.cli import antiphon

DAY = 86_400


async def test_an_update_changes_what_it_names_and_keeps_the_rest(
    tmp_path: Path, store_url: str
) -> None:
    limits = (
        "--model",
        "a",
        "--requests-per-minute",
        "60",
        "--tokens-per-day",
        "10",
        "--budget-per-day",
        "1.50",
    )
    key, key_id = await created(
        tmp_path, store_url, "--name", "build", *limits, "--expires-in", "3"
    )
    update = ("keys", "update", key_id, "--store", store_url)
    changed = await antiphon(
        tmp_path,
        *update,
        "--name",
        "deploy",
        "--tokens-per-day",
        "20",
        "--budget-per-month",
        "30",
        "--role",
        "admin",
        "--cache",
    )
    first = await found(store_url, key)
    unset = (
        "--unset",
        "model",
        "--unset",
        "budget-per-day",
        "--unset",
        "expiry",
        "--unset",
        "requests-per-minute",
    )
    assert (await antiphon(tmp_path, *update, *unset, "--role", "use", "--no-cache")).code == 0
    second = await found(store_url, key)

    assert changed.code == 0, changed.err
    for words in (
        "deploy",
        "60 requests/min",
        "20 tokens/day",
        "1.50 USD/day",
        "30.00 USD/month",
        "cache",
        "admin",
    ):
        assert words in changed.out
    assert first is not None
    assert second is not None
    budget = Budget(1_500_000_000, 30_000_000_000)
    assert (first.name, first.limits) == ("deploy", KeyLimits(("a",), 60, None, 20, None, budget))
    assert first.expires_at is not None
    assert (first.role, first.caches) == ("admin", True)
    assert (second.name, second.limits) == (
        "deploy",
        KeyLimits((), None, None, 20, None, Budget(None, 30_000_000_000)),
    )
    assert (second.expires_at, second.role, second.caches) == (None, "use", False)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "Nothing to change"),
        (("--unset", "expiry", "--expires-in", "3"), "contradict each other"),
        (("--budget-per-day", "0"), "must be above 0"),
        (("--budget-per-day", "cheap"), "not a number"),
        (("--budget-per-day", "0.0000000001"), "nine digits"),
        (("--budget-per-day", "1000000001"), "at most 1,000,000,000"),
    ],
)
async def test_an_update_that_makes_no_sense_changes_nothing(
    tmp_path: Path, flags: tuple[str, ...], words: str
) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    key, key_id = await created(tmp_path, url)
    before = await found(url, key)
    done = await antiphon(tmp_path, "keys", "update", key_id, "--store", url, *flags)

    assert (done.code, await found(url, key)) == (2, before)
    assert words in done.err


async def test_a_key_that_is_revoked_or_unknown_is_not_changed(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    _, key_id = await created(tmp_path, url)
    assert (await antiphon(tmp_path, "keys", "revoke", key_id, "--store", url)).code == 0

    for owner in (key_id, "key_none"):
        done = await antiphon(tmp_path, "keys", "update", owner, "--name", "x", "--store", url)
        assert done.code == 2
        assert owner in done.err


async def test_the_budget_of_a_tenant_is_set_listed_and_removed(
    tmp_path: Path, store_url: str
) -> None:
    key, _ = await created(tmp_path, store_url, "--tenant", "acme")
    where = ("--store", store_url)
    done = await antiphon(
        tmp_path, "keys", "set-budget", "acme", "--per-day", "5", "--per-month", "100.25", *where
    )
    listed = await antiphon(tmp_path, "keys", "budgets", *where)
    stored = await found(store_url, key)
    removed = await antiphon(tmp_path, "keys", "set-budget", "acme", "--none", *where)
    nothing = await antiphon(tmp_path, "keys", "set-budget", "acme", *where)
    left = await antiphon(tmp_path, "keys", "budgets", *where)

    assert (done.code, removed.code, nothing.code) == (0, 0, 2)
    assert "no API keys" not in done.out + done.err + removed.out + removed.err
    assert "100.25 USD/month" in listed.out
    assert "5.00 USD/day" in listed.out
    assert stored is not None
    assert stored.tenant_budget == Budget(5_000_000_000, 100_250_000_000)
    assert "No tenant has a budget" in left.out


async def test_a_budget_of_a_tenant_without_keys_is_set_with_a_note(
    tmp_path: Path, store_url: str
) -> None:
    done = await antiphon(
        tmp_path, "keys", "set-budget", "acmee", "--per-day", "5", "--store", store_url
    )

    assert done.code == 0
    assert "The tenant acmee can spend 5.00 USD/day." in done.out
    assert "This tenant has no API keys yet." in done.out


async def test_usage_is_grouped_as_requested(tmp_path: Path, store_url: str) -> None:
    today = day_of(time.time())
    _, one = await created(tmp_path, store_url, "--tenant", "acme", "--name", "[build]")
    _, other = await created(tmp_path, store_url, "--tenant", "umbrella")
    store = await open_store(store_url)
    await store.write(
        api_keys.charge,
        [
            UsageRecord("acme", one, today, 2, 100, 10, 0, "big", 40, 1_500_000_000),
            UsageRecord("acme", one, today - 3 * DAY, 1, 7, 1, 0, "small", 0, 1),
            UsageRecord("umbrella", other, today, 1, 5, 5, 0, "big", 0, 0),
        ],
    )
    await store.close()

    async def displayed(*flags: str) -> list[list[str]]:
        done = await antiphon(tmp_path, "keys", "usage", "--store", store_url, *flags)
        assert done.code == 0, done.err
        return [line.split() for line in done.out.splitlines()]

    by_model = await displayed("--by", "model")
    assert by_model[0] == ["model", "requests", "input", "cached", "output", "cost"]
    assert by_model[1:] == [
        ["big", "3", "105", "40", "15", "1.50", "USD"],
        ["small", "1", "7", "0", "1", "0.000000001", "USD"],
    ]
    assert [row[:3] for row in (await displayed())[1:]] == [
        ["acme", one, "[build]"],
        ["umbrella", other, "1"],
    ]
    assert len(await displayed("--by", "model,day", "--since", "2d")) == 2
    assert len(await displayed("--tenant", "acme", "--by", "day")) == 3
    output = await antiphon(
        tmp_path,
        "keys",
        "usage",
        "--json",
        "--by",
        "model",
        "--tenant",
        "acme",
        "--store",
        store_url,
    )
    rows = json.loads(output.out)
    assert [(row["model"], row["cost"]["value"]) for row in rows] == [
        ("big", "1.50"),
        ("small", "0.000000001"),
    ]


@pytest.mark.parametrize(
    ("flag", "value"), [("--by", "nonsense"), ("--since", "yesterday"), ("--since", "2026-13-01")]
)
async def test_usage_names_the_wrong_flag(tmp_path: Path, flag: str, value: str) -> None:
    done = await antiphon(
        tmp_path, "keys", "usage", flag, value, "--store", f"sqlite://{tmp_path}/a.db"
    )

    assert done.code == 2
    assert f"{flag}: '{value}'" in done.err


async def test_amounts_have_the_currency_of_the_settings(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    await created(tmp_path, url, "--budget-per-day", "3")
    listed = await antiphon(tmp_path, "keys", "list", "--store", url, ANTIPHON_CURRENCY="EUR")

    assert "3.00 EUR/day" in listed.out
