"""Bad input of `/admin/v1`: long filters, hostile texts in every stored string, ids of another
tenant, keys that were revoked, and clocks that are off.
"""

import csv
import json
from io import StringIO
from typing import Any
from urllib.parse import quote

import pytest

from antiphon.storage.operations import facts
from antiphon.storage.records.facts import STORED
from antiphon.storage.records.tenants import Role
from tests.store.facts import NOW, new_facts
from tests.support.keys import bearing, issued
from tests.support.server import RunningServer
from tests.support.signed_in import Browser, signed_in

HOSTILE = (
    "<script>alert(1)</script>",
    "' OR 1=1 --",
    '"; DROP TABLE facts',
    "=cmd|' /C calc'!A0",
    "%",
    "_",
    "*",
    "a*b",
    "a,b",
    "status:failed",
    "-x",
    "OR",
    "(",
    "$1",
    "\\",
    "../../etc/passwd",
    "\u202egnp.exe",
    "line\r\nset-cookie: a=b",
    "nul\0",
)
"""Texts that mean something to a database, a page, a spreadsheet, a header or a line of filters."""

FIELDS = {
    "model": "model",
    "served": "served_model",
    "backend": "backend",
    "error": "error",
    "conversation": "conversation_id",
    "key": "key_id",
}
"""The filters of texts, and the fields that they compare."""


async def get(browser: Browser, path: str, q: str = "", joined: str = "?") -> Any:
    query = f"{joined}q={quote(q)}" if q else ""
    answered = await browser.send_request("GET", f"/admin/v1{path}{query}")
    assert answered.status == 200, answered.body
    return answered


async def listed(browser: Browser, q: str = "") -> list[Any]:
    rows: list[Any] = (await get(browser, "/responses?limit=100", q, "&")).json["data"]
    return rows


async def exported(browser: Browser, q: str = "") -> list[Any]:
    file = await get(browser, "/responses/export?format=jsonl", q, "&")
    return [json.loads(line) for line in file.body.splitlines()]


async def counted(browser: Browser, q: str = "") -> Any:
    since = NOW // 1000 - 86_400
    return (await get(browser, f"/figures?since={since}&by=model", q, "&")).json


@pytest.mark.parametrize(
    "path",
    ["/responses", "/responses/stream", "/responses/export", "/figures"],
)
async def test_a_filter_of_10_000_characters_is_rejected_with_the_limit(
    path: str, stateful: RunningServer
) -> None:
    reader = await signed_in(stateful)
    refused = await reader.send_request("GET", f"/admin/v1{path}?q={'x' * 10_000}")

    assert (refused.status, refused.code) == (400, "invalid_value")
    assert refused.json["error"]["message"] == (
        "Invalid 'q': The filter has 10,000 characters. At most 4,096 are allowed."
    )


@pytest.mark.parametrize(("path", "param"), [("/find?id=", "id"), ("/suggestions?q=", "q")])
async def test_a_term_of_10_000_characters_is_rejected(
    path: str, param: str, stateful: RunningServer
) -> None:
    reader = await signed_in(stateful)
    refused = await reader.send_request("GET", f"/admin/v1{path}{'x' * 10_000}")

    assert (refused.status, refused.json["error"]["param"]) == (400, param)
    assert len(refused.body) < 500


async def with_hostile_texts(server: RunningServer) -> None:
    """Store a response for each text, which has it in all its strings."""
    names = ["previous_response_id", "input", "output", *FIELDS.values()]
    await server.parts.store.write(
        facts.put_new,
        [
            new_facts(
                tenant="acme",
                began=NOW - at,
                ended=NOW,
                flags=STORED,
                **dict.fromkeys(names, text),
            )
            for at, text in enumerate(HOSTILE)
        ],
    )


def stored(text: str) -> str:
    """The text as PostgreSQL can have it."""
    return text.replace("\0", "\ufffd")


async def test_hostile_texts_are_listed_and_exported_as_they_are(stateful: RunningServer) -> None:
    await with_hostile_texts(stateful)
    reader = await signed_in(stateful)
    rows = await listed(reader)
    fields = ("model", "backend", "api_key_id", "error_code", "conversation_id", "input", "output")
    file = await get(reader, "/responses/export")
    cells = list(csv.DictReader(StringIO(file.body.decode(), newline="")))

    for field in fields:
        assert [row[field] for row in rows] == [stored(text) for text in HOSTILE]
        for cell, text in zip(cells, HOSTILE, strict=True):
            assert cell[field] == ("'" if text[0] in "=-" else "") + stored(text)
    assert await exported(reader) == rows
    page = await get(reader, "/responses")
    assert page.header("content-type") == "application/json"
    assert page.header("x-content-type-options") == "nosniff"


