"""ModelRegistry by the names that backends list, and a store that is timed whichever it is."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from antiphon import ids
from antiphon.storage.contract import Store
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.telemetry.metrics import Measures
from antiphon.telemetry.response_metrics import (
    MOST_MODELS,
    OTHER,
    READS,
    WRITES,
    ModelNames,
    ResponseMetrics,
    timed,
)
from antiphon.testing import check_store
from antiphon.tools.registry import Toolset
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.engine import ask, called, engine, said
from tests.support.tools import MCP, Servers, Web, boom


async def names(*listed: str) -> ModelNames:
    models = ModelRegistry([ScriptedBackend([], models=listed)], ids.now)
    await models.refresh()
    return ModelNames(models)


async def test_a_model_is_called_as_its_backend_lists_it() -> None:
    known = await names("small", "llama3:latest")

    assert [known.of(name) for name in ("small", "llama3", "llama3:latest")] == ["small", *["llama3:latest"] * 2]
    assert known.of("made up") == OTHER


async def test_a_long_list_of_models_is_cut() -> None:
    listed = [f"m{number}" for number in range(MOST_MODELS + 1)]
    known = await names(*listed)

    assert [known.of(name) for name in listed] == [*listed[:-1], OTHER]


def test_every_method_of_a_store_is_timed_that_asks_it_anything() -> None:
    methods = {name for base in Store.__mro__ for name, what in vars(base).items() if inspect.iscoroutinefunction(what)}
    assert methods - {"close", "inspect"} == READS | WRITES


async def test_a_timed_store_keeps_every_promise(tmp_path: Path) -> None:
    measures = Measures()
    await check_store(lambda: timed(SqliteStore.open(f"sqlite://{tmp_path}/a.db"), measures))

    counts = {one.labels["kind"]: one.value for one in measures.store.samples() if one.suffix == "_count"}
    assert counts["write"] > counts["read"] > 100
    assert measures.store_errors.value("load") == 1


@pytest.mark.parametrize(
    ("reply", "servers", "counted"),
    [
        (called("dice__roll", "{}"), Servers(), ("mcp", "completed")),
        (called("dice__roll", "{}"), Servers(roll=boom), ("mcp", "failed")),
        (called("web_search", '{"query": "q"}'), Servers(), ("web_search", "completed")),
    ],
)
async def test_calls_of_hosted_tools_are_counted_by_their_kind_and_not_by_their_names(
    reply: Any, servers: Servers, counted: tuple[str, str]
) -> None:
    made, _ = engine(reply, said("5"))
    made.toolset = Toolset(web_search=Web(), mcp=servers)
    made.observers.add(ResponseMetrics(made.measures, ModelNames(made.models)))

    await ask(made, tools=[MCP, {"type": "web_search"}])

    assert [(*one.labels.values(), one.value) for one in made.measures.tools.samples()] == [(*counted, 1)]
