"""Workers of agents that are killed, stopped and replaced, with a client of the official SDK."""

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from bench.ports import free_port
from openai import APIConnectionError, AsyncOpenAI

from antiphon_verify import check_event_stream
from tests.support.command import Process, removed, serving, start
from tests.support.receiver import Receiver
from tests.support.waiting import eventually, until

AGENTS = """
import asyncio, os
from pathlib import Path
from antiphon.agents import StepInterrupted, agent

def effect(name):
    with open("effects", "a") as file:
        file.write(name + "\\n")
    return name

@agent("steps")
async def steps(ctx):
    for number in range(4):
        name = f"{ctx.input_text} {number}"
        try:
            await ctx.step("effect", effect, name, once=number % 2 == 1)
        except StepInterrupted:
            pass
        async with ctx.message() as text:
            await text.write(f"{number} ")
            await text.write("done")
        await ctx.step("wait", asyncio.sleep, 0.3, show=True)
    return "all"

@agent("calls")
async def calls(ctx):
    for number in range(3):
        await ctx.call("demo", f"{ctx.input_text} {number}", emit="text")
        await ctx.step("wait", asyncio.sleep, 0.3)
    return "all"
"""

SETTINGS = "webhook_private_addresses = true\n"

pytestmark = pytest.mark.timeout(120)


class Workers:
    """The workers of one store, each a process."""

    def __init__(self, folder: Path, store: str, **variables: str) -> None:
        self.folder, self.store, self.variables = folder, store, variables
        self.running: list[Process] = []

    async def add(self) -> Process:
        """Start a worker; return when it is ready."""
        arguments = ("worker", "agents_of_test", "--store", self.store)
        process = await start(self.folder, *arguments, **self.variables)
        assert process.stdout is not None
        line = await process.stdout.readline()
        assert b"runs the agents" in line, (await process.communicate())[1].decode()
        self.running.append(process)
        return process

    async def end(self) -> None:
        """Kill all that are left."""
        for process in self.running:
            await removed(process)


@asynccontextmanager
async def cluster(
    folder: Path,
    store: str,
    agents: str = AGENTS,
    first: str = "steps",
    receiver: Receiver | None = None,
    settings: str = SETTINGS,
    **variables: str,
) -> AsyncIterator[tuple[AsyncOpenAI, Workers]]:
    """A server and a worker of a file with agents, of which the `first` is listed;
    a `receiver` gets the webhooks, and `variables` are those of workers.
    """
    (folder / "antiphon.toml").write_text(settings)
    (folder / "agents_of_test.py").write_text(agents)
    workers = Workers(folder, store, **variables)
    async with serving(folder, "--port", str(free_port()), "--store", store) as server:
        try:
            await workers.add()
            async with AsyncOpenAI(
                base_url=server.url, api_key="none", max_retries=0, timeout=60
            ) as client:
                await until_listed(client, first)
                if receiver is not None:
                    await register(client, receiver)
                yield client, workers
        finally:
            await workers.end()


async def register(client: AsyncOpenAI, receiver: Receiver) -> None:
    """Send the ends of responses to a receiver of webhooks."""
    await client.webhooks.create(
        name="mine", url=receiver.url, event_types=["response.completed", "response.failed"]
    )


async def hold_webhook(receiver: Receiver, response: Any) -> None:
    """The end of a response is one event, however often that is delivered."""
    await until(lambda: receiver.events_of(response.id))
    [(_, kind)] = receiver.events_of(response.id)
    assert kind == f"response.{response.status}"


async def until_listed(client: AsyncOpenAI, name: str) -> None:
    async def names() -> list[str]:
        return [model.id async for model in client.models.list()]

    await eventually(names, lambda found: name in found)


async def read(client: AsyncOpenAI, seen: list[Any], stream: Any) -> bool:
    """Add the events of a stream to those that were seen; return whether it came to its end."""
    try:
        async for event in stream:
            seen.append(event.to_dict())
            if len(seen) == 20:  # within the second message
                return False
    except (APIConnectionError, httpx2.HTTPError):
        return False
    return True


