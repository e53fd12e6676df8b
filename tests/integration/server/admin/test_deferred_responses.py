"""Deferred responses in the console: which wait, until when, and how they are cancelled."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from antiphon.config import Settings
from antiphon.jobs.queue import LEAD, WINDOWS
from antiphon.storage.records.tenants import Role
from antiphon.upstream.http import HttpBackend
from tests.integration.server.admin.test_audit import lines
from tests.support.keys import bearing, issued
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve
from tests.support.signed_in import signed_in

DEFERRED = "/admin/v1/deferred_responses"


@pytest.fixture
async def waiting(backend: ReplayBackend, store_url: str) -> AsyncIterator[RunningServer]:
    """A server that runs no background responses."""
    settings = Settings(background_jobs=0)
    async with serve(
        HttpBackend("replay", backend.url), store=store_url, settings=settings
    ) as server:
        yield server


async def created(
    server: RunningServer, tenant: str, window: str | None = "2h", text: str = "Hi"
) -> dict[str, Any]:
    key, _ = await issued(server.parts.store, tenant)
    options = {} if window is None else {"background_options": {"completion_window": window}}
    body = {"model": "m", "input": text, "background": True, **options}
    async with server.http.post(
        f"{server.url}/responses", json=body, headers=bearing(key)
    ) as reply:
        assert reply.status == 200, await reply.text()
        found: dict[str, Any] = await reply.json()
        return found


async def test_responses_that_wait_for_an_idle_slot_are_listed_with_their_times(
    waiting: RunningServer,
) -> None:
    first = await created(waiting, "acme", "2h", "Sum up the tickets")
    second = await created(waiting, "other", "8h")
    await created(waiting, "acme", None)
    admin = await signed_in(waiting, Role.ADMIN)
    page = (await admin.send_request("GET", DEFERRED)).json

    assert [one["id"] for one in page["data"]] == [first["id"], second["id"]]
    for one, window in zip(page["data"], ("2h", "8h"), strict=True):
        assert (one["completion_window"], one["waits_for"]) == (window, "idle_slot")
        assert one["due_at"] == one["created_at"] + WINDOWS[window]
        assert one["begin_by"] == one["due_at"] - LEAD
        assert (one["model"], one["attempts"], one["crashes"]) == ("m", 0, 0)
    assert page["data"][0]["input_preview"] == "Sum up the tickets"


async def test_the_list_has_pages_that_outlive_the_response_before(waiting: RunningServer) -> None:
    ids = [(await created(waiting, "acme"))["id"] for _ in range(3)]
    admin = await signed_in(waiting, Role.ADMIN)
    first = (await admin.send_request("GET", f"{DEFERRED}?limit=2")).json
    assert ([one["id"] for one in first["data"]], first["has_more"]) == (ids[:2], True)
    await admin.send_request("POST", f"{DEFERRED}/{ids[1]}/cancel?tenant=acme")
    second = (await admin.send_request("GET", f"{DEFERRED}?limit=2&after={ids[1]}")).json
    assert ([one["id"] for one in second["data"]], second["has_more"]) == (ids[2:], False)
    unknown = await admin.send_request("GET", f"{DEFERRED}?after=resp_none")
    assert (unknown.status, unknown.json["error"]["param"]) == (400, "after")


async def test_a_reader_sees_and_cancels_those_of_its_tenant(
    waiting: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "antiphon.audit")
    mine, theirs = await created(waiting, "acme"), await created(waiting, "other")
    reader = await signed_in(waiting, tenant="acme")

    assert [one["id"] for one in (await reader.send_request("GET", DEFERRED)).json["data"]] == [
        mine["id"]
    ]
    assert (await reader.send_request("GET", f"{DEFERRED}?tenant=other")).status == 403
    after = await reader.send_request("GET", f"{DEFERRED}?after={theirs['id']}")
    assert after.status == 400
    for path, status in (
        (f"{DEFERRED}/{theirs['id']}/cancel", 404),
        (f"{DEFERRED}/{theirs['id']}/cancel?tenant=other", 403),
    ):
        assert (await reader.send_request("POST", path)).status == status
    done = await reader.send_request("POST", f"{DEFERRED}/{mine['id']}/cancel")

    assert done.json == {"id": mine["id"], "object": "response", "status": "cancelled"}
    assert (await reader.send_request("GET", DEFERRED)).json["data"] == []
    assert lines(caplog)[-1] | {"by": ""} == {
        "event": "response_cancelled",
        "by": "",
        "tenant": "acme",
        "response_id": mine["id"],
    }
