"""Conversations in the console."""

import logging
from dataclasses import replace
from typing import Any

import pytest

from antiphon.storage.records.tenants import Role
from antiphon.upstream.options import ModelOptions
from antiphon.upstream.prices import Prices
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


async def answered(browser: Browser, conversation: str, *texts: str) -> list[str]:
    """Create responses in a conversation; return their ids."""
    ids = []
    for text in texts:
        body = {"model": "m", "input": text, "conversation": conversation}
        ids.append((await browser.send_request("POST", "/v1/responses", body)).json["id"])
    return ids


async def row(browser: Browser) -> dict[str, Any]:
    """Return the newest conversation of the list."""
    found: dict[str, Any] = (await browser.send_request("GET", CONVERSATIONS)).json["data"][0]
    return found


async def test_a_list_has_first_words_model_and_cost(stateful: RunningServer) -> None:
    (backend,) = stateful.parts.models.backends
    priced = ModelOptions("*", prices=Prices(1, 1, 1))
    backend.options = replace(backend.options, configured=(priced,))
    reader = await signed_in(stateful)
    created = await reader.send_request("POST", "/v1/conversations", {})
    assert (await row(reader))["input"] is None
    ids = await answered(reader, created.json["id"], "What is planned?", "And then?")
    found = await row(reader)
    costs = [
        (await reader.send_request("GET", f"/admin/v1/responses/{one}")).json["summary"]["cost"]
        for one in ids
    ]
    assert (found["input"], found["model"], found["responses"]) == ("What is planned?", "m", 2)
    assert found["cost"] == pytest.approx(sum(costs)) and found["cost"] > 0
    assert found["is_partial"] is False


async def test_first_words_skip_messages_of_others_and_what_is_very_long(
    stateful: RunningServer,
) -> None:
    reader = await signed_in(stateful)
    system = MESSAGE | {"role": "system", "content": "Be brief."}
    long = MESSAGE | {"content": "x" * 100_000}
    short = MESSAGE | {"content": [{"type": "input_text", "text": "y" * 200}]}
    await reader.send_request("POST", "/v1/conversations", {"items": [system, long, short]})
    assert (await row(reader))["input"] == "y" * 160


async def test_each_item_has_its_response(stateful: RunningServer) -> None:
    reader = await signed_in(stateful)
    conversation = (await created(reader, 1))[0]
    first, second = await answered(reader, conversation, "One", "Two")
    path = f"{CONVERSATIONS}/{conversation}/items"
    page = (await reader.send_request("GET", f"{path}?limit=3")).json
    rest = (await reader.send_request("GET", f"{path}?after={page['last_id']}")).json
    items = [one["id"] for one in page["data"] + rest["data"]]
    responses = page["responses"] | rest["responses"]
    assert [responses.get(item) for item in items] == [second, second, first, first, None]
    assert (page["tenant"], page["has_more"], rest["has_more"]) == ("acme", True, False)
    oldest = (await reader.send_request("GET", f"{path}?order=asc&limit=1")).json
    assert oldest["data"][0]["id"] == items[-1]


async def test_items_of_another_tenant_are_unknown_to_readers_and_known_to_administrators(
    stateful: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "antiphon.audit")
    theirs = await signed_in(stateful, tenant="other")
    mine = await signed_in(stateful, tenant="acme")
    admin = await signed_in(stateful, Role.ADMIN, tenant="acme")
    conversation = (await created(theirs, 1))[0]
    path = f"{CONVERSATIONS}/{conversation}/items"
    assert (await mine.send_request("GET", path)).status == 404
    assert (await theirs.send_request("GET", f"{path}?after=msg_unknown")).status == 400
    assert len((await admin.send_request("GET", path)).json["data"]) == 1
    read = [line for line in lines(caplog) if line["event"] == "read"]
    assert [(line["tenant"], line["what"]) for line in read] == [("other", "conversation")]


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
