"""How PostgreSQL reads lists of responses: in the order of an index, and no further than the page
needs, also for a role that row security binds.
"""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest

from antiphon.query.response_filters import parse_filters
from antiphon.storage.operations import facts, facts_page, facts_values
from antiphon.storage.operations.step import Composed, Operation
from antiphon.storage.postgres.link import SEE
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.facts import FactsQuery
from tests.store.facts import new_facts
from tests.support.postgres import Postgres, owned_by_a_role
from tests.support.statements import statements_of

COUNT, COMPARED, COUNTED = 20_000, 1_000, 500
"""Responses, and how many of them a list compares first, and suggestions count."""

_COPIED = {
    "id": "'resp_' || number",
    "began": "number * 1000",
    "model": "'m' || number % 2",
    "status": "CASE WHEN number % 50 = 0 THEN 'failed' ELSE status END",
}
"""What differs between the responses."""

pytestmark = pytest.mark.wide


@pytest.fixture
async def connection(postgres: Postgres) -> AsyncIterator[Any]:
    """The connection of a role to a database with many responses of one tenant."""
    url = await owned_by_a_role(postgres)
    store = await PostgresStore.open(url)
    await store.write(facts.put_new, [new_facts("resp_0", "t", began=1, ended=1, model="m")])
    await store.close()
    opened = await asyncpg.connect(url)
    await opened.execute(SEE.replace("$1", "'*'").replace("$2", "false"))
    columns = ", ".join([_COPIED.get(name, f"facts.{name}") for name in facts.COLUMNS])
    await opened.execute(
        f"INSERT INTO facts ({', '.join(facts.COLUMNS)}) "
        f"SELECT {columns} FROM facts, generate_series(1, {COUNT - 1}) AS number"
    )
    await opened.execute("ANALYZE facts")
    yield opened
    await opened.close()


async def rows_read(connection: Any, operation: Operation[Any]) -> tuple[int, Any]:
    """Return the most rows that a step of the plans of an operation read, and its result."""
    most = 0
    statements = statements_of(operation)
    rows: Any = None
    try:
        while True:
            step = statements.send(rows)
            rows = []
            if isinstance(step, Composed):
                explained = f"EXPLAIN (ANALYZE, FORMAT JSON) {step.text}"
                (plan,) = json.loads(await connection.fetchval(explained, *step.values))
                most = max(most, *read_by(plan["Plan"]))
                rows = await connection.fetch(step.text, *step.values)
    except StopIteration as end:
        return most, end.value


def read_by(node: Any) -> Iterator[int]:
    """Yield how many rows each step of a plan read."""
    yield node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    for part in node.get("Plans", ()):
        yield from read_by(part)


@pytest.mark.parametrize("tenant", ["t", None], ids=["one-tenant", "all-tenants"])
@pytest.mark.parametrize("line", ["", "took:<1s", "status:failed", "model:m1", "-model:m0"])
async def test_a_page_reads_no_more_than_it_compares(
    line: str, tenant: str | None, connection: Any
) -> None:
    query = FactsQuery(10, filters=parse_filters(line, 0))
    most, page = await rows_read(connection, facts_page.page(tenant, query))

    assert len(page.facts) == 10
    assert most <= COMPARED


@pytest.mark.parametrize("tenant", ["t", None], ids=["one-tenant", "all-tenants"])
async def test_an_index_finds_responses_by_their_ids(tenant: str | None, connection: Any) -> None:
    filters = parse_filters("id:resp_1,resp_7 OR id:resp_9999 OR chain:resp_42", 0)
    most, page = await rows_read(
        connection, facts_page.page(tenant, FactsQuery(10, filters=filters))
    )

    assert [one.id for one in page.facts] == ["resp_9999", "resp_42", "resp_7", "resp_1"]
    assert most <= 4


@pytest.mark.parametrize("tenant", ["t", None], ids=["one-tenant", "all-tenants"])
async def test_suggestions_read_no_more_than_they_count(
    tenant: str | None, connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts_values, "MOST_COUNTED", COUNTED)
    most, found = await rows_read(connection, facts_values.values(tenant, "model"))

    assert dict(found) == {"m0": COUNTED // 2, "m1": COUNTED // 2}
    assert most <= COUNTED
