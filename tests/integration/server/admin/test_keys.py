"""API keys in the console."""

import time
from dataclasses import replace
from typing import Any

import pytest

from antiphon.storage.operations import api_keys
from antiphon.storage.records.tenants import Role
from tests.store.making import new_key
from tests.support.keys import bearing, issued
from tests.support.server import Served
from tests.support.signed_in import Browser, console_of, signed_in

KEYS = "/admin/v1/keys"


@pytest.fixture
async def admin(stateful: Served) -> Browser:
    return await signed_in(stateful, Role.ADMIN, "operators")


async def works(browser: Browser, key: str) -> bool:
    """Whether requests with this key are served."""
    return (await Browser(browser.app, page={}).ask("GET", "/v1/models", **bearing(key))).status == 200


async def test_a_key_is_created_and_shown_once(stateful: Served, admin: Browser) -> None:
    asked = {
        "name": "build",
        "tenant": "acme",
        "role": "read",
        "models": ["a"],
        "requests_per_minute": 60,
        "tokens_per_minute": 7,
        "tokens_per_day": 2_000_000,
        "concurrency": 4,
        "budget_per_day": "12.5",
        "budget_per_month": 100,
        "cache": True,
        "expires_in": 3600,
    }
    made = (await admin.ask("POST", KEYS, asked)).json
    listed = (await admin.ask("GET", KEYS)).json["data"]
    kept = await stateful.parts.store.read(api_keys.every)

    expected = {**asked, "budget_per_day": "12.50", "budget_per_month": "100.00", "object": "api_key"}
    del expected["expires_in"]
    assert {name: made[name] for name in expected} == expected
    assert 0 < made["expires_at"] - time.time() <= 3600
    assert (made["status"], made["shown"][-4:]) == ("active", made["key"][-4:])
    assert listed[0] == {name: value for name, value in made.items() if name != "key"}
    assert [one.caches for one in kept if one.id == made["id"]] == [True]
    assert await works(admin, made["key"])


async def test_the_first_key_makes_keys_needed_at_once(stateful: Served) -> None:
    browser = Browser(console_of(stateful))
    made = (await browser.ask("POST", KEYS, {"role": "admin"})).json

    assert (await browser.ask("GET", KEYS)).status == 401
    assert (await browser.sign_in(key=made["key"])).status == 200
    assert [one["id"] for one in (await browser.ask("GET", KEYS)).json["data"]] == [made["id"]]


async def test_a_change_names_what_it_changes(admin: Browser) -> None:
    body = {"name": "a", "requests_per_minute": 5, "concurrency": 2, "budget_per_day": "1", "expires_in": 60}
    made = (await admin.ask("POST", KEYS, body)).json
    del made["key"]
    change: dict[str, Any] = {"role": "read", "requests_per_minute": None, "budget_per_month": "2", "expires_in": None}
    changed = await admin.ask("POST", f"{KEYS}/{made['id']}", {**change, "models": ["m"]})

    after = {"role": "read", "requests_per_minute": None, "budget_per_month": "2.00", "expires_at": None}
    assert (changed.status, changed.json) == (200, {**made, **after, "models": ["m"]})
    removed = await admin.ask("POST", f"{KEYS}/{made['id']}", {"budget_per_day": None, "budget_per_month": None})
    assert (removed.json["budget_per_day"], removed.json["budget_per_month"]) == (None, None)
    assert (await admin.ask("POST", f"{KEYS}/{made['id']}", {})).json == removed.json


async def test_a_key_is_replaced_and_the_old_one_ends_when_it_should(admin: Browser) -> None:
    made = (await admin.ask("POST", KEYS, {"name": "a"})).json
    second = (await admin.ask("POST", f"{KEYS}/{made['id']}/rotate", {"keep_old_for": 600})).json
    assert second["id"] == made["id"]
    assert 0 < second["old_key_until"] - time.time() <= 600
    assert [await works(admin, one["key"]) for one in (made, second)] == [True, True]
    third = (await admin.ask("POST", f"{KEYS}/{made['id']}/rotate")).json
    assert third["old_key_until"] is None
    assert [await works(admin, one["key"]) for one in (made, second, third)] == [False, False, True]


async def test_a_key_is_revoked_for_good(admin: Browser) -> None:
    made = (await admin.ask("POST", KEYS, {})).json
    path = f"{KEYS}/{made['id']}"
    ended = await admin.ask("DELETE", path)

    assert (ended.status, ended.json["status"]) == (200, "revoked")
    assert not await works(admin, made["key"])
    assert (await admin.ask("DELETE", path)).json == ended.json
    for again, body in ((path, {"role": "admin"}), (f"{path}/rotate", {})):
        refused = await admin.ask("POST", again, body)
        assert (refused.status, "revoked" in refused.json["error"]["message"]) == (400, True)


