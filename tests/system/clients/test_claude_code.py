"""Claude Code, unmodified, with a model behind the server that plays turns, over three kinds of
backends: it edits a file, runs a command, loads a tool later, searches the web, compacts, and
survives what backends do.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.replay import JSON, Answer
from tests.support.small_web import SmallWeb
from tests.system.clients import claude
from tests.system.clients.model import Call, Model, Turn
from tests.system.clients.other_apis import OllamaModel, ResponsesModel

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(400),
    pytest.mark.nightly,
]

NAME = "fake-model"
PROMPT = "Please see to the harbour."


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=[Model, OllamaModel, ResponsesModel],
    ids=lambda kind: kind.api,
)
async def acting(request: pytest.FixtureRequest) -> AsyncIterator[Model]:
    acting: Model = request.param()
    async with acting.serve():
        yield acting


@pytest.fixture(scope="module")
def backend() -> tuple[str, ...]:
    return ()


@pytest.fixture(scope="module")
def settings(local_tools: str, acting: Model) -> str:
    names = f'messages_models = {{ "claude-*" = "{NAME}" }}\n'
    return f'{local_tools}{names}[[backends]]\nurl = "{acting.url}"\napi = "{acting.api}"\n'


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
    assert "has been updated" in model.sent_to()
    assert {request["model"] for request in model.requests} == {NAME}


async def test_it_loads_a_deferred_tool_and_searches_the_web(
    url: str, model: Model, web: SmallWeb, tmp_path: Path
) -> None:
    """A Responses backend searches itself; before any other, the server does."""
    own = (Turn(calls=(Call("web_search", {"query": "harbour"}),)), Turn("High water is at nine."))
    backends = (Turn("High water is at nine.", found=f"{web.site}/harbour"),)
    model.play(
        Turn(calls=(Call("ToolSearch", {"query": "select:WebSearch"}),)),
        Turn(calls=(Call("WebSearch", {"query": "harbour"}),)),
        *(backends if model.api == "responses" else own),
        Turn("It is at nine."),
    )
    done = await claude.run(tmp_path, url, NAME, PROMPT, "--allowedTools", "WebSearch")

    assert (done.code, done.text) == (0, "It is at nine.")
    assert "WebSearch" not in model.offered_to(0)
    assert "WebSearch" in model.offered_to(1)
    assert f"{web.site}/harbour" in model.sent_to()


@pytest.mark.parametrize(
    "fault",
    [Answer([b"{}"], JSON, 529, {"retry-after": "1"}), Turn("Half a", is_cut=True)],
    ids=["overloaded", "cut"],
)
async def test_it_survives_a_backend_that_fails_once(
    url: str, model: Model, tmp_path: Path, fault: Turn | Answer
) -> None:
    model.play(fault, Turn("Good morning."), Turn("Good morning."))
    done = await claude.run(tmp_path, url, NAME, PROMPT)

    assert done.code == 0
    assert done.text.endswith("Good morning.")


async def test_a_prompt_that_is_too_long_ends_as_such(
    url: str, model: Model, tmp_path: Path
) -> None:
    words = "This model's maximum context length is 2048 tokens. However, you requested 3000 tokens"
    refused = json.dumps({"error": {"message": words, "code": 400}}).encode()
    model.play(*[Answer([refused], JSON, 400)] * 20)
    done = await claude.run(tmp_path, url, NAME, PROMPT)

    assert done.result["terminal_reason"] == "prompt_too_long"


async def test_it_compacts_its_conversation(url: str, model: Model, tmp_path: Path) -> None:
    summary = "<summary>We spoke of the tide.</summary>"
    model.play(Turn("It is high."), Turn(summary), Turn("At nine."))
    await claude.run(tmp_path, url, NAME, PROMPT)
    await claude.run(tmp_path, url, NAME, "/compact", "--continue")
    done = await claude.run(tmp_path, url, NAME, "And when?", "--continue")

    assert (done.code, done.text) == (0, "At nine.")
    assert "We spoke of the tide." in model.sent_to()
    assert ["It is high." in model.sent_to(number) for number in range(3)] == [False, True, False]
