"""A store that is timed, whichever it is."""

import inspect
from pathlib import Path

import pytest

from antiphon.storage.contract import Store
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.telemetry.metrics import Measures
from antiphon.telemetry.store_metrics import READS, WRITES, timed
from tests.store.check import check_store


def test_every_method_of_a_store_is_timed_that_asks_it_anything() -> None:
    methods = {name for base in Store.__mro__ for name, what in vars(base).items() if inspect.iscoroutinefunction(what)}
    assert methods - {"close", "inspect", "input_page", "measure_chain"} == READS | WRITES


@pytest.mark.wide
async def test_a_timed_store_keeps_every_promise(tmp_path: Path) -> None:
    measures = Measures()
    await check_store(lambda: timed(SqliteStore.open(f"sqlite://{tmp_path}/a.db"), measures))

    counts = {one.labels["kind"]: sum(one.counts) for one in measures.store.samples()}
    assert min(counts["write"], counts["read"]) > 1000
    assert measures.store_errors.value("load") == 1
