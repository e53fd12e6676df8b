"""API keys in the console."""

import time
from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.storage.operations import api_keys
from antiphon.storage.records.tenants import Role
from tests.store.making import new_key
from tests.support.keys import bearing, issued
from tests.support.server import RunningServer
from tests.support.signed_in import Browser, console_of, signed_in

KEYS = "/admin/v1/keys"


@pytest.fixture
async def admin(stateful: RunningServer) -> Browser:
    return await signed_in(stateful, Role.ADMIN, "operators")


async def works(browser: Browser, key: str) -> bool:
    """Whether requests with this key are served."""
    return (
        await Browser(browser.app, page={}).send_request("GET", "/v1/models", **bearing(key))
    ).status == 200


async def test_a_key_is_created_and_displayed_once(stateful: RunningServer, admin: Browser) -> None:
    body = {
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
    created = (await admin.send_request("POST", KEYS, body)).json
    listed = (await admin.send_request("GET", KEYS)).json["data"]
    stored = await stateful.parts.store.read(api_keys.every)

    expected = {
        **body,
        "budget_per_day": "12.50",
        "budget_per_month": "100.00",
        "object": "api_key",
    }
    del expected["expires_in"]
    assert {name: created[name] for name in expected} == expected
    assert 0 < created["expires_at"] - time.time() <= 3600
    assert (created["status"], created["shown"][-4:]) == ("active", created["key"][-4:])
    assert listed[0] == {name: value for name, value in created.items() if name != "key"}
    assert [one.caches for one in stored if one.id == created["id"]] == [True]
    assert await works(admin, created["key"])


async def test_the_first_key_makes_keys_needed_at_once(stateful: RunningServer) -> None:
    browser = Browser(console_of(stateful))
    created = (await browser.send_request("POST", KEYS, {"role": "admin"})).json

    assert (await browser.send_request("GET", KEYS)).status == 401
    assert (await browser.sign_in(key=created["key"])).status == 200
    assert [one["id"] for one in (await browser.send_request("GET", KEYS)).json["data"]] == [
        created["id"]
    ]


async def test_a_change_names_what_it_changes(admin: Browser) -> None:
    body = {
        "name": "a",
        "requests_per_minute": 5,
        "concurrency": 2,
        "budget_per_day": "1",
        "expires_in": 60,
    }
    created = (await admin.send_request("POST", KEYS, body)).json
    del created["key"]
    change: dict[str, Any] = {
        "role": "read",
        "requests_per_minute": None,
        "budget_per_month": "2",
        "expires_in": None,
    }
    changed = await admin.send_request(
        "POST", f"{KEYS}/{created['id']}", {**change, "models": ["m"]}
    )

    after = {
        "role": "read",
        "requests_per_minute": None,
        "budget_per_month": "2.00",
        "expires_at": None,
    }
    assert (changed.status, changed.json) == (200, {**created, **after, "models": ["m"]})
    removed = await admin.send_request(
        "POST", f"{KEYS}/{created['id']}", {"budget_per_day": None, "budget_per_month": None}
    )
    assert (removed.json["budget_per_day"], removed.json["budget_per_month"]) == (None, None)
    assert (await admin.send_request("POST", f"{KEYS}/{created['id']}", {})).json == removed.json


async def test_a_key_is_replaced_and_the_old_one_ends_when_it_should(admin: Browser) -> None:
    created = (await admin.send_request("POST", KEYS, {"name": "a"})).json
    second = (
        await admin.send_request("POST", f"{KEYS}/{created['id']}/rotate", {"keep_old_for": 600})
    ).json
    assert second["id"] == created["id"]
    assert 0 < second["old_key_until"] - time.time() <= 600
    assert [await works(admin, one["key"]) for one in (created, second)] == [True, True]
    third = (await admin.send_request("POST", f"{KEYS}/{created['id']}/rotate")).json
    assert third["old_key_until"] is None
    assert [await works(admin, one["key"]) for one in (created, second, third)] == [
        False,
        False,
        True,
    ]


async def test_a_key_is_revoked_for_good(admin: Browser) -> None:
    created = (await admin.send_request("POST", KEYS, {})).json
    path = f"{KEYS}/{created['id']}"
    ended = await admin.send_request("DELETE", path)

    assert (ended.status, ended.json["status"]) == (200, "revoked")
    assert not await works(admin, created["key"])
    assert (await admin.send_request("DELETE", path)).json == ended.json
    for again, body in ((path, {"role": "admin"}), (f"{path}/rotate", {})):
        refused = await admin.send_request("POST", again, body)
        assert (refused.status, "revoked" in refused.json["error"]["message"]) == (400, True)


async def test_a_key_that_expired_is_not_replaced_until_it_has_time_again(
    stateful: RunningServer, admin: Browser
) -> None:
    _, stored_key = await issued(stateful.parts.store)
    await stateful.parts.store.write(api_keys.put, replace(stored_key, expires_at=1))
    path = f"{KEYS}/{stored_key.id}"

    assert [
        one["status"]
        for one in (await admin.send_request("GET", KEYS)).json["data"]
        if one["id"] == stored_key.id
    ] == ["expired"]
    assert (await admin.send_request("POST", f"{path}/rotate")).status == 400
    assert (await admin.send_request("POST", path, {"expires_in": 600})).json["status"] == "active"
    assert (await admin.send_request("POST", f"{path}/rotate")).status == 200


async def test_what_an_administrator_changes_counts_at_once(
    stateful: RunningServer, admin: Browser
) -> None:
    displayed, stored_key = await issued(stateful.parts.store, role=Role.READ)
    reader = Browser(admin.app)
    await reader.sign_in(key=displayed)
    assert (await reader.send_request("GET", KEYS)).status == 200
    await admin.send_request("POST", f"{KEYS}/{stored_key.id}", {"role": "use"})
    assert (await reader.send_request("GET", KEYS)).status == 403
    await admin.send_request("DELETE", f"{KEYS}/{stored_key.id}")
    assert (await reader.send_request("GET", KEYS)).status == 401


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
async def test_a_wrong_value_is_refused_by_name(
    admin: Browser, body: dict[str, Any], param: str
) -> None:
    answered = await admin.send_request("POST", KEYS, body)

    assert (answered.status, answered.json["error"]["param"]) == (400, param)


async def test_a_budget_of_nothing_is_refused_with_the_range(admin: Browser) -> None:
    answered = await admin.send_request("POST", KEYS, {"budget_per_day": "0"})

    text = "Invalid 'budget_per_day': expected an amount above 0 and at most 1,000,000,000."
    assert (answered.status, answered.json["error"]["message"]) == (400, text)


async def test_an_unknown_key_is_not_found(admin: Browser) -> None:
    for method, path in (("POST", "key_none"), ("DELETE", "key_none"), ("POST", "key_none/rotate")):
        assert (
            await admin.send_request(method, f"{KEYS}/{path}", {} if method == "POST" else None)
        ).status == 404


async def test_a_reader_sees_its_tenants_keys_and_changes_none(stateful: RunningServer) -> None:
    reader = await signed_in(stateful)
    other = await issued(stateful.parts.store, "other")
    mine = (await reader.send_request("GET", KEYS)).json["data"]

    assert [one["tenant"] for one in mine] == ["acme"]
    for method, path, body in (
        ("POST", KEYS, {}),
        ("POST", f"{KEYS}/{mine[0]['id']}", {"role": "admin"}),
        ("DELETE", f"{KEYS}/{other[1].id}", None),
        ("POST", f"{KEYS}/{mine[0]['id']}/rotate", {}),
    ):
        refused = await reader.send_request(method, path, body)
        assert (refused.status, refused.code) == (403, "not_allowed")
        assert "--role admin" in refused.json["error"]["message"]
    assert len(await stateful.parts.store.read(api_keys.every)) == 2


async def test_the_newest_key_is_listed_first_even_of_those_created_in_the_same_second(
    stateful: RunningServer, admin: Browser
) -> None:
    for key_id, created_at in (("key_2", 2000), ("key_3", 2000), ("key_1", 3000)):
        await stateful.parts.store.write(
            api_keys.put, new_key("acme", id=key_id, created_at=created_at)
        )

    listed = (await admin.send_request("GET", f"{KEYS}?tenant=acme")).json["data"]
    assert [one["id"] for one in listed] == ["key_1", "key_3", "key_2"]


async def test_an_administrator_chooses_a_tenant(stateful: RunningServer, admin: Browser) -> None:
    await issued(stateful.parts.store, "other")

    for query, tenants in (
        ("", {"operators", "other"}),
        ("?tenant=other", {"other"}),
        ("?tenant=none", set()),
    ):
        assert {
            one["tenant"] for one in (await admin.send_request("GET", KEYS + query)).json["data"]
        } == tenants
