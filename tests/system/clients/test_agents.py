"""ag2, Google's ADK, LiveKit's plugin, Mastra and Pipecat, unmodified, against the server.

Each is a program in `agents/` that runs its scenarios in turn, while the model plays the turns that
these need.
"""

import asyncio
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import npm, pip
from tests.support.command import environment
from tests.support.small_web import SmallWeb
from tests.system.clients.model import Call, Model, Turn

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(400),
    pytest.mark.nightly,
]

HERE = Path(__file__).parent / "agents"
MASTRA = Path(__file__).parent / "npm" / "mastra"
PATIENCE = 120.0
"""Seconds for all scenarios of a client."""

GOOD = Turn("Good morning, Dover.")
AGAIN = Turn("You said hi.")
THREE = Turn("It is three.")
DOVER = Turn('{"name": "Dover"}')
NINE = Turn("High water is at nine.")
ADDING = (Turn(calls=(Call("add", {"x": 1, "y": 2}),)), THREE)
SEARCHING = (Turn(calls=(Call("web_search", {"query": "harbour"}),)), NINE)

TEXT: Sequence[Any] = [GOOD.text]
STREAM: Sequence[Any] = [GOOD.text, True]
TOOL: Sequence[Any] = [THREE.text] * 2
SCHEMA: Sequence[Any] = [{"name": "Dover"}]
CHAIN: Sequence[Any] = [GOOD.text, AGAIN.text]
HOSTED: Sequence[Any] = [NINE.text]


@dataclass(frozen=True)
class Client:
    """How a client's scenarios are run: the program, what it is installed from, the turns, and what
    it says then.
    """

    program: str
    installed: str
    turns: tuple[Turn, ...]
    stated: dict[str, Sequence[Any]]


CLIENTS = {
    "ag2": Client(
        "use_ag2.py",
        "requirements.txt",
        (GOOD, GOOD, *ADDING, *ADDING, DOVER, GOOD, AGAIN, *SEARCHING),
        {
            "text": TEXT,
            "stream": [*STREAM, GOOD.text],
            "tool": TOOL,
            "schema": SCHEMA,
            "chain": CHAIN,
            "hosted": HOSTED,
        },
    ),
    "adk": Client(
        "use_adk.py",
        "adk.txt",
        (GOOD, GOOD, *ADDING, *ADDING, DOVER, GOOD, AGAIN),
        {"text": TEXT, "stream": STREAM, "tool": TOOL, "schema": SCHEMA, "chain": CHAIN},
    ),
    "livekit": Client(
        "use_livekit.py",
        "requirements.txt",
        (GOOD, GOOD, *ADDING, *ADDING, GOOD, AGAIN, GOOD, AGAIN, *SEARCHING, *SEARCHING),
        {
            "stream": [TEXT] * 2,
            "tool": [[THREE.text]] * 2,
            "chain": [CHAIN] * 2,
            "hosted": [HOSTED] * 2,
        },
    ),
    "mastra": Client(
        "mastra.mjs",
        "",
        (GOOD, GOOD, *ADDING, *ADDING, DOVER, *SEARCHING, GOOD, AGAIN),
        {
            "text": TEXT,
            "stream": STREAM,
            "tool": TOOL,
            "schema": SCHEMA,
            "hosted": HOSTED,
            "chain": CHAIN,
        },
    ),
    "pipecat": Client(
        "use_pipecat.py",
        "requirements.txt",
        (GOOD, GOOD, GOOD, *ADDING[:1], *ADDING[:1], GOOD, AGAIN, GOOD, AGAIN),
        {
            "text": TEXT,
            "stream": [STREAM] * 2,
            "tool": [["the sum is 3"]] * 2,
            "chain": [GOOD.text + AGAIN.text] * 2,
        },
    ),
}


@pytest.fixture(scope="module")
def settings(local_tools: str) -> str:
    return local_tools


def command(client: Client) -> list[str]:
    """Return what starts the program. Skips the test where a registry lacks the client."""
    if client.installed:
        folder = client.installed.partition(".")[0].replace("requirements", "agents")
        python = pip.install(HERE / client.installed, folder) / "python"
        return [str(python), "-W", "ignore", str(HERE / client.program)]
    if (node := shutil.which("node")) is None:
        pytest.skip("Mastra runs in Node.js, and Node.js is missing")
    npm.install_packages(MASTRA, "Mastra", folder=npm.CACHE / "mastra")
    return [node, "--input-type=module", "--eval", (HERE / client.program).read_text("utf-8")]


async def scenarios(client: Client, url: str, home: Path) -> dict[str, Any]:
    """Run the program to its end; return what it printed for each scenario."""
    words = command(client)
    folder = HERE if client.installed else npm.CACHE / "mastra"
    variables = environment(
        home, BASE_URL=url, LITELLM_LOCAL_MODEL_COST_MAP="true", MASTRA_TELEMETRY_DISABLED="1"
    )
    process = await asyncio.create_subprocess_exec(
        *words, url, cwd=folder, env=variables, stdin=-3, stdout=-1, stderr=-1
    )
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 0, err.decode()[-2000:]
    reported = [
        json.loads(line) for line in out.decode().splitlines() if line.startswith('{"scenario":')
    ]
    return {one["scenario"]: one["said"] for one in reported}


@pytest.mark.parametrize("name", CLIENTS)
async def test_a_client_receives_what_it_requests(
    name: str, url: str, model: Model, web: SmallWeb, tmp_path: Path
) -> None:
    client = CLIENTS[name]
    model.play(*client.turns)
    stated = await scenarios(client, url, tmp_path)
    assert stated == client.stated
    assert not model.turns
    spoken = [request["messages"][-1]["content"] for request in model.requests]
    second = [message["content"] for message in model.requests[spoken.index("again")]["messages"]]
    stated_so_far = [content for content in second if content in ("hi", GOOD.text, "again")]
    assert list(dict.fromkeys(stated_so_far)) == [
        "hi",
        GOOD.text,
        "again",
    ]  # LiveKit sends a stored answer once more
