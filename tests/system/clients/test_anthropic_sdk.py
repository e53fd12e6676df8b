"""Anthropic's official SDKs for Python and TypeScript, of both versions of the API, unmodified,
against the server.
"""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import npm, pip
from tests.support.command import environment
from tests.system.clients.model import MODELS, Call, Model, Turn

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

HERE = Path(__file__).parent
FOLDER = HERE / "messages"
RUNNING = 60.0
"""Seconds that a run may take; it takes three."""

CALL = Turn("I look.", calls=(Call("tide", {"port": "Dover"}),), reasoning="Let me see.")
SEEN = [["thinking", "text", "tool_use"], "tool_use", {"port": "Dover"}, "It is high."]


@pytest.mark.parametrize("version", ["1", "2"])
async def test_the_sdk_for_python_reads_all_that_the_server_sends(
    url: str, model: Model, tmp_path: Path, version: str
) -> None:
    programs = pip.install(FOLDER / f"requirements-{version}.txt", f"anthropic-{version}")
    program = (str(programs / "python"), str(FOLDER / "use_sdk.py"))
    await expect_all_to_be_read(url, model, tmp_path, *program)


@pytest.mark.parametrize("major", ["0", "1"])
async def test_the_sdk_for_typescript_reads_all_that_the_server_sends(
    url: str, model: Model, tmp_path: Path, major: str
) -> None:
    """Major 0 speaks version 2023-06-01 of the API, and major 1 version 2026-10-21."""
    if (node := shutil.which("node")) is None:
        pytest.skip("Anthropic's SDK for TypeScript needs Node.js, and Node.js is missing")
    folder = npm.CACHE / "anthropic"
    npm.install_packages(
        HERE / "npm" / "anthropic", "Anthropic's SDK for TypeScript", folder=folder
    )
    program = (node, str(FOLDER / "use_sdk.mjs"), f"anthropic-{major}")
    await expect_all_to_be_read(url, model, tmp_path, *program, folder=folder)


async def expect_all_to_be_read(
    url: str, model: Model, home: Path, *program: str, folder: Path | None = None
) -> None:
    """Run a program, in a folder, against the server; it prints what it saw."""
    turns = (CALL, Turn("It is high."))
    model.play(*turns, *turns, Turn("Once upon a time END and so on."))
    process = await asyncio.create_subprocess_exec(
        *(*program, url.removesuffix("/v1")),
        cwd=folder,
        env=environment(home, PYTHONPATH=""),
        stdout=-1,
        stderr=-1,
    )
    out, err = await asyncio.wait_for(process.communicate(), RUNNING)
    assert process.returncode == 0, err.decode()[-3000:]
    seen: dict[str, Any] = json.loads(out)

    assert seen["plain"] == seen["streamed"] == SEEN
    assert seen["stopped"] == "END"
    assert seen["counted"] > 0
    assert set(seen["models"]) == set(MODELS)
    assert seen["refused"] == [404, True, "not_found_error"]