async def test_a_key_that_expired_is_not_replaced_until_it_has_time_again(stateful: Served, admin: Browser) -> None:
    _, kept = await issued(stateful.parts.store)
    await stateful.parts.store.write(api_keys.put, replace(kept, expires_at=1))
    path = f"{KEYS}/{kept.id}"

    assert [one["status"] for one in (await admin.ask("GET", KEYS)).json["data"] if one["id"] == kept.id] == ["expired"]
    assert (await admin.ask("POST", f"{path}/rotate")).status == 400
    assert (await admin.ask("POST", path, {"expires_in": 600})).json["status"] == "active"
    assert (await admin.ask("POST", f"{path}/rotate")).status == 200


async def test_what_an_administrator_changes_counts_at_once(stateful: Served, admin: Browser) -> None:
    shown, kept = await issued(stateful.parts.store, role=Role.READ)
    reader = Browser(admin.app)
    await reader.sign_in(key=shown)
    assert (await reader.ask("GET", KEYS)).status == 200
    await admin.ask("POST", f"{KEYS}/{kept.id}", {"role": "use"})
    assert (await reader.ask("GET", KEYS)).status == 403
    await admin.ask("DELETE", f"{KEYS}/{kept.id}")
    assert (await reader.ask("GET", KEYS)).status == 401


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"tenant": ""}, "tenant"),
        ({"tenant": " a"}, "tenant"),
        ({"role": "root"}, "role"),
        ({"name": "a\nb"}, "name"),
        ({"requests_per_minute": 0}, "requests_per_minute"),
        ({"budget_per_day": "cheap"}, "budget_per_day"),
        ({"budget_per_day": "0"}, "budget_per_day"),
        ({"budget_per_month": "1000000001"}, "budget_per_month"),
        ({"expires_in": 1}, "expires_in"),
        ({"key": "sk-mine"}, "key"),
    ],
)
async def test_a_wrong_value_is_refused_by_name(admin: Browser, body: dict[str, Any], param: str) -> None:
    answered = await admin.ask("POST", KEYS, body)

    assert (answered.status, answered.json["error"]["param"]) == (400, param)


async def test_a_budget_of_nothing_is_refused_with_the_range(admin: Browser) -> None:
    answered = await admin.ask("POST", KEYS, {"budget_per_day": "0"})

    text = "Invalid 'budget_per_day': expected an amount above 0 and at most 1,000,000,000."
    assert (answered.status, answered.json["error"]["message"]) == (400, text)


async def test_an_unknown_key_is_not_found(admin: Browser) -> None:
    for method, path in (("POST", "key_none"), ("DELETE", "key_none"), ("POST", "key_none/rotate")):
        assert (await admin.ask(method, f"{KEYS}/{path}", {} if method == "POST" else None)).status == 404


async def test_a_reader_sees_its_tenants_keys_and_changes_none(stateful: Served) -> None:
    reader, other = await signed_in(stateful), await issued(stateful.parts.store, "other")
    mine = (await reader.ask("GET", KEYS)).json["data"]

    assert [one["tenant"] for one in mine] == ["acme"]
    for method, path, body in (
        ("POST", KEYS, {}),
        ("POST", f"{KEYS}/{mine[0]['id']}", {"role": "admin"}),
        ("DELETE", f"{KEYS}/{other[1].id}", None),
        ("POST", f"{KEYS}/{mine[0]['id']}/rotate", {}),
    ):
        refused = await reader.ask(method, path, body)
        assert (refused.status, refused.code) == (403, "not_allowed")
        assert "--role admin" in refused.json["error"]["message"]
    assert len(await stateful.parts.store.read(api_keys.every)) == 2


async def test_the_newest_key_is_listed_first_even_of_those_created_in_the_same_second(
    stateful: Served, admin: Browser
) -> None:
    for key_id, created_at in (("key_2", 2000), ("key_3", 2000), ("key_1", 3000)):
        await stateful.parts.store.write(api_keys.put, new_key("acme", id=key_id, created_at=created_at))

    listed = (await admin.ask("GET", f"{KEYS}?tenant=acme")).json["data"]
    assert [one["id"] for one in listed] == ["key_1", "key_3", "key_2"]


async def test_an_administrator_chooses_a_tenant(stateful: Served, admin: Browser) -> None:
    await issued(stateful.parts.store, "other")

    for query, tenants in (("", {"operators", "other"}), ("?tenant=other", {"other"}), ("?tenant=none", set())):
        assert {one["tenant"] for one in (await admin.ask("GET", KEYS + query)).json["data"]} == tenants
