"""Where traces go: to a collector that the settings or OpenTelemetry's variables name, and nowhere
else.
"""

import signal
from pathlib import Path

import pytest
from openai import AsyncOpenAI

from antiphon.build import collector_of
from antiphon.errors import ConfigError
from antiphon.version import __version__
from tests.support.cases import each
from tests.support.cli import antiphon, serving
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
        (
            "",
            {OTLP: "http://b:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/in"},
            "http://c/in",
        ),
        ("http://a:4318", {"OTEL_SDK_DISABLED": "true"}, ""),
        ("", {OTLP: "http://b:4318", "OTEL_TRACES_EXPORTER": "none"}, ""),
    ],
)
def test_a_setting_names_the_collector_and_else_the_variables_of_opentelemetry(
    endpoint: str, environment: dict[str, str], url: str
) -> None:
    assert collector_of(endpoint, environment) == url


BAD = [
    "collector:4318",
    "grpc://u:secret@h:4317",
    "http://",
    "http://u:secret@h:0",
    "http://u:secret@h#x",
    "http://u:secret@a b",
]


@each("url", BAD)
def test_a_url_that_no_collector_has_is_refused_by_the_name_of_its_place(url: str) -> None:
    for name, endpoint, variables in (
        ("trace_endpoint", url, {}),
        (OTLP, "", {OTLP: url}),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": url}),
    ):
        with pytest.raises(ConfigError, match=f"^{name} is ") as refused:
            collector_of(endpoint, variables)
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(("command", "code"), [(("serve", "--port", "0"), 2), (("doctor",), 1)])
@pytest.mark.parametrize("variable", ["ANTIPHON_TRACE_ENDPOINT", OTLP])
async def test_commands_name_a_bad_url_of_the_collector_without_its_secret(
    tmp_path: Path, variable: str, command: tuple[str, ...], code: int
) -> None:
    done = await antiphon(tmp_path, *command, **{variable: "http://u:a/secret@h:x"})
    assert done.code == code
    place = "trace_endpoint" if variable.startswith("ANTIPHON") else OTLP
    assert f"{place} is 'http://…@h:x'" in done.out + done.err
    assert "secret" not in done.out + done.err


@pytest.mark.parametrize("variable", ["ANTIPHON_TRACE_ENDPOINT", OTLP])
async def test_a_server_sends_its_spans_before_it_ends(
    tmp_path: Path, backend: ReplayBackend, variable: str
) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    async with collecting() as collector:
        reported = {variable: collector.url, "OTEL_EXPORTER_OTLP_HEADERS": "x-team=mine"}
        async with serving(tmp_path, *flags, **reported) as server:
            async with AsyncOpenAI(base_url=server.url, api_key="x") as sdk:
                await sdk.responses.create(model="m", input="Hi")
            done = await server.stop(signal.SIGTERM)

    assert (done.code, done.err) == (0, "")
    assert collector.names() == ["chat m", "POST /v1/responses"]
    assert collector.headers[0]["x-team"] == "mine"
    assert (
        collector.resource().items()
        >= {"service.name": "antiphon", "service.version": __version__}.items()
    )


async def test_a_server_may_have_another_name(tmp_path: Path, backend: ReplayBackend) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    async with collecting() as collector:
        reported = {OTLP: collector.url, "OTEL_SERVICE_NAME": "mine"}
        async with serving(tmp_path, *flags, **reported) as server:
            async with AsyncOpenAI(base_url=server.url, api_key="x") as sdk:
                await sdk.models.list()
            await server.stop(signal.SIGTERM)

    assert collector.resource()["service.name"] == "mine"


async def test_a_collector_outage_does_not_affect_answers(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    removed = {OTLP: "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    async with serving(tmp_path, *flags, **removed) as server:
        async with AsyncOpenAI(base_url=server.url, api_key="x") as sdk:
            response = await sdk.responses.create(model="m", input="canary")
        done = await server.stop(signal.SIGTERM)

    assert (response.status, done.code) == ("completed", 0)
    assert "ERROR opentelemetry" in done.err
    assert "canary" not in done.err
