"""Databases that older versions wrote, opened by this one: what is in them is served, and chains go on.

The rows are written as they were then, by statements that no change of today's code reaches.
"""

import json
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from antiphon.storage.open import open_store
from antiphon.storage.postgres import link
from antiphon.storage.records.money import day_of
from antiphon.storage.sql import migrations
from antiphon.storage.sqlite import file
from antiphon.upstream.http import HttpBackend
from tests.support.postgres import Postgres
from tests.support.replay import ReplayBackend
from tests.support.server import serve

NOW = int(time.time())
BODY = {
    "id": "resp_1",
    "object": "response",
    "created_at": NOW,
    "status": "completed",
    "background": False,
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "model": "m",
    "output": [],
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "usage": {
        "input_tokens": 5,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 6,
    },
    "user": None,
    "metadata": {"kept": "yes"},
}

Row = Mapping[str, Any]


def message(item_id: str, role: str, text: str) -> bytes:
    part: dict[str, Any] = {"type": "input_text", "text": text}
    if role == "assistant":
        part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": item_id, "status": "completed", "role": role, "content": [part]}
    return json.dumps(item).encode()


def response(seq: int, previous: int | None = None, **more: Any) -> Row:
    before = None if previous is None else f"resp_{previous}"
    body = {**BODY, "id": f"resp_{seq}", "previous_response_id": before}
    row = {"seq": seq, "id": f"resp_{seq}", "previous_response_id": before, "created_at": NOW, "status": "completed"}
    return {**row, "body": json.dumps(body).encode(), **more}


def items(seq: int) -> list[Row]:
    texts = (("user", f"Question {seq}"), ("assistant", f"Answer {seq}"))
    return [
        {
            "response": seq,
            "position": at,
            "is_output": at,
            "id": f"msg_{seq}_{at}",
            "body": message(f"msg_{seq}_{at}", *one),
        }
        for at, one in enumerate(texts)
    ]


BEFORE_FILES = 16
"""The number of migrations that the last version without files has."""

KEPT = {"tenant": "", "is_stored": 1, "is_streamed": 0, "expires_at": NOW + 86_400}
"""What PostgreSQL's first schema has beyond SQLite's."""

CHAIN = {"responses": [response(1), response(2, 1)], "items": [*items(1), *items(2)]}


async def written(url: str, number: int, tables: Mapping[str, list[Row]]) -> None:
    """Write a database of an old schema with these rows."""
    database = "sqlite" if url.startswith("sqlite") else "postgres"
    scripts, statements = migrations(database)[:number], []
    for table, rows in tables.items():
        for row in rows:
            more = KEPT if database == "postgres" and table == "responses" else {}
            statements.append((table, {**row, **more}))
    if database == "sqlite":
        _write_sqlite(Path(url.removeprefix("sqlite://")), scripts, statements)
    else:
        await _write_postgres(url, scripts, statements)


def _write_sqlite(path: Path, scripts: Any, statements: list[tuple[str, dict[str, Any]]]) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        file.migrate(connection, scripts)
        for table, row in statements:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


