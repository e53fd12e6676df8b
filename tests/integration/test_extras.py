"""What a server without extras says: to its operator at the start, to a client when a request needs
one.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon import AsyncAntiphon, ClientError, extras
from antiphon.build import build
from antiphon.cli.main import NEEDED, VERIFY
from antiphon.config import BackendConfig, McpServerConfig, Settings
from antiphon.errors import ConfigError
from antiphon.extras import EXTRAS
from antiphon.protocol.resources import CreateWebhookEndpoint
from tests.support.cli import antiphon
from tests.support.extras import without
from tests.support.packages import write_broken

SETTINGS: dict[str, Settings] = {
    "correct": Settings(backends=[BackendConfig(url="http://127.0.0.1:9/v1", check_answers=True)]),
    "mcp": Settings(mcp_servers=[McpServerConfig(label="a", url="https://example.com/mcp")]),
    "otel": Settings(trace_endpoint="http://127.0.0.1:9"),
    "postgres": Settings(store="postgresql://a@127.0.0.1/b"),
    "web": Settings(web_search="http://127.0.0.1:9"),
}

TOOLS: dict[str, dict[str, Any]] = {
    "grammar": {
        "type": "custom",
        "name": "a",
        "format": {"type": "grammar", "syntax": "regex", "definition": "a+"},
    },
    "mcp": {"type": "mcp", "server_label": "a", "server_url": "https://example.com/mcp"},
}


@pytest.mark.parametrize("extra", SETTINGS)
async def test_a_setting_that_needs_an_extra_fails_at_the_start(extra: str) -> None:
    with without(extra), pytest.raises(ConfigError, match=rf"pip install 'antiphon\[{extra}\]'"):
        await build(SETTINGS[extra], {})


SECRETS: dict[str, Settings] = {
    "correct": Settings(
        backends=[BackendConfig(url="http://a:pass-phrase@127.0.0.1:9/v1", check_answers=True)]
    ),
    "otel": Settings(trace_endpoint="http://a:pass-phrase@127.0.0.1:9"),
    "postgres": Settings(store="postgresql://a:pass-phrase@127.0.0.1/b"),
}


@pytest.mark.parametrize("extra", SECRETS)
async def test_the_error_of_such_a_setting_contains_no_password(extra: str) -> None:
    with without(extra), pytest.raises(ConfigError, match=r"127\.0\.0\.1") as raised:
        await build(SECRETS[extra], {})
    assert "pass-phrase" not in str(raised.value)


@pytest.mark.parametrize("extra", TOOLS)
async def test_a_request_that_needs_an_extra_is_rejected_and_the_log_has_the_command(
    extra: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncAntiphon() as client:
        with without(extra), pytest.raises(ClientError) as raised:
            await client.responses.create(model="demo", input="Hello", tools=[TOOLS[extra]])
    assert (raised.value.status, raised.value.code) == (400, "unsupported_value")
    assert "not available on this server" in raised.value.message
    assert "pip" not in raised.value.message
    assert f"pip install 'antiphon[{extra}]'" in caplog.text


async def test_a_request_without_such_a_tool_needs_no_extra() -> None:
    with without(*EXTRAS):
        async with AsyncAntiphon() as client:
            response = await client.responses.create(
                model="demo", input="Hello", tools=[{"type": "custom", "name": "a"}]
            )
    assert response.status == "completed"


async def test_a_webhook_endpoint_is_not_created_if_deliveries_are_impossible() -> None:
    server = await build(
        Settings(store="sqlite://", backends=[BackendConfig(url="http://127.0.0.1:9/v1")]), {}
    )
    wanted = CreateWebhookEndpoint(
        name="a", url="https://example.com/", event_types=["response.completed"]
    )
    try:
        with without("webhooks"), pytest.raises(ClientError, match="Webhooks are not available"):
            await server.endpoints.create("", wanted)
    finally:
        await server.close()


@pytest.mark.parametrize("command", NEEDED)
async def test_a_command_without_its_extra_names_the_extra(command: str, tmp_path: Path) -> None:
    with without(NEEDED[command]):
        done = await antiphon(tmp_path, command, "--model", "a", "list")
        listed = await antiphon(tmp_path, "--help")
    assert (done.code, done.out) == (2, "")
    assert f"pip install 'antiphon[{NEEDED[command]}]'" in done.err
    assert f"pip install 'antiphon[{NEEDED[command]}]'" in listed.out


async def test_a_command_without_the_conformance_checker_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "antiphon_verify", None)
    done = await antiphon(tmp_path, VERIFY, "--model", "a", "list")
    listed = await antiphon(tmp_path, "--help")
    assert (done.code, done.out) == (2, "")
    assert "antiphon-verify is not installed" in done.err
    for text in (done.err, listed.out):
        assert "pip install ./verify" in text
        assert "pip install antiphon-verify" not in text  # nobody has published that name


@pytest.mark.wide
def test_each_module_that_uses_an_extra_needs_its_packages() -> None:
    """Else it could be loaded although they are broken."""
    code = (
        "import sys; from antiphon.extras import EXTRAS, USERS; from antiphon.packages import "
        "problem_with\n"
        "sys.modules.update(dict.fromkeys(one for packages in EXTRAS.values() for one in "
        "packages))\n"
        "print(*(module for users in USERS.values() for module in users if not "
        "problem_with(module)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


async def test_a_request_that_needs_a_broken_package_is_rejected_and_the_log_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with without("grammar"):
        del sys.modules["llguidance"]
        write_broken(tmp_path, "llguidance", "a shared library that is gone")
        monkeypatch.syspath_prepend(tmp_path)
        new: Any = {
            "type": "grammar",
            "syntax": "regex",
            "definition": "a grammar that is checked here first",
        }
        async with AsyncAntiphon() as client:
            with pytest.raises(ClientError) as raised:
                await client.responses.create(
                    model="demo", input="Hello", tools=[{**TOOLS["grammar"], "format": new}]
                )
    assert (raised.value.status, raised.value.code) == (400, "unsupported_value")
    assert "llguidance" not in raised.value.message
    assert "llguidance 99.1 cannot be loaded: OSError: libnowhere.so" in caplog.text


@pytest.mark.parametrize("extra", SETTINGS)
async def test_a_setting_that_needs_a_broken_package_fails_at_the_start(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(extras.USERS, extra, ("package_that_is_nowhere",))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="package_that_is_nowhere cannot be loaded"):
        await build(SETTINGS[extra], {})