@pytest.mark.rotating
@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
async def test_another_worker_continues_and_readers_see_each_event_once(
    tmp_path: Path, store_url: str, fault: signal.Signals
) -> None:
    async with cluster(tmp_path, store_url) as (client, workers):
        create = client.responses.create
        seen: list[Any] = []
        stream = await create(model="steps", input="run", background=True, stream=True)
        assert not await read(client, seen, stream)
        await stream.close()
        first = workers.running[0]
        first.send_signal(fault)
        await workers.add()
        response_id = seen[0]["response"]["id"]

        async def is_read_to_its_end() -> bool:
            after = seen[-1]["sequence_number"]
            follow = client.responses.retrieve(response_id, stream=True, starting_after=after)
            return await read(client, seen, await follow)

        await eventually(is_read_to_its_end, bool, patience=60)
        first.send_signal(signal.SIGCONT)
        response = await client.responses.retrieve(response_id)

        assert response.status == "completed"
        displayed = [item for item in response.output if item.type == "mcp_call"]
        texts = [item.content[0].text for item in response.output if item.type == "message"]  # type: ignore[union-attr]
        assert texts == ["0 done", "1 done", "2 done", "3 done", "all"]
        assert [(item.server_label, item.status) for item in displayed] == [
            ("steps", "completed")
        ] * 4
        numbers = [event["sequence_number"] for event in seen]
        assert numbers == sorted(set(numbers)), "no number twice"
        closed = [e["item"]["id"] for e in seen if e["type"] == "response.output_item.done"]
        assert closed == [item.id for item in response.output], "no item twice, and none missing"
        replay = await client.responses.retrieve(response_id, stream=True)
        whole = [event.to_dict() async for event in replay]
        # Its numbers have a gap where the open message was deleted; else it is like any other.
        assert check_event_stream([{**e, "sequence_number": n} for n, e in enumerate(whole)]) == []
        effects = Counter((tmp_path / "effects").read_text().split("\n"))
        assert all(effects[f"run {number}"] == 1 for number in (1, 3)), "once is never twice"
        assert all(1 <= effects[f"run {number}"] <= 2 for number in (0, 2))


async def test_models_that_an_agent_calls_are_streamed_once_although_its_worker_is_killed(
    tmp_path: Path, store_url: str
) -> None:
    async with cluster(tmp_path, store_url) as (client, workers):
        create = client.responses.create
        expected = await create(model="calls", input="run")
        seen: list[Any] = []
        stream = await create(model="calls", input="run", background=True, stream=True)
        assert not await read(client, seen, stream)
        await stream.close()
        workers.running[0].kill()
        await workers.add()
        response_id = seen[0]["response"]["id"]

        async def is_read_to_its_end() -> bool:
            after = seen[-1]["sequence_number"]
            follow = client.responses.retrieve(response_id, stream=True, starting_after=after)
            return await read(client, seen, await follow)

        await eventually(is_read_to_its_end, bool, patience=60)
        response = await client.responses.retrieve(response_id)

        assert response.output_text == expected.output_text
        assert response.usage == expected.usage
        closed = [e["item"]["id"] for e in seen if e["type"] == "response.output_item.done"]
        assert closed == [item.id for item in response.output], "no item twice, and none missing"


async def test_a_client_that_waits_gets_the_error_that_the_worker_died(
    tmp_path: Path, store_url: str
) -> None:
    async with cluster(tmp_path, store_url) as (client, workers):
        waiting = asyncio.create_task(client.responses.create(model="steps", input="wait"))
        await until(lambda: (tmp_path / "effects").exists())
        workers.running[0].kill()
        await workers.add()
        response = await waiting

        assert response.status == "failed"
        assert response.error is not None
        assert response.error.code == "agent_interrupted"
