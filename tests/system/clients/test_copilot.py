"""GitHub's Copilot CLI with a key of its own, over HTTP and over WebSocket: it answers, runs a
command, and goes on.
"""

import asyncio
import json
from pathlib import Path

import pytest

from tests.support import npm
from tests.support.command import environment
from tests.system.clients.model import Call, Model, Turn

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(400),
    pytest.mark.nightly,
]

PINNED = Path(__file__).parent / "npm" / "copilot"
FOLDER = npm.CACHE / "copilot"
PATIENCE = 90.0
"""Seconds for a run; it takes a few."""

GOOD = Turn("Good morning, Dover.")


@pytest.fixture(params=["http", "websockets"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def copilot(folder: Path, url: str, transport: str, *arguments: str) -> str:
    """Run the program; return what it printed. Skips the test like `npm.install`."""
    program = npm.install(PINNED, "Copilot CLI", "copilot", folder=FOLDER, trial=("--version",))
    home = folder / "home"
    work = folder / "work"
    for each in (home, work):
        each.mkdir(exist_ok=True)
    variables = environment(
        home,
        COPILOT_PROVIDER_BASE_URL=url,
        COPILOT_PROVIDER_API_KEY="sk-test",
        COPILOT_PROVIDER_WIRE_API="responses",
        COPILOT_PROVIDER_TRANSPORT=transport,
        COPILOT_MODEL="gpt-5.5",
        COPILOT_OFFLINE="true",
        COPILOT_AUTO_UPDATE="false",
    )
    process = await asyncio.create_subprocess_exec(
        *(str(program), "--allow-all-tools", *arguments),
        cwd=work,
        env=variables,
        stdin=-3,
        stdout=-1,
        stderr=-1,
    )
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 0, (out + err).decode()[-2000:]
    return out.decode()


async def test_it_answers(url: str, model: Model, transport: str, tmp_path: Path) -> None:
    model.play(GOOD)
    assert GOOD.text in await copilot(tmp_path, url, transport, "-p", "hi")


async def test_it_runs_a_command_and_returns_the_output_to_the_model(
    url: str, model: Model, transport: str, tmp_path: Path
) -> None:
    command = {"command": "echo sum-$((40+2)) > sum.txt; cat sum.txt", "description": "Add."}
    model.play(Turn(calls=(Call("bash", command),)), Turn("It is 42."))
    printed = await copilot(tmp_path, url, transport, "-p", "What is 40 + 2?")
    assert "It is 42." in printed
    assert (tmp_path / "work" / "sum.txt").read_text() == "sum-42\n"
    results = [message for message in model.requests[-1]["messages"] if message["role"] == "tool"]
    assert "sum-42" in json.dumps(results)


async def test_a_session_goes_on(url: str, model: Model, transport: str, tmp_path: Path) -> None:
    model.play(GOOD, Turn("You said hi."))
    await copilot(tmp_path, url, transport, "-p", "Say hi to the harbour.")
    assert "You said hi." in await copilot(
        tmp_path, url, transport, "--continue", "-p", "And again?"
    )
    assert "Say hi to the harbour." in model.sent_to()
    assert GOOD.text in model.sent_to()
