"""Real clients, started by `antiphon launch`: each calls a tool, and its user's configuration stays
as it was.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from antiphon.server.codex_catalog import INSTRUCTIONS
from tests.support import npm
from tests.support.command import Done, antiphon
from tests.system.clients import codex
from tests.system.clients.model import Call, Model, Turn

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(700)]

PINNED = Path(__file__).parent / "npm"
PROMPT = "Write a file for Dover."
COMMAND = "echo dover > made.txt"
MODEL = "hf.co/tide:7b"
"""A name with all that names of local models have in them."""

WINDOW = 65_536
RUNNING = 120.0
"""Seconds that a run may take; it takes some, of which the first start of opencode is most."""

CONFIGURED: Mapping[str, str] = {
    ".codex/config.toml": 'model = "gpt-5.5"\nmodel_reasoning_effort = "low"\n',
    ".codex/AGENTS.md": "Be kind to ferries.\n",
    # opencode itself adds a missing `$schema` whenever it starts.
    ".config/opencode/opencode.json": json.dumps(
        {
            "$schema": "https://opencode.ai/config.json",
            "model": "anthropic/claude",
            "autoupdate": False,
        }
    ),
    ".pi/agent/settings.json": json.dumps(
        {"defaultProvider": "anthropic", "defaultModel": "claude"}
    ),
    ".pi/agent/models.json": json.dumps({"providers": {}}),
    ".claude/settings.json": json.dumps({"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}}),
    ".cline/data/settings/providers.json": json.dumps(
        {"version": 1, "lastUsedProvider": "cline", "providers": {}}
    ),
}
"""The user's configuration, by its path in the home folder."""


@dataclass(frozen=True)
class Case:
    """How a client takes one turn without a terminal."""

    install: Callable[[], Path]
    arguments: tuple[str, ...]
    call: Call
    is_pointed: Callable[[dict[str, Any]], bool]
    """Whether a request shows that the client read the facts of the model."""
    cue: str = PROMPT
    """What only the requests of the turn say; opencode also makes a title."""


def installing(name: str, program: str) -> Callable[[], Path]:
    """Return what installs a client; `program` is its path among the packages.

    Of opencode, Cline and Claude Code only the package of this platform is pinned: npm has no
    others in a lock that it can check.
    """

    def install() -> Path:
        npm.install(PINNED / name, name, name, folder=npm.CACHE / name)
        return npm.CACHE / name / "node_modules" / program

    return install


def has_longest_answer(request: dict[str, Any]) -> bool:
    return bool(request["max_tokens"] == WINDOW // 4)


CASES: Mapping[str, Case] = {
    "codex": Case(
        codex.install,
        ("exec", "--skip-git-repo-check", "-s", "danger-full-access", PROMPT),
        Call("exec_command", {"cmd": COMMAND}),
        lambda request: request["messages"][0]["content"].startswith(INSTRUCTIONS.strip()),
    ),
    "opencode": Case(
        installing("opencode", "opencode-linux-x64/bin/opencode"),
        ("run", PROMPT),
        Call("bash", {"command": COMMAND, "description": "Write a file"}),
        has_longest_answer,
        cue="You are opencode",
    ),
    "pi": Case(
        installing("pi", ".bin/pi"),
        ("-p", PROMPT),
        Call("bash", {"command": COMMAND}),
        has_longest_answer,
    ),
    "cline": Case(
        installing("cline", ".bin/cline"),
        (PROMPT,),
        Call("run_commands", {"commands": [COMMAND]}),
        lambda request: True,  # it sends no limit and no instructions of the server's
    ),
    "claude": Case(
        installing("claude", "@anthropic-ai/claude-code-linux-x64/claude"),
        ("-p", PROMPT, "--allowedTools", "Bash"),
        Call("Bash", {"command": COMMAND, "description": "Write a file"}),
        has_longest_answer,
    ),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def acting() -> AsyncIterator[Model]:
    """A model with a window, and no server in front of it."""
    model = Model()
    model.models = [
        {"id": MODEL, "object": "model", "created": 1, "owned_by": "test", "max_model_len": WINDOW}
    ]
    async with model.serve():
        yield model


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a user who has configured every client."""
    for name, content in CONFIGURED.items():
        path = tmp_path / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "home"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder in which the client works."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


async def launch(name: str, model: Model, home: Path, work: Path, *turns: Turn) -> Done:
    """Let a client take one turn, in which the model says what is written down."""
    case = CASES[name]
    command = case.install()
    model.cue = case.cue
    model.play(*turns)
    variables = {
        "HOME": str(home),
        "PATH": f"{command.parent}:/usr/bin:/bin",
        "HTTPS_PROXY": codex.NOWHERE,
        "TMPDIR": str(home.parent),
    }
    flags = ("--backend", model.url, "--", *case.arguments)
    done = await antiphon(work, "launch", name, *flags, patience=RUNNING, **variables)
    assert done.code == 0, done.out + done.err
    return done


@pytest.mark.parametrize("name", CASES)
async def test_a_client_calls_a_tool_and_its_configuration_stays_as_it_was(
    name: str, model: Model, home: Path, work: Path
) -> None:
    case = CASES[name]
    done = await launch(
        name, model, home, work, Turn(calls=(case.call,)), Turn("There is a file now.")
    )

    assert (work / "made.txt").read_text() == "dover\n"
    assert "There is a file now." in done.out
    turn = [request for request in model.requests if case.cue in json.dumps(request["messages"])]
    assert {request["model"] for request in turn} == {MODEL}
    assert all(map(case.is_pointed, turn))
    assert f"antiphon: {name} uses {MODEL} (context window: 65,536 tokens)" in done.err
    assert {path: (home / path).read_text() for path in CONFIGURED} == CONFIGURED


async def test_codex_compacts_when_the_window_that_the_backend_states_is_full(
    model: Model, home: Path, work: Path
) -> None:
    nearly_full = Turn(calls=(CASES["codex"].call,), total_tokens=WINDOW - 4_000)
    done = await launch(
        "codex", model, home, work, nearly_full, Turn("We wrote a file."), Turn("Done.")
    )

    assert len(model.requests) == 3
    assert "We wrote a file." in model.sent_to()
    assert "not found" not in done.err  # Codex warns of a model that it does not know
