"""Claude Code, unmodified, with a model behind the server that plays turns: it edits a file, runs a
command, loads a tool later, searches the web with the server's tool, and survives what backends do.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.replay import JSON, Answer, delta, sse
from tests.support.small_web import SmallWeb
from tests.system.clients import claude
from tests.system.clients.model import Call, Model, Turn

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(400),
    pytest.mark.nightly,
]

NAME = "fake-model"
PROMPT = "Please see to the harbour."


@pytest.fixture(scope="module")
def settings(local_tools: str) -> str:
    return f'{local_tools}messages_models = {{ "claude-*" = "{NAME}" }}\n'


async def test_it_runs_a_command_and_edits_a_file(url: str, model: Model, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    path = tmp_path / "work" / "tide.txt"
    path.write_text("high\n")
    edit = {"file_path": str(path), "old_string": "high", "new_string": "low"}
    model.play(
        Turn("I look.", calls=(Call("Read", {"file_path": str(path)}),), reasoning="Let me see."),
        Turn(calls=(Call("Edit", edit), Call("Bash", {"command": "cp tide.txt copy.txt"}))),
        Turn("It is done."),
    )
    flags = ("--allowedTools", "Edit,Bash")
    done = await claude.run(tmp_path, url, "claude-sonnet-5-5", PROMPT, *flags)

    assert (done.code, done.text) == (0, "It is done.")
    assert path.read_text() == "low\n"
    assert (tmp_path / "work" / "copy.txt").exists()
    assert [message["role"] for message in model.requests[-1]["messages"]][-2:] == ["tool", "tool"]
    assert {request["model"] for request in model.requests} == {NAME}


async def test_it_loads_a_deferred_tool_and_searches_with_the_tool_of_the_server(
    url: str, model: Model, web: SmallWeb, tmp_path: Path
) -> None:
    model.play(
        Turn(calls=(Call("ToolSearch", {"query": "select:WebSearch"}),)),
        Turn(calls=(Call("WebSearch", {"query": "harbour"}),)),
        Turn(calls=(Call("web_search", {"query": "harbour"}),)),
        Turn("High water is at nine."),
        Turn("It is at nine."),
    )
    done = await claude.run(tmp_path, url, NAME, PROMPT, "--allowedTools", "WebSearch")

    assert (done.code, done.text) == (0, "It is at nine.")
    assert "WebSearch" not in model.offered_to(0)
    assert "WebSearch" in model.offered_to(1)
    assert f"{web.site}/harbour" in model.sent_to()


@pytest.mark.parametrize("fault", ["overloaded", "cut"])
async def test_it_survives_a_backend_that_fails_once(
    url: str, model: Model, tmp_path: Path, fault: str
) -> None:
    faults = {
        "overloaded": Answer([b"{}"], JSON, 529, {"retry-after": "1"}),
        "cut": Answer([sse(delta(content="Half a"), done=False)], cut=True),
    }
    usual = model.script
    pending = [faults[fault]]
    model.play(Turn("Good morning."), Turn("Good morning."))
    model.script = lambda request: pending.pop() if pending else usual(request)
    try:
        done = await claude.run(tmp_path, url, NAME, PROMPT)
    finally:
        model.script = usual

    assert done.code == 0
    assert done.text.endswith("Good morning.")


async def test_a_prompt_that_is_too_long_ends_as_such(
    url: str, model: Model, tmp_path: Path
) -> None:
    words = "This model's maximum context length is 2048 tokens. However, you requested 3000 tokens"
    usual = model.script
    refused: dict[str, Any] = {"error": {"message": words, "code": 400}}
    model.script = lambda _: Answer([json.dumps(refused).encode()], JSON, 400)
    try:
        done = await claude.run(tmp_path, url, NAME, PROMPT)
    finally:
        model.script = usual

    assert done.result["terminal_reason"] == "prompt_too_long"
