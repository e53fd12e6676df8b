"""How much SQLite reads of the facts, which it reads on the event loop."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.query.conditions import Filters
from antiphon.query.response_filters import parse_filters
from antiphon.storage.operations import facts, facts_detail, facts_page, figures
from antiphon.storage.operations.step import Composed, Operation
from antiphon.storage.records.facts import FactsQuery
from antiphon.storage.records.figures import FiguresQuery
from antiphon.storage.sqlite.store import SqliteStore
from tests.store.facts import new_facts
from tests.support.sqlite_steps import counted
from tests.support.statements import statements_of

STEPS = 1_000
"""Tens of instructions that the page of a response may need; a look at each of 5,000 rows needs
more.
"""


async def test_a_response_without_children_is_found_without_a_scan(tmp_path: Path) -> None:
    store = SqliteStore.open(f"sqlite://{tmp_path}/antiphon.db")
    leaf = new_facts(previous_response_id="resp_root")
    await store.write(
        facts.put_new, [leaf, *[new_facts(previous_response_id="resp_root") for _ in range(5_000)]]
    )
    steps = counted(store)

    found = await store.read(facts_detail.family, leaf.tenant, leaf.id)

    assert found is not None and not found.children
    assert len(steps) < STEPS
    await store.close()


def read_of_list(tenant: str | None, filters: Filters) -> Operation[Any]:
    return facts_page.page(tenant, FactsQuery(10, filters=filters))


def read_of_figures(tenant: str | None, filters: Filters) -> Operation[Any]:
    return figures.figures(tenant, FiguresQuery(0, 10_000, 60, "model", filters))


@pytest.mark.parametrize("tenant", ["t", None], ids=["one-tenant", "all-tenants"])
@pytest.mark.parametrize("read", [read_of_list, read_of_figures])
async def test_an_index_finds_responses_by_their_ids(
    read: Callable[[str | None, Filters], Operation[Any]], tenant: str | None, tmp_path: Path
) -> None:
    await SqliteStore.open(f"sqlite://{tmp_path}/antiphon.db").close()
    filters = parse_filters(
        f"id:{','.join(f'resp_{number}' for number in range(30))} OR id:resp_x", 0
    )

    steps = statements_of(read(tenant, filters))
    step = next(one for one in steps if isinstance(one, Composed))

    with sqlite3.connect(tmp_path / "antiphon.db") as connection:
        explained = f"EXPLAIN QUERY PLAN {step.text.replace('$', '?')}"
        plan = [row[3] for row in connection.execute(explained, step.values)]
    assert plan[0] == "SEARCH facts USING INDEX sqlite_autoindex_facts_1 (id=?)", plan
