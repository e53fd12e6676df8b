"""Anthropic's official SDK, of both versions of the API, unmodified, against the server."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import pip
from tests.support.command import environment
from tests.system.clients.model import MODELS, Call, Model, Turn

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

FOLDER = Path(__file__).parent / "messages"
RUNNING = 60.0
"""Seconds that a run may take; it takes three."""

CALL = Turn("I look.", calls=(Call("tide", {"port": "Dover"}),), reasoning="Let me see.")
SEEN = [["thinking", "text", "tool_use"], "tool_use", {"port": "Dover"}, "It is high."]


@pytest.mark.parametrize("version", ["1", "2"])
async def test_the_sdk_reads_all_that_the_server_sends(
    url: str, model: Model, tmp_path: Path, version: str
) -> None:
    programs = pip.install(FOLDER / f"requirements-{version}.txt", f"anthropic-{version}")
    turn = (CALL, Turn("It is high."))
    model.play(*turn, *turn, Turn("Once upon a time END and so on."))
    process = await asyncio.create_subprocess_exec(
        *(str(programs / "python"), str(FOLDER / "use_sdk.py"), url.removesuffix("/v1")),
        env=environment(tmp_path, PYTHONPATH=""),
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
