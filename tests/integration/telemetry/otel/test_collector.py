"""Where traces go: to a collector that the settings or OpenTelemetry's variables name, and nowhere else."""

import signal
from pathlib import Path

import pytest
from openai import AsyncOpenAI

from antiphon.application import collector_of
from antiphon.version import __version__
from tests.support.cli import serving
from tests.support.replay import ReplayBackend
from tests.support.spans import collecting

OTLP = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.mark.parametrize(
    ("endpoint", "environment", "url"),
    [
        ("", {}, ""),
        ("http://a:4318/", {}, "http://a:4318/v1/traces"),
        ("", {OTLP: "http://b:4318"}, "http://b:4318/v1/traces"),
        ("http://a:4318", {OTLP: "http://b:4318"}, "http://a:4318/v1/traces"),
        ("", {OTLP: "http://b:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/in"}, "http://c/in"),
        ("http://a:4318", {"OTEL_SDK_DISABLED": "true"}, ""),
        ("", {OTLP: "http://b:4318", "OTEL_TRACES_EXPORTER": "none"}, ""),
    ],
)
def test_a_setting_names_the_collector_and_else_the_variables_of_opentelemetry(
    endpoint: str, environment: dict[str, str], url: str
) -> None:
    assert collector_of(endpoint, environment) == url


@pytest.mark.parametrize("variable", ["ANTIPHON_TRACE_ENDPOINT", OTLP])
async def test_a_server_sends_its_spans_before_it_ends(tmp_path: Path, backend: ReplayBackend, variable: str) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    async with collecting() as collector:
        told = {variable: collector.url, "OTEL_EXPORTER_OTLP_HEADERS": "x-team=mine"}
        async with serving(tmp_path, *flags, **told) as server:
            async with AsyncOpenAI(base_url=server.url, api_key="x") as sdk:
                await sdk.responses.create(model="m", input="Hi")
            done = await server.stop(signal.SIGTERM)

    assert (done.code, done.err) == (0, "")
    assert collector.names() == ["chat m", "POST /v1/responses"]
    assert collector.headers[0]["x-team"] == "mine"
    assert collector.resource().items() >= {"service.name": "antiphon", "service.version": __version__}.items()


async def test_a_server_may_have_another_name(tmp_path: Path, backend: ReplayBackend) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    async with collecting() as collector:
        told = {OTLP: collector.url, "OTEL_SERVICE_NAME": "mine"}
        async with serving(tmp_path, *flags, **told) as server:
            async with AsyncOpenAI(base_url=server.url, api_key="x") as sdk:
                await sdk.models.list()
            await server.stop(signal.SIGTERM)

    assert collector.resource()["service.name"] == "mine"


async def test_a_collector_that_is_gone_costs_no_answer(tmp_path: Path, backend: ReplayBackend) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    gone = {OTLP: "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    async with serving(tmp_path, *flags, **gone) as server:
        async with AsyncOpenAI(base_url=server.url, api_key="x") as sdk:
            response = await sdk.responses.create(model="m", input="canary")
        done = await server.stop(signal.SIGTERM)

    assert (response.status, done.code) == ("completed", 0)
    assert "ERROR opentelemetry" in done.err
    assert "canary" not in done.err
