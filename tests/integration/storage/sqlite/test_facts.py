"""How much SQLite reads of the facts, which it reads on the event loop."""

import sqlite3
from pathlib import Path

from antiphon.storage.operations import facts, facts_detail
from antiphon.storage.sqlite.store import SqliteStore
from tests.store.facts import new_facts

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
    steps = _counted(store)

    found = await store.read(facts_detail.family, leaf.tenant, leaf.id)

    assert found is not None and not found.children
    assert len(steps) < STEPS
    await store.close()


def _counted(store: SqliteStore) -> list[None]:
    """A list that has an element for each ten instructions of the store's reader from now on."""
    steps: list[None] = []
    reader = store._reader
    assert isinstance(reader, sqlite3.Connection)
    reader.set_progress_handler(lambda: steps.append(None), 10)
    return steps
