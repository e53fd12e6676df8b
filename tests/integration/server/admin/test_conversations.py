"""Conversations in the console."""

import logging

import pytest

from antiphon.storage.records.tenants import Role
from tests.integration.server.admin.test_audit import lines
from tests.support.server import RunningServer
from tests.support.signed_in import Browser, signed_in

CONVERSATIONS = "/admin/v1/conversations"
MESSAGE = {"type": "message", "role": "user", "content": "Hi"}


async def created(browser: Browser, count: int) -> list[str]:
    """Create conversations; return their ids, newest first."""
    ids = [
        (
            await browser.send_request(
                "POST", "/v1/conversations", {"items": [MESSAGE], "metadata": {"a": "b"}}
            )
        ).json["id"]
        for _ in range(count)
    ]
    return sorted(ids, reverse=True)


async def test_conversations_are_listed_a_page_at_a_time(stateful: RunningServer) -> None:
    reader = await signed_in(stateful)
    ids = await created(reader, 3)
    first = (await reader.send_request("GET", f"{CONVERSATIONS}?limit=2")).json
    rest = (
        await reader.send_request("GET", f"{CONVERSATIONS}?limit=2&after={first['last_id']}")
    ).json

    assert [one["id"] for one in first["data"] + rest["data"]] == ids
    assert (first["has_more"], rest["has_more"]) == (True, False)
    displayed = first["data"][0]
    assert (
        displayed["object"],
        displayed["tenant"],
        displayed["items"],
        displayed["metadata"],
    ) == (
        *("conversation", "acme", 1),
        {"a": "b"},
    )


async def test_readers_see_their_tenant_and_administrators_all(
    stateful: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "antiphon.audit")
    mine = await signed_in(stateful, tenant="acme")
    theirs = await signed_in(stateful, tenant="other")
    admin = await signed_in(stateful, Role.ADMIN, tenant="acme")
    own = await created(mine, 1)
    foreign = await created(theirs, 1)

    async def ids(browser: Browser, query: str = "") -> set[str]:
        return {
            one["id"]
            for one in (await browser.send_request("GET", CONVERSATIONS + query)).json["data"]
        }

    assert (await ids(mine), await ids(theirs)) == ({*own}, {*foreign})
    assert (await mine.send_request("GET", f"{CONVERSATIONS}?tenant=other")).status == 403
    assert not any(line["event"] == "read" for line in lines(caplog))
    assert await ids(admin) == {*own, *foreign}
    assert await ids(admin, "?tenant=other") == {*foreign}
    read = [line for line in lines(caplog) if line["event"] == "read"]
    assert [(line["tenant"], line["what"]) for line in read] == [("other", "conversations")] * 2
