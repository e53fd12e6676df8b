"""WebSocket clients against the server of the documented installation, with the newest versions of
the day.
"""

import asyncio
import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support import npm
from tests.support.command import environment, start
from tests.support.doc_blocks import ROOT
from tests.system.clients import fresh
from tests.system.clients.codex import Codex
from tests.system.clients.model import Model, Turn
from tests.system.clients.relay import Relay
from tests.system.clients.test_agents_sdk import test_an_agent_works_over_a_websocket  # noqa: F401 - runs here too
from tests.system.clients.test_openai_sdk import (
    test_a_websocket_goes_on_from_what_was_not_stored,  # noqa: F401 - runs here too
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(1500)]

PATIENCE = 120.0
"""Seconds for a command."""


@pytest.fixture(scope="module")
def python(request: pytest.FixtureRequest) -> str:
    """The interpreter of the fresh environment; the run shows its versions."""
    found = str(fresh.python())
    lines = (line for line in fresh.versions().split() if "==" in line)
    displayed = (
        f"\nServer: {', '.join(lines)}\nClients: openai {version('openai')}, websockets "
        f"{version('websockets')}\n"
    )
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        sys.stdout.write(displayed)
    return found


async def run(python: str, home: Path, *arguments: str) -> tuple[int, str, str]:
    """Run the command of the fresh environment to its end; return exit code, output and errors."""
    process = await start(home, *arguments, python=python, PYTHONPATH="")
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    return process.returncode or 0, out.decode(), err.decode()


async def test_the_installation_is_the_documented_one() -> None:
    assert fresh.DOCUMENTED in (ROOT / "docs/get-started/install.md").read_text()


async def test_the_doctor_loads_every_package(python: str, tmp_path: Path) -> None:
    code, out, err = await run(python, tmp_path, "doctor", "--json", "--store", "sqlite://")
    found = [one for one in json.loads(out) if one["area"] == "packages"]
    assert (code, err) == (0, "")
    assert [one["state"] for one in found] == ["ok"], found
    assert "websockets " in found[0]["text"]


async def test_the_requirements_of_websocket_mode_are_met(
    python: str, url: str, tmp_path: Path
) -> None:
    flags = (
        "--base-url",
        url,
        "--only",
        "responses:websocket",
        "--model",
        "fake-model",
        "--json",
        "report.json",
    )
    _, out, err = await run(python, tmp_path, "verify", *flags)
    results = {
        one["id"]: one for one in json.loads((tmp_path / "report.json").read_text())["results"]
    }
    failed = [name for name, one in results.items() if one["outcome"] == "failed"]
    assert failed == [], out + err
    assert results["responses:websocket:created"]["outcome"] == "passed"


async def test_the_sdk_for_javascript_continues_a_response(url: str, model: Model) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("the SDK for JavaScript needs Node.js, and Node.js is missing")
    folder = npm.CACHE / "openai"
    npm.install_packages(
        Path(__file__).parent / "npm/openai", "the SDK for JavaScript", folder=folder
    )
    model.play(Turn("Good morning"), Turn("Good night"))
    script = Path(__file__).with_name("openai_ws.mjs")
    process = await asyncio.create_subprocess_exec(
        *(node, str(script), url),
        cwd=folder,
        env=environment(folder),
        stdin=-3,
        stdout=-1,
        stderr=-1,
    )
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 0, err.decode()
    first, second = json.loads(out)
    assert (first["text"], second["text"]) == ("Good morning", "Good night")
    assert first["events"][0] == second["events"][0] == "response.created"
    assert [message["content"] for message in model.requests[-1]["messages"]] == [
        "hi",
        "Good morning",
        "bye",
    ]


async def test_codex_works_over_a_websocket(wire: Relay, model: Model, tmp_path: Path) -> None:
    codex = Codex.within(tmp_path, wire.url)
    model.play(Turn("Done."))
    ran = await codex.run(model="gpt-5.5", websockets=True)
    assert ran.stated == ["Done."]
    assert b"101 Switching Protocols" in wire.received
    assert b"POST " not in wire.sent  # which it would fall back to
