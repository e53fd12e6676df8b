"""ModelRegistry by the names that backends list, and what is counted of their responses."""

import time
from dataclasses import replace
from typing import Any

import pytest

from antiphon import ids
from antiphon.telemetry.metrics import (
    MOST_MODELS,
    OTHER,
    ModelNames,
    ResponseMetrics,
)
from antiphon.telemetry.tenants import TenantMetrics
from antiphon.tools.registry import Toolset
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import called, query, scripted_parts, stated
from tests.support.tools import MCP, Servers, Web, boom, output


async def names(*listed: str) -> ModelNames:
    models = ModelRegistry([ScriptedBackend([], models=listed)], ids.now)
    await models.refresh()
    return ModelNames(models)


async def test_a_model_is_called_as_its_backend_lists_it() -> None:
    known = await names("small", "llama3:latest")

    assert [known.of(name) for name in ("small", "llama3", "llama3:latest")] == [
        "small",
        *["llama3:latest"] * 2,
    ]
    assert known.of("made up") == OTHER


async def test_a_long_list_of_models_is_cut() -> None:
    listed = [f"m{number}" for number in range(MOST_MODELS + 1)]
    known = await names(*listed)

    assert [known.of(name) for name in listed] == [*listed[:-1], OTHER]


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
    created, _ = scripted_parts(reply, stated("5"))
    created.run.toolset = Toolset(web_search=Web(), mcp=servers)
    created.run.observers.add(
        ResponseMetrics(created.measures, ModelNames(created.models), time.monotonic)
    )

    await query(created, tools=[MCP, {"type": "web_search"}])

    assert [(*one.labels.values(), one.value) for one in created.measures.tools.samples()] == [
        (*counted, 1)
    ]


@pytest.mark.parametrize("cpu", [2.5, 0.0])
async def test_the_cpu_time_of_code_and_its_pauses_are_counted(cpu: float) -> None:
    created, _ = scripted_parts(called("dice__roll", "{}"), stated("5"))
    created.run.toolset = Toolset(
        mcp=Servers(roll=lambda use: replace(output("5"), cpu=cpu, paused=1.5))
    )
    created.run.observers.add(
        ResponseMetrics(created.measures, ModelNames(created.models), time.monotonic)
    )
    created.run.observers.add(TenantMetrics(created.measures, most=1))

    await query(created, tools=[MCP])

    assert {one.labels["kind"]: one.value for one in created.measures.code_seconds.samples()} == {
        "cpu": cpu,
        "paused": 1.5,
    }
    by_tenant = [
        (*one.labels.values(), one.value) for one in created.measures.tenant_code_seconds.samples()
    ]
    assert by_tenant == [("", "cpu", cpu), ("", "paused", 1.5)]