@pytest.mark.parametrize("name", FIELDS)
async def test_hostile_texts_are_completed_to_filters_that_find_only_them(
    name: str, stateful: RunningServer
) -> None:
    await with_hostile_texts(stateful)
    reader = await signed_in(stateful)
    suggested = (await get(reader, "/suggestions", f"{name}:")).json["data"]
    plain = [stored(text) for text in HOSTILE if not {*text} & {*'",*'}]

    assert len(suggested) == len(plain)
    found = []
    for one in suggested:
        (row,) = await listed(reader, one["text"])
        assert one["count"] == (await counted(reader, one["text"]))["totals"]["responses"] == 1
        found.append(row["input"])
    assert sorted(found) == sorted(plain)


async def test_hostile_texts_are_groups_and_words_like_others(stateful: RunningServer) -> None:
    await with_hostile_texts(stateful)
    reader = await signed_in(stateful)
    groups = (await counted(reader))["groups"]

    assert {one["value"]: one["responses"] for one in groups} == dict.fromkeys(
        map(stored, HOSTILE), 1
    )
    for text in map(stored, HOSTILE):
        if '"' not in text:
            expected = [one for one in map(stored, HOSTILE) if text.lower() in one.lower()]
            assert [row["input"] for row in await listed(reader, f'"{text}"')] == expected


async def test_ids_of_another_tenant_lead_nowhere(stateful: RunningServer) -> None:
    key, _ = await issued(stateful.parts.store, "other")

    async def post(path: str, **body: Any) -> Any:
        url = f"{stateful.url}/{path}"
        async with stateful.http.post(url, json=body, headers=bearing(key)) as replied:
            assert replied.status == 200
            return await replied.json()

    conversation = (await post("conversations"))["id"]
    created = await post("responses", model="m", input="Hi", conversation=conversation)
    response, item = created["id"], created["output"][0]["id"]
    reader, admin = await signed_in(stateful), await signed_in(stateful, Role.ADMIN)
    lines = (response, f"req_{response[5:]}", conversation, item, f"chain:{response}")
    for line in (*lines, f"-id:{new_facts().id}", "tenant:other", "tenant:oth*"):
        assert [row["id"] for row in await listed(admin, line)] == [response], line
        assert (await counted(admin, line))["totals"]["responses"] == 1, line
        assert await listed(reader, line) == [], line
        assert await exported(reader, line) == [], line
        assert (await counted(reader, line))["totals"]["responses"] == 0, line
    for id_ in lines[:-1]:
        assert (await get(reader, f"/find?id={id_}")).json["data"] == [], id_
    for name in ("id", "conversation", "tenant", "key", "model"):
        suggested = (await get(reader, "/suggestions", f"{name}:")).json["data"]
        assert suggested == [], name
    for bound in ("after", "before"):
        refused = await reader.send_request("GET", f"/admin/v1/responses?{bound}={response}")
        assert (refused.status, refused.json["error"]["param"]) == (400, bound)


async def test_a_saved_view_of_a_revoked_key_still_lists_its_responses(
    stateful: RunningServer,
) -> None:
    _, key = await issued(stateful.parts.store)
    (response,) = created = [new_facts(tenant="acme", key_id=key.id, ended=NOW)]
    await stateful.parts.store.write(facts.put_new, created)
    admin = await signed_in(stateful, Role.ADMIN)
    await admin.send_request("DELETE", f"/admin/v1/keys/{key.id}")
    view = {"name": "Its responses", "page": "responses", "query": f"q=key%3A{key.id}"}
    assert (await admin.send_request("POST", "/admin/v1/views", view)).status == 200
    (saved,) = (await get(admin, "/views")).json["data"]

    for query in (saved["query"], "q=key%3Atest"):
        (row,) = (await get(admin, f"/responses?{query}")).json["data"]
        assert (row["id"], row["api_key_name"]) == (response.id, "test")
    assert await listed(admin, "key:never") == []


@pytest.mark.parametrize("began", [0, 4_102_444_800_000], ids=["1970", "2100"])
async def test_responses_of_a_clock_that_was_off_are_listed_and_counted(
    began: int, stateful: RunningServer
) -> None:
    await stateful.parts.store.write(
        facts.put_new, [new_facts(tenant="acme", began=began, ended=began, model="m")]
    )
    reader = await signed_in(stateful)
    (row,) = await listed(reader)
    since, until = began // 1000, began // 1000 + 60
    found = await get(reader, f"/figures?since={since}&until={until}&by=model")
    (suggested,) = (await get(reader, "/suggestions", "model:m")).json["data"]

    assert (row["started_ms"], row["duration_ms"]) == (began, 0)
    assert found.json["totals"]["responses"] == 1
    assert suggested["count"] == 1
    assert await exported(reader) == [row]
    for line in ("since:999999w", "until:9999-12-31T23:59:59Z"):
        assert await listed(reader, line) == [row]
    assert await listed(reader, "since:9999-12-31") == []


async def test_a_period_that_has_not_begun_names_the_time_of_the_server(
    stateful: RunningServer,
) -> None:
    reader = await signed_in(stateful)
    refused = await reader.send_request("GET", f"/admin/v1/figures?since={NOW // 1000 + 86_400}")

    assert (refused.status, refused.json["error"]["param"]) == (400, "since")
    assert refused.json["error"]["message"].endswith("(now, by the server's clock).")
