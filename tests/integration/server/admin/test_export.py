"""`/admin/v1/responses/export`: the filtered list as a file, with the rights of the list."""

import asyncio
import csv
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from io import StringIO
from typing import Any

import pytest
from aiohttp import ClientError, ClientResponse
from msgspec.structs import replace

from antiphon.access import api_keys
from antiphon.console import export
from antiphon.server.admin import responses
from antiphon.storage.operations import api_keys as stored_api_keys
from antiphon.storage.operations import facts, facts_page
from antiphon.storage.records.facts import STORED, FactsPage, FactsQuery
from antiphon.storage.records.tenants import Role
from tests.store.facts import new_facts
from tests.support.changed_stores import replace_operation
from tests.support.keys import bearing, issued
from tests.support.server import RunningServer
from tests.support.signed_in import Browser, console_of, signed_in

EXPORT = "/admin/v1/responses/export"


async def stored(server: RunningServer, count: int = 1, **fields: Any) -> None:
    """Store facts of responses that began one after the other."""
    known: dict[str, Any] = {"tenant": "acme", "ended": 10_000, "flags": STORED} | fields
    await server.parts.store.write(
        facts.put_new, [new_facts(**({"began": 1_000 + at} | known)) for at in range(count)]
    )


async def lines(browser: Browser, query: str = "") -> list[Any]:
    answered = await browser.send_request("GET", f"{EXPORT}?format=jsonl{query}")
    assert answered.status == 200, answered.body
    assert answered.header("content-type") == "application/jsonl"
    return [json.loads(line) for line in answered.body.splitlines()]


async def table(browser: Browser, query: str = "") -> list[dict[str, str]]:
    answered = await browser.send_request("GET", f"{EXPORT}?format=csv{query}")
    assert answered.status == 200, answered.body
    return list(csv.DictReader(StringIO(answered.body.decode(), newline="")))


async def test_a_file_has_the_rows_of_the_list_in_its_order(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "ROWS", 2)
    await stored(stateful, 5, model="m")
    await stored(stateful, 1, model="other")
    reader = await signed_in(stateful)
    listed = (await reader.send_request("GET", "/admin/v1/responses?q=model:m")).json["data"]

    assert len(listed) == 5
    assert await lines(reader, "&q=model:m") == listed
    assert [row["id"] for row in await table(reader, "&q=model:m")] == [row["id"] for row in listed]


async def test_a_row_has_the_fields_of_the_list_at_its_top(stateful: RunningServer) -> None:
    await stored(
        stateful,
        began=1_790_000_000_123,
        ended=1_790_000_001_123,
        input_tokens=5,
        cached_tokens=1,
        output_tokens=7,
        reasoning_tokens=2,
        tools=" mcp a.b ",
        cost=1_500_000,
        input='two\nlines, "quoted"',
    )
    (row,) = await table(await signed_in(stateful))
    assert row["request_id"] == row["id"].replace("resp_", "req_")
    expected = {
        "created_at": "2026-09-21T14:13:20.123+00:00",
        "duration_ms": "1000",
        "input_tokens": "5",
        "cached_tokens": "1",
        "output_tokens": "7",
        "reasoning_tokens": "2",
        "tools": "mcp a.b",
        "cost (USD)": "0.0015",
        "stream": "false",
        "api_key_name": "",
        "input": 'two\nlines, "quoted"',
    }
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize("mark", ["=", "+", "-", "@", "\t", "\r"])
async def test_no_cell_is_a_formula(mark: str, stateful: RunningServer) -> None:
    await stored(stateful, model=f"{mark}1+1", input=f"{mark}HYPERLINK()", output=f"a{mark}b")
    (row,) = await table(await signed_in(stateful))

    assert (row["model"], row["input"]) == (f"'{mark}1+1", f"'{mark}HYPERLINK()")
    assert row["output"] == f"a{mark}b"


async def test_a_file_states_that_it_lacks_responses(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "ROWS", 2)
    monkeypatch.setattr(export, "MOST_ROWS", 3)
    await stored(stateful, 3)
    reader = await signed_in(stateful)
    assert [one["object"] for one in await lines(reader)] == ["response.summary"] * 3

    await stored(stateful)
    *rows, last = await lines(reader)
    assert (len(rows), last["object"]) == (3, "export.cut")
    assert last["message"].startswith("Only the first")
    *rows, row = await table(reader)
    assert (len(rows), row["id"], row["error_message"]) == (3, "export.cut", last["message"])


async def test_a_file_states_that_responses_expired_meanwhile(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "ROWS", 2)
    await stored(stateful, 4)

    async def expired(tenant: str | None, query: FactsQuery) -> Any:
        if query.after is not None:
            return FactsPage(unknown="after")
        return await original(tenant, query)

    original = replace_operation(stateful.parts.store, facts_page.page, expired)
    assert [one["object"] for one in await lines(await signed_in(stateful))] == [
        "response.summary",
        "response.summary",
        "export.cut",
    ]


