"""A new version of a pinned agent: each response stays with the version that began it."""

import asyncio
import signal
from pathlib import Path

import pytest
from bench.ports import free_port
from openai import AsyncOpenAI

from tests.support.command import Process, removed, serving, start
from tests.support.waiting import eventually, until

AGENT = """
import asyncio
from pathlib import Path
from antiphon.agents import agent

@agent("pinned", version={version!r}, pinned=True)
async def pinned(ctx):
    await ctx.step("begin", lambda: Path("begun").write_text("yes") and None)
    while ctx.input_text == "wait" and not Path("go").exists():
        await asyncio.sleep(0.05)
    return ctx.started_version + " by " + {version!r}
"""

pytestmark = pytest.mark.timeout(120)


async def test_responses_stay_with_their_version_while_workers_are_replaced(
    tmp_path: Path, store_url: str
) -> None:
    for version in "12":
        (tmp_path / f"version_{version}.py").write_text(AGENT.format(version=version))
    running: list[Process] = []

    async def add(version: str) -> Process:
        process = await start(tmp_path, "worker", f"version_{version}", "--store", store_url)
        running.append(process)
        assert process.stdout is not None
        line = await process.stdout.readline()
        assert b"runs the agents" in line, (await process.communicate())[1].decode()
        return process

    async with serving(tmp_path, "--port", str(free_port()), "--store", store_url) as server:
        try:
            old = await add("1")
            async with AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0) as client:

                async def names() -> list[str]:
                    return [model.id async for model in client.models.list()]

                await eventually(names, lambda found: "pinned" in found)
                create, retrieve = client.responses.create, client.responses.retrieve
                begun = await create(model="pinned", input="wait", background=True)
                await until(lambda: (tmp_path / "begun").exists())
                await add("2")
                old.send_signal(signal.SIGTERM)
                await old.wait()
                (tmp_path / "go").touch()

                new = await asyncio.gather(*(create(model="pinned", input="now") for _ in range(4)))
                assert {one.output_text for one in new} == {"2 by 2"}
                assert (await retrieve(begun.id)).status == "in_progress"

                await add("1")

                async def response() -> str:
                    found = await retrieve(begun.id)
                    return found.output_text

                assert await eventually(response, bool, patience=30) == "1 by 1"
        finally:
            for process in running:
                await removed(process)