async def _write_postgres(url: str, scripts: Any, statements: list[tuple[str, dict[str, Any]]]) -> None:
    connection = await asyncpg.connect(url)
    await link.migrate(connection, scripts)
    await connection.execute("SELECT set_config('antiphon.tenant', '*', false)")
    for table, row in statements:
        marks = ", ".join(f"${place}" for place in range(1, len(row) + 1))
        await connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", *row.values())
    if statements and any(table == "responses" for table, _ in statements):
        await connection.execute("SELECT setval(pg_get_serial_sequence('responses', 'seq'), 100)")
    await connection.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without any schema yet."""
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/old.db"
    postgres: Postgres = request.getfixturevalue("postgres")
    return await postgres.database()


async def test_responses_of_the_first_schema_are_served_and_their_chain_goes_on(
    url: str, backend: ReplayBackend
) -> None:
    await written(url, 1, CHAIN)
    async with serve(HttpBackend("replay", backend.url, ""), store=url) as served:
        kept = await served.sdk.responses.retrieve("resp_2")
        inputs = [item.id async for item in served.sdk.responses.input_items.list("resp_2", order="asc")]
        third = await served.sdk.responses.create(model="m", input="Question 3", previous_response_id="resp_2")
        fourth = await served.sdk.responses.create(model="m", input="Question 4", previous_response_id=third.id)
        counts = await served.engine.store.inspect()
        used = await served.engine.store.stored_bytes("")
        await served.sdk.responses.delete("resp_1")
        less = await served.engine.store.stored_bytes("")

    assert (kept.output_text, kept.previous_response_id, kept.metadata) == ("Answer 2", "resp_1", {"kept": "yes"})
    assert inputs == ["msg_1_0", "msg_1_1", "msg_2_0"]
    said = [one["content"] for one in backend.requests[-1]["messages"]]
    assert said[:5] == ["Question 1", "Answer 1", "Question 2", "Answer 2", "Question 3"]
    assert said[-1] == "Question 4"
    assert fourth.output_text == "You said: Question 4"
    assert counts["responses"] == 4
    body = next(row["body"] for row in CHAIN["responses"] if row["id"] == "resp_1")
    assert used - less == len(body) + sum(len(item["body"]) for item in items(1))


async def test_an_item_of_the_first_schema_can_be_referred_to(url: str, backend: ReplayBackend) -> None:
    await written(url, 1, CHAIN)
    reference: Any = {"type": "item_reference", "id": "msg_1_0"}
    async with serve(HttpBackend("replay", backend.url, ""), store=url) as served:
        await served.sdk.responses.create(model="m", input=[reference])

    assert backend.requests[-1]["messages"][-1]["content"] == "Question 1"


async def test_keys_and_usage_from_before_budgets_are_read(url: str) -> None:
    key = {"id": "key_1", "tenant": "acme", "name": "old", "digest": b"d" * 32, "shown": "sk-…", "created_at": 1}
    limits = {"old_until": 0, "models": "[]", "tokens_per_day": 5, "caches": 0}
    today = day_of(NOW)
    use = {"tenant": "acme", "day": today, "api_key": "key_1", "requests": 3, "input_tokens": 4, "output_tokens": 5}
    await written(url, 13, {"api_keys": [{**key, **limits}], "api_key_days": [use]})
    store = await open_store(url)
    found = await store.find_api_key(b"d" * 32)
    (row,) = await store.usage("acme", today, today + 1, ["key", "model", "day"])
    await store.close()

    assert found is not None
    assert (found.limits.tokens_per_day, found.limits.budget, found.tenant_budget, found.role) == (
        5,
        None,
        None,
        "use",
    )
    assert (row.key_id, row.model, row.requests, row.input_tokens, row.output_tokens, row.cost) == (
        "key_1",
        "",
        3,
        4,
        5,
        0,
    )


async def test_a_database_of_before_files_takes_files_stores_and_containers_beside_what_is_in_it(
    url: str, backend: ReplayBackend
) -> None:
    await written(url, BEFORE_FILES, CHAIN)
    async with serve(HttpBackend("replay", backend.url, ""), store=url) as served:
        sdk, kept = served.sdk, served.engine.store
        before = await kept.stored_bytes("")
        store = (await sdk.vector_stores.create(name="notes")).id
        file = ("a.txt", b"The cat sleeps all day.")
        done = await sdk.vector_stores.files.upload_and_poll(vector_store_id=store, file=file, poll_interval_ms=20)
        (hit,) = (await sdk.vector_stores.search(store, query="cat")).data
        third = await sdk.responses.create(model="m", input="Question 3", previous_response_id="resp_2", store=False)
        filled = await kept.stored_bytes("")
        container = (await sdk.containers.create(name="work", file_ids=[done.id])).id
        (copy,) = (await sdk.containers.files.list(container)).data
        copied = (await sdk.containers.files.content.retrieve(copy.id, container_id=container)).content
        await sdk.files.delete(done.id)
        await sdk.vector_stores.delete(store)
        await sdk.containers.delete(container)
        after = await kept.stored_bytes("")

    assert (done.status, hit.content[0].text) == ("completed", "The cat sleeps all day.")
    assert third.output_text == "You said: Question 3"
    assert copied == file[1]
    assert filled >= before + 2 * len(file[1])
    assert after == before
