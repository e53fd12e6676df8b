"""Usage of bounded size: the largest rows, and the sum of the others."""

import pytest

from antiphon.objects import usage
from antiphon.storage.open import open_store
from antiphon.storage.operations import api_keys
from antiphon.storage.records.money import DAY, day_of
from antiphon.storage.records.tenants import Role, UsageField, UsageRecord
from antiphon.storage.store import Store
from tests.support.keys import bearing, issued
from tests.support.server import RunningServer
from tests.support.signed_in import Browser, console_of

NOW = 1_790_000_000


async def settled() -> None:
    """All usage is written."""


@pytest.mark.parametrize("by", [["key"], ["key", "day"]])
async def test_the_largest_rows_and_the_rest_are_all_that_was_used(
    store_url: str, monkeypatch: pytest.MonkeyPatch, by: list[UsageField]
) -> None:
    monkeypatch.setattr(usage, "MOST_ROWS", 2)
    store: Store = await open_store(store_url)
    keys = [(await issued(store, "acme"))[1].id for _ in range(4)]
    await store.write(
        api_keys.charge,
        [UsageRecord("acme", key, NOW, place + 1, 3, 2, cost=5) for place, key in enumerate(keys)],
    )

    found = await usage.KeyUsage(store, settled, "USD", 0).find(
        "acme", day_of(NOW), day_of(NOW) + DAY, by
    )

    assert {row.key_id: row.requests for row in found.rows} == {keys[3]: 4, keys[2]: 3}
    rest = found.rest
    assert rest is not None and (rest.key_id, rest.day) == (None, None)
    assert (rest.requests, rest.input_tokens, rest.output_tokens, rest.cost) == (1 + 2, 6, 4, 10)
    await store.close()


async def test_the_reply_names_what_the_rows_omit(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, _ = await issued(stateful.parts.store, role=Role.ADMIN)
    browser = Browser(console_of(stateful), page={})
    for tenant in ("a", "b"):
        key, _ = await issued(stateful.parts.store, tenant)
        await browser.send_request(
            "POST", "/v1/responses", {"model": "m", "input": "Hi"}, **bearing(key)
        )
    path = "/v1/usage?tenant=*&group_by=tenant"
    whole = (await browser.send_request("GET", path, **bearing(admin))).json
    monkeypatch.setattr(usage, "MOST_ROWS", 1)
    cut = (await browser.send_request("GET", path, **bearing(admin))).json

    assert (len(whole["data"]), "rest" in whole) == (2, False)
    assert (len(cut["data"]), cut["rest"]["requests"], "tenant" in cut["rest"]) == (1, 1, False)
