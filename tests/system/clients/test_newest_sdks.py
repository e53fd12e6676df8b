"""The official SDKs and Vercel's AI SDK 6 and 7, in their newest versions, against a server with
the model `demo`.

The helper calls of the official SDKs are programs in `official/`: 48 calls in Python, 23 in
JavaScript.
"""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from openai import AsyncOpenAI

from tests.support import newest
from tests.support.code_environment import SANDBOX, needs_sandbox
from tests.support.command import environment, serving, start
from tests.support.embedding_server import MODEL, EmbeddingServer
from tests.system.clients.ai_sdk import MAJORS, AiSdk

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(700),
    pytest.mark.nightly,
    needs_sandbox,
]

HERE = Path(__file__).parent / "official"
SETTINGS = f'images_model = "demo"\nwebhook_private_addresses = true\n{SANDBOX}'
AI_SDKS = (
    "ai-6@npm:ai@6",
    "ai-7@npm:ai@7",
    "ai-openai-6@npm:@ai-sdk/openai@3",
    "ai-openai-7@npm:@ai-sdk/openai@4",
)
SCENARIOS = {
    "text": (["hi"], "You said: hi"),
    "chain": (["My name is Ada.", "What is my name?"], "Your name is Ada."),
    "tools": (['call add {"x": 1, "y": 2}'], 'The tool returned: {"sum":3}'),
    "object": (['answer {"name": "Dover"}'], '{"name": "Dover"}'),
    "code": (["Run: print(6 * 7)"], "The code printed: 42"),
    "image": (["Draw a red circle."], "Made image 1"),
    "files": (["When is high water in Dover?"], "High water in Dover is at nine."),
}
"""The prompts of each scenario of `ai_sdk.mjs`, and a part of the last text."""

PATIENCE = 120.0
"""Seconds for all calls of an SDK."""


@asynccontextmanager
async def demo_backend(home: Path) -> AsyncIterator[str]:
    """Run `antiphon demo-backend` until the end of the block; its base URL."""
    process = await start(home, "demo-backend", "--port", "0")
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.communicate()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The base URL of a server with `demo`, embeddings, images, code and webhooks."""
    home = tmp_path_factory.mktemp("antiphon")
    (home / "antiphon.toml").write_text(SETTINGS)
    embeddings = EmbeddingServer()
    await embeddings.begin()
    async with demo_backend(home) as demo:
        flags = (
            "--port",
            "0",
            "--backend",
            demo,
            "--backend",
            embeddings.url,
            "--store",
            f"sqlite:///{home}/a.db",
        )
        async with serving(home, *flags) as server:
            yield server.url
    await embeddings.leave()


async def outcome(
    capture: pytest.FixtureRequest, home: Path, folder: Path, *command: str
) -> tuple[int, dict[str, str]]:
    """Run a program to its end: how many calls it made, and what failed.

    The run shows the version of the SDK.
    """
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=environment(home), stdin=-3, stdout=-1, stderr=-1
    )
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 0, err.decode()[-2000:]
    *calls, end = map(json.loads, out.decode().splitlines())
    with capture.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        sys.stdout.write(f"\nopenai {end['version']}: {len(calls)} calls\n")
    return len(calls), {one["name"]: one["failed"] for one in calls if one["failed"]}


async def test_every_helper_of_the_sdk_for_python_works(
    url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    python = newest.from_pypi("newest-openai", "openai[realtime]")
    assert await outcome(request, tmp_path, HERE, str(python), "calls.py", url, MODEL) == (48, {})


async def test_every_helper_of_the_sdk_for_javascript_works(
    url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if (node := shutil.which("node")) is None:
        pytest.skip("the SDK for JavaScript needs Node.js, and Node.js is missing")
    folder = newest.from_npm("newest-openai-js", "openai@latest", "ws@latest", "zod@latest")
    assert await outcome(request, tmp_path, folder, node, str(HERE / "calls.mjs"), url, MODEL) == (
        23,
        {},
    )


@pytest.fixture(scope="module")
def ai_sdks() -> tuple[Path, Path]:
    """The command of Node.js, and the folder of the AI SDKs."""
    if (node := shutil.which("node")) is None:
        pytest.skip("the AI SDK runs in Node.js, and Node.js is missing")
    return Path(node), newest.from_npm("newest-ai-sdk", *AI_SDKS, "zod@latest")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def store(url: str) -> str:
    """The id of a vector store with one file."""
    async with AsyncOpenAI(base_url=url, api_key="sk-test", max_retries=0) as sdk:
        created = await sdk.vector_stores.create()
        text = ("tides.txt", b"High water in Dover is at nine.")
        await sdk.vector_stores.files.upload_and_poll(
            vector_store_id=created.id, file=text, poll_interval_ms=20
        )
        return created.id


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("major", MAJORS)
async def test_every_scenario_of_the_ai_sdk_works(
    url: str, store: str, ai_sdks: tuple[Path, Path], major: int, stream: bool
) -> None:
    node, folder = ai_sdks
    ai = AiSdk(node, major, stream, url, folder)
    for scenario, (prompts, stated) in SCENARIOS.items():
        turns = await ai.run(scenario, *prompts, model="demo", store=store)
        assert stated in turns[-1]["text"], scenario
        assert turns[-1]["warnings"] == []