async def test_all_pages_have_the_responses_of_the_same_key(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "ROWS", 1)
    store = stateful.parts.store
    _, key = await issued(store, "acme")
    await store.write(stored_api_keys.put, replace(key, name="before"))
    await stored(stateful, 3, key_id=key.id)
    reader = await signed_in(stateful)

    async def renamed(tenant: str | None, query: FactsQuery) -> Any:
        await store.write(stored_api_keys.put, replace(key, name="after"))
        return await original(tenant, query)

    original = replace_operation(store, facts_page.page, renamed)
    assert len(await lines(reader, "&q=key:before")) == 3


async def test_a_search_that_finds_nothing_has_only_a_head(stateful: RunningServer) -> None:
    await stored(stateful)
    reader = await signed_in(stateful)

    assert await lines(reader, "&q=nothing") == []
    answered = await reader.send_request("GET", f"{EXPORT}?q=nothing")
    assert answered.body.decode() == ",".join(export.COLUMNS).replace("cost", "cost (USD)") + "\r\n"
    assert answered.header("content-type") == "text/csv; charset=utf-8"
    name = answered.header("content-disposition")
    assert name.startswith('attachment; filename="responses-2') and ".csv" in name
    assert answered.header("cache-control") == "no-store"


async def test_a_search_reads_on_over_pages_without_a_match(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MOST_READ", 2)
    await stored(stateful, 1, began=1, input="lighthouse")
    await stored(stateful, 9)

    assert [one["input"] for one in await lines(await signed_in(stateful), "&q=lighthouse")] == [
        "lighthouse"
    ]


async def test_a_file_has_what_its_caller_may_see(
    stateful: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    await stored(stateful, input="mine")
    await stored(stateful, 2, tenant="other", input="theirs")
    reader = await signed_in(stateful)
    admin = await signed_in(stateful, Role.ADMIN)

    assert [one["tenant"] for one in await lines(reader)] == ["acme"]
    assert (await reader.send_request("GET", f"{EXPORT}?tenant=other")).code == "not_allowed"
    with caplog.at_level(logging.INFO, "antiphon.audit"):
        assert len(await lines(admin)) == 3
    assert [record.getMessage().split()[2:] for record in caplog.records] == [
        ["tenant=other", "what=responses"]
    ]
    assert len(await lines(admin, "&tenant=other")) == 2
    use, _ = await issued(stateful.parts.store, "acme")
    browser = Browser(console_of(stateful))
    refused = await browser.send_request("GET", EXPORT, authorization=f"Bearer {use}")
    assert (refused.status, refused.code) == (403, "not_allowed")
    assert (await browser.send_request("GET", EXPORT)).status == 401


@asynccontextmanager
async def halfway(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, headers: Mapping[str, str]
) -> AsyncIterator[tuple[ClientResponse, asyncio.Event, asyncio.Future[bool]]]:
    """An export of two pages whose first one has arrived: the reply, what releases the second page,
    and whether that was read.
    """
    monkeypatch.setattr(export, "ROWS", 1)
    await stored(server, 2)
    release = asyncio.Event()
    is_read: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def page(tenant: str | None, query: FactsQuery) -> Any:
        if query.after is not None:
            try:
                await release.wait()
            except asyncio.CancelledError:
                is_read.set_result(False)
                raise
            is_read.set_result(True)
        return await original(tenant, query)

    original = replace_operation(server.parts.store, facts_page.page, page)
    url = server.url.removesuffix("/v1") + EXPORT
    async with asyncio.timeout(10), server.http.get(url, headers=headers) as reply:
        assert (await reply.content.readline()).startswith(b"id,")
        yield reply, release, is_read


async def test_a_client_that_leaves_ends_the_export(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, _ = await issued(stateful.parts.store, "acme", role=Role.READ)
    async with halfway(stateful, monkeypatch, bearing(key)) as (reply, _, is_read):
        reply.close()
        assert await is_read is False


async def test_a_file_breaks_off_when_its_caller_loses_access(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((responses, "CHECK_AFTER"), (api_keys, "FRESH")):
        monkeypatch.setattr(module, name, 0.0)
    store = stateful.parts.store
    key, stored_key = await issued(store, "acme", role=Role.READ)
    async with halfway(stateful, monkeypatch, bearing(key)) as (reply, release, _):
        await store.write(stored_api_keys.put, replace(stored_key, revoked_at=1))
        release.set()
        with pytest.raises(ClientError):
            await reply.read()


@pytest.mark.parametrize(("query", "param"), [("q=nope:1", "q"), ("format=xml", "format")])
async def test_an_invalid_query_is_rejected(
    query: str, param: str, stateful: RunningServer
) -> None:
    refused = await (await signed_in(stateful)).send_request("GET", f"{EXPORT}?{query}")

    assert (refused.status, refused.json["error"]["param"]) == (400, param)
