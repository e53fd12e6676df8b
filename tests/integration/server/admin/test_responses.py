"""`/admin/v1/responses`: what each role sees of responses, and what is logged of it."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from antiphon.access import api_keys
from antiphon.console import changes
from antiphon.console.redaction import STRUCK_OUT
from antiphon.server.admin import responses
from antiphon.storage.operations import api_keys as stored_api_keys
from antiphon.storage.operations import facts_detail
from antiphon.storage.records.facts import FactsFamily
from antiphon.storage.records.tenants import Role
from antiphon.tools.registry import Toolset
from tests.support.changed_stores import replace_operation
from tests.support.keys import bearing, issued
from tests.support.replay import Answer, ReplayBackend, text
from tests.support.server import RunningServer
from tests.support.signed_in import OF_THE_PAGE, Browser, console_of, operator, signed_in
from tests.support.tools import MCP, Servers

PARTS = ("", "/body", "/input_items", "/request", "/calls")


async def created(server: RunningServer, tenant: str = "acme", **more: Any) -> str:
    """The id of a stored response of a tenant."""
    key, _ = await issued(server.parts.store, tenant)
    async with server.http.post(
        f"{server.url}/responses",
        json={"model": "m", "input": "Hi"} | more,
        headers=headers_of(key),
    ) as response:
        assert response.status == 200, await response.text()
        body = await response.json() if not more.get("stream") else {}
    return str(body.get("id", ""))


def headers_of(key: str) -> dict[str, str]:
    return dict(bearing(key))


async def get(browser: Browser, path: str) -> Any:
    answered = await browser.send_request("GET", f"/admin/v1{path}")
    assert answered.status == 200, answered.body
    return answered.json


async def test_a_reader_sees_its_own_tenant_and_an_administrator_all(
    stateful: RunningServer,
) -> None:
    mine = await created(stateful)
    other = await created(stateful, "other")
    reader = await signed_in(stateful)
    admin = await signed_in(stateful, Role.ADMIN)

    assert [row["id"] for row in (await get(reader, "/responses"))["data"]] == [mine]
    assert [row["id"] for row in (await get(admin, "/responses"))["data"]] == [other, mine]
    assert [row["id"] for row in (await get(admin, "/responses?tenant=other"))["data"]] == [other]
    assert (await get(reader, "/figures"))["totals"]["responses"] == 1
    assert (await get(admin, "/figures?by=tenant"))["totals"]["responses"] == 2
    for path in (
        "/responses?tenant=other",
        "/figures?tenant=other",
        "/responses/stream?tenant=other",
    ):
        assert (await reader.send_request("GET", f"/admin/v1{path}")).code == "not_allowed"


async def test_every_part_of_a_response_is_its_tenants(stateful: RunningServer) -> None:
    mine = await created(stateful)
    other = await created(stateful, "other")
    reader = await signed_in(stateful)
    admin = await signed_in(stateful, Role.ADMIN)
    for part in PARTS:
        assert (await reader.send_request("GET", f"/admin/v1/responses/{mine}{part}")).status == 200
        assert (
            await reader.send_request("GET", f"/admin/v1/responses/{other}{part}")
        ).status == 404
        assert (await admin.send_request("GET", f"/admin/v1/responses/{other}{part}")).status == 200
    row = (await get(reader, f"/responses/{mine}"))["summary"]
    assert (row["tenant"], row["api_key_name"], row["input"]) == ("acme", "test", "Hi")


async def test_reading_the_content_of_another_tenant_is_logged(
    stateful: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    mine = await created(stateful)
    other = await created(stateful, "other")
    reader = await signed_in(stateful)
    admin = await operator(stateful)
    with caplog.at_level(logging.INFO, "antiphon.audit"):
        caplog.clear()
        await get(reader, f"/responses/{mine}/body")
        await get(admin, f"/responses/{other}")
        assert not caplog.records
        await get(admin, f"/responses/{other}/body")
    assert [record.message for record in caplog.records] == [
        f"read tenant=other what=response response_id={other}"
    ]


async def test_facts_are_read_once_for_the_content_and_its_log(stateful: RunningServer) -> None:
    other = await created(stateful, "other")
    admin = await operator(stateful)
    store = stateful.parts.store
    reads = []

    async def count(tenant: str | None, response_id: str) -> FactsFamily | None:
        reads.append(response_id)
        found: FactsFamily | None = await find(tenant, response_id)
        return found

    find = replace_operation(store, facts_detail.family, count)
    for part in PARTS:
        await get(admin, f"/responses/{other}{part}")
    assert reads == [other] * len(PARTS)


async def test_the_events_of_a_background_stream_come_in_parts(stateful: RunningServer) -> None:
    body = {"model": "m", "input": "Hi", "background": True, "stream": True}
    async with stateful.http.post(f"{stateful.url}/responses", json=body) as response:
        sent = [
            json.loads(line[6:]) async for line in response.content if line.startswith(b"data: {")
        ]
    (row,) = (await get(await operator(stateful), "/responses"))["data"]
    browser = await operator(stateful)
    path = f"/responses/{row['id']}/events"
    first = await get(browser, f"{path}?limit=3")
    rest = await get(browser, f"{path}?after={first['data'][-1]['sequence_number']}")

    assert (first["has_more"], rest["has_more"]) == (True, False)
    assert first["data"] + rest["data"] == sent


async def test_a_plain_response_has_no_events(stateful: RunningServer) -> None:
    mine = await created(stateful)
    answered = await (await signed_in(stateful)).send_request(
        "GET", f"/admin/v1/responses/{mine}/events"
    )
    assert (answered.status, answered.code) == (404, "not_stored")


@pytest.mark.parametrize(
    "line",
    [
        "status:completed",
        "-status:queued,in_progress -key:other",
        "zebra OR model:m status:completed tenant:acme",
        "status:completed sort:slowest -id:resp_1,msg_2",
    ],
)
async def test_changes_are_streamed_to_a_program_with_a_key(
    stateful: RunningServer, backend: ReplayBackend, line: str
) -> None:
    key, _ = await issued(stateful.parts.store, "acme", role=Role.READ)
    backend.script = lambda _: Answer([text("Hello")])
    root = stateful.url.removesuffix("/v1")
    url = f"{root}/admin/v1/responses/stream?q={quote(line)}"
    async with stateful.http.get(url, headers=headers_of(key)) as response:
        assert response.content_type == "text/event-stream"
        lines = aiter(response.content)
        assert await anext(lines) == b": opened\n"
        assert [await anext(lines), await anext(lines)] == [b"\n", b"event: ping\n"]
        creating = asyncio.create_task(created(stateful, background=True))
        async with asyncio.timeout(10):
            while await anext(lines) != b"event: row\n":
                pass
            row = json.loads((await anext(lines)).removeprefix(b"data: "))
    assert (row["id"], row["status"], row["tenant"]) == (await creating, "completed", "acme")


async def rows(stream: AsyncIterator[bytes]) -> AsyncIterator[Any]:
    """The rows of a stream of changes."""
    async for line in stream:
        if line.startswith(b"data: {") and b'"object"' in line:
            yield json.loads(line.removeprefix(b"data: "))


@pytest.mark.parametrize("how", ["revoked", "lowered", "signed out"])
async def test_an_open_list_ends_with_the_rights_of_its_caller(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    for module, name in ((responses, "CHECK_AFTER"), (changes, "PING_AFTER"), (api_keys, "FRESH")):
        monkeypatch.setattr(module, name, 0.1)
    store = stateful.parts.store
    key, stored_key = await issued(store, "acme", role=Role.READ)
    browser = Browser(console_of(stateful), page=OF_THE_PAGE)
    await browser.sign_in(key=key)
    headers = {**OF_THE_PAGE, "cookie": browser.cookie} if how == "signed out" else headers_of(key)
    async with stateful.http.get(
        stateful.url.removesuffix("/v1") + "/admin/v1/responses/stream", headers=headers
    ) as one:
        assert await anext(aiter(one.content)) == b": opened\n"
        if how == "signed out":
            assert (await browser.send_request("DELETE", "/admin/v1/session")).status == 200
        else:
            await store.write(
                stored_api_keys.put,
                replace(stored_key, revoked_at=1)
                if how == "revoked"
                else replace(stored_key, role=Role.USE),
            )
        async with asyncio.timeout(10):
            assert [row async for row in rows(aiter(one.content))] == []


async def test_a_tenant_has_so_many_open_lists(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responses, "MOST_OF_A_TENANT", 1)
    url = stateful.url.removesuffix("/v1") + "/admin/v1/responses/stream"
    async with stateful.http.get(url) as first, stateful.http.get(url) as second:
        assert (first.status, second.status) == (200, 503)
    status = 503
    async with asyncio.timeout(10):
        while status != 200:
            async with stateful.http.get(url) as third:
                status = third.status


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("/responses?q=colour:red", "q"),
        ("/responses/stream?q=colour:red", "q"),
        ("/responses?q=a%00b", "q"),
        ("/responses?tenant=%00", "tenant"),
        ("/responses?limit=0", "limit"),
        ("/responses?after=resp_x", "after"),
        ("/figures?by=colour", "by"),
        ("/figures?step=61", "step"),
        ("/figures?since=soon", "since"),
        ("/figures?q=status:done", "q"),
    ],
)
async def test_a_wrong_query_is_rejected_by_name(
    stateful: RunningServer, query: str, param: str
) -> None:
    answered = await (await operator(stateful)).send_request("GET", f"/admin/v1{query}")
    assert (answered.status, answered.json["error"]["param"]) == (400, param)


@pytest.mark.parametrize("name", ["authorization", "headers"])
async def test_the_request_masks_credentials_that_its_mcp_tools_had(
    stateful: RunningServer, name: str
) -> None:
    stateful.parts.run.toolset = Toolset(mcp=Servers())
    provided = {"authorization": "sk-secret-token", "headers": {"x-token": "sk-secret-token"}}
    tools = [MCP | {name: provided[name]}, {"type": "web_search"}]
    with_secret = await created(stateful, tools=tools)
    without = await created(stateful, tools=[MCP | {name: {} if name == "headers" else ""}])
    reader = await signed_in(stateful)

    replies = [
        await reader.send_request("GET", f"/admin/v1/responses/{with_secret}{part}")
        for part in PARTS
    ]
    assert not [reply for reply in replies if b"sk-secret" in reply.body]
    masked, other = (await get(reader, f"/responses/{with_secret}/request"))["request"]["tools"]
    assert masked[name] == STRUCK_OUT
    assert [field for field in provided if masked.get(field)] == [name]
    assert other["type"] == "web_search"
    (unmasked,) = (await get(reader, f"/responses/{without}/request"))["request"]["tools"]
    assert not [field for field in provided if unmasked.get(field)]
