"""`/admin/v1/views`: each caller saves, lists and deletes its own views, and sees no others."""

from typing import Any

import pytest

from antiphon.console import saved_views
from antiphon.storage.records.tenants import Role
from tests.support.server import RunningServer
from tests.support.signed_in import Browser, console_of, operator, signed_in

VIEWS = "/admin/v1/views"

FAILED = {"name": "Failures", "page": "responses", "query": "q=status%3Afailed"}


async def listed(browser: Browser) -> list[Any]:
    found = (await browser.send_request("GET", VIEWS)).json
    assert found["object"] == "list"
    return list(found["data"])


async def save(browser: Browser, **changes: str) -> Any:
    answered = await browser.send_request("POST", VIEWS, FAILED | changes)
    assert answered.status == 200, answered.body
    return answered.json


async def test_a_view_is_saved_replaced_and_deleted(stateful: RunningServer) -> None:
    reader = await signed_in(stateful)
    saved = await save(reader)
    assert saved == {"object": "saved_view", "id": saved["id"], **FAILED} | {
        "created_at": saved["created_at"]
    }
    changed = await save(reader, query="q=status%3Aincomplete")
    assert changed == saved | {"query": "q=status%3Aincomplete"}
    other = await save(reader, name="All", query="")

    assert await listed(reader) == [other, changed]
    deleted = await reader.send_request("DELETE", f"{VIEWS}/{saved['id']}")
    assert deleted.json == {"object": "saved_view", "id": saved["id"], "deleted": True}
    assert await listed(reader) == [other]


async def test_another_key_sees_and_deletes_no_view_of_this_one(stateful: RunningServer) -> None:
    owner = await signed_in(stateful)
    saved = await save(owner)
    for other in (
        await signed_in(stateful),
        await signed_in(stateful, Role.ADMIN),
        await operator(stateful),
    ):
        assert await listed(other) == []
        answered = await other.send_request("DELETE", f"{VIEWS}/{saved['id']}")
        assert (answered.status, answered.json["error"]["message"]) == (
            404,
            f"Saved view with id '{saved['id']}' not found.",
        )
    assert await listed(owner) == [saved]


async def test_the_operator_has_one_set_of_views_with_and_without_a_session(
    stateful: RunningServer,
) -> None:
    saved = await save(Browser(console_of(stateful)))  # no key exists: this machine needs none

    assert await listed(await operator(stateful)) == [saved]


async def test_a_revoked_key_leaves_no_view(stateful: RunningServer) -> None:
    admin = await signed_in(stateful, Role.ADMIN)
    reader = await signed_in(stateful)
    await save(reader)
    (mine,) = [
        one["id"]
        for one in (await admin.send_request("GET", "/admin/v1/keys")).json["data"]
        if one["role"] == "read"
    ]
    await admin.send_request("DELETE", f"/admin/v1/keys/{mine}")

    assert await stateful.parts.store.read(saved_views.saved_views.of_owner, mine) == []
    assert (await reader.send_request("GET", VIEWS)).status == 401


async def test_views_beyond_the_limit_are_rejected(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_views, "MOST", 1)
    reader = await signed_in(stateful)
    await save(reader)
    refused = await reader.send_request("POST", VIEWS, FAILED | {"name": "Other"})

    assert (refused.status, refused.code) == (400, "saved_views_limit_reached")
    assert (await save(reader, query="q=b"))["query"] == "q=b"


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"name": ""}, "name"),
        ({"name": "n" * 81}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"page": "keys"}, "page"),
        ({"query": "q" * 10_001}, "query"),
        ({"query": "q=\0"}, "query"),
        ({"owner": "key_other"}, "owner"),
    ],
)
async def test_an_invalid_view_is_rejected_with_its_field(
    change: dict[str, str], param: str, stateful: RunningServer
) -> None:
    reader = await signed_in(stateful)
    refused = await reader.send_request("POST", VIEWS, FAILED | change)

    assert (refused.status, refused.json["error"]["param"]) == (400, param)
    assert await listed(reader) == []
