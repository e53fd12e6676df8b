"""Agents that wait for their client, with workers that are killed and answers that arrive twice, on
two servers.
"""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest
from bench.ports import free_port
from openai import APIConnectionError, APIStatusError, AsyncOpenAI

from antiphon_verify import check_event_stream
from tests.support.command import serving
from tests.support.waiting import eventually, until
from tests.system.agents.test_killed_workers import cluster, until_listed

AGENTS = """
import asyncio
from antiphon.agents import StepInterrupted, agent, idempotency_key

def effect(name, key=""):
    with open("effects", "a") as file:
        file.write(f"{name} {key}\\n")
    return name

async def pay(name):
    effect("pay", idempotency_key())
    await asyncio.sleep(1.5 if name == "slowly" else 0)
    return "paid"

@agent("refunds")
async def refunds(ctx):
    async with ctx.message() as text:
        await text.write("I look it up.")
    await ctx.step("look", effect, "look")
    approval = await ctx.approval("refund", {"order": ctx.input_text})
    if not approval.approved:
        return "not paid"
    try:
        receipt = await ctx.step("pay", pay, ctx.input_text, once=True)
    except StepInterrupted:
        receipt = "unknown"
    async with ctx.message() as text:
        await text.write(receipt)
        await text.write(" now")
    await ctx.step("wait", asyncio.sleep, 0.5)
    return "Bye."
"""

pytestmark = pytest.mark.timeout(120)


def effects(folder: Path) -> Counter[str]:
    lines = (folder / "effects").read_text().splitlines()
    return Counter(line.split()[0] for line in lines)


def answer(request: Any, *, approve: bool = True) -> Any:
    return {
        "type": "mcp_approval_response",
        "approval_request_id": request.id,
        "approve": approve,
    }


async def events_of(stream: Any) -> list[dict[str, Any]]:
    return [event.to_dict() async for event in stream]


async def test_a_streamed_run_survives_the_death_of_its_workers(
    tmp_path: Path, store_url: str
) -> None:
    async with cluster(tmp_path, store_url, AGENTS, "refunds") as (client, workers):
        create = client.responses.create
        stream = await create(model="refunds", input="17", background=True, stream=True)
        first = await events_of(stream)
        assert check_event_stream(first) == []
        assert first[-1]["type"] == "response.completed"
        request = first[-1]["response"]["output"][-1]
        assert (request["type"], request["server_label"]) == ("mcp_approval_request", "refunds")
        workers.running[0].kill()  # while nothing runs: the run waits in the store
        await workers.add()
        waiting = await client.responses.retrieve(first[0]["response"]["id"])

        stream = await create(
            model="refunds",
            input=[answer(waiting.output[-1])],
            previous_response_id=waiting.id,
            background=True,
            stream=True,
        )
        seen: list[Any] = []
        async for event in stream:
            seen.append(event.to_dict())
            if event.type == "response.output_item.done":
                break
        await stream.close()
        workers.running[1].kill()
        await workers.add()
        response_id = seen[0]["response"]["id"]

        async def is_read_to_its_end() -> bool:
            after = seen[-1]["sequence_number"]
            try:
                async for event in await client.responses.retrieve(
                    response_id, stream=True, starting_after=after
                ):
                    seen.append(event.to_dict())  # noqa: PERF401 - those before an error count too
            except (APIConnectionError, httpx2.HTTPError):  # a take-over disconnects readers
                return False
            return bool(seen[-1]["type"] == "response.completed")

        await eventually(is_read_to_its_end, bool, patience=60)
        response = await client.responses.retrieve(response_id)

    numbers = [event["sequence_number"] for event in seen]
    assert numbers[0] == 0
    assert numbers == sorted({*numbers}), "no number twice"
    closed = [event for event in seen if event["type"] == "response.output_item.done"]
    assert [event["output_index"] for event in closed] == [0, 1]
    assert [event["item"]["id"] for event in closed] == [item.id for item in response.output]
    assert [item.content[0].text for item in response.output] == ["paid now", "Bye."]  # type: ignore[union-attr]
    assert effects(tmp_path)["pay"] == 1
    assert effects(tmp_path)["look"] == 1


async def test_a_button_that_is_clicked_twice_pays_once_on_two_servers(
    tmp_path: Path, store_url: str
) -> None:
    async with (
        cluster(tmp_path, store_url, AGENTS, "refunds") as (client, _),
        serving(tmp_path, "--port", str(free_port()), "--store", store_url) as other,
        AsyncOpenAI(base_url=other.url, api_key="none", max_retries=0, timeout=60) as second,
    ):
        await until_listed(second, "refunds")
        for background in (False, True):
            waiting = await client.responses.create(model="refunds", input="17")
            body: Any = {"model": "refunds", "previous_response_id": waiting.id}
            yes = {**body, "input": [answer(waiting.output[-1])], "background": background}
            clicks = [one.responses.create(**yes) for one in (client, second) * 4]
            found = await asyncio.gather(*clicks)
            again = await second.responses.create(**yes)
            with pytest.raises(APIStatusError) as caught:
                await second.responses.create(
                    **body, input=[answer(waiting.output[-1], approve=False)]
                )

            assert {one.id for one in found} == {again.id}
            assert (caught.value.status_code, caught.value.code) == (409, "agent_approval_answered")

            async def status(response_id: str = again.id) -> str | None:
                return (await client.responses.retrieve(response_id)).status

            await eventually(status, lambda found: found == "completed")

    assert effects(tmp_path) == {"look": 2, "pay": 2}


async def test_an_answer_is_repeated_after_its_worker_was_killed_and_pays_once(
    tmp_path: Path, store_url: str
) -> None:
    async with cluster(tmp_path, store_url, AGENTS, "refunds") as (client, workers):
        create = client.responses.create
        waiting = await create(model="refunds", input="slowly")
        body: Any = {
            "model": "refunds",
            "previous_response_id": waiting.id,
            "input": [answer(waiting.output[-1])],
        }
        answering = asyncio.create_task(create(**body))
        await until(lambda: effects(tmp_path)["pay"] == 1)
        workers.running[0].kill()
        await workers.add()
        interrupted = await answering
        assert interrupted.error is not None
        assert interrupted.error.code == "agent_interrupted"

        again = await create(**body)
        joined = await create(**body)

    assert again.id != interrupted.id
    assert (joined.id, again.status) == (again.id, "completed")
    assert [item.content[0].text for item in again.output] == ["unknown now", "Bye."]  # type: ignore[union-attr]
    assert effects(tmp_path) == {"look": 1, "pay": 1}, "once is never twice"
