"""An agent as a model: plain, streamed, in the background, chained, and refused."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from openai import APIStatusError

from antiphon.agents import AgentContext, AgentError, agent
from antiphon.config import Settings
from antiphon.gateway import agents as front
from antiphon.storage.operations import leases
from antiphon_verify import check_event_stream
from tests.support.server import RunningServer, serve
from tests.support.waiting import eventually


@agent("shout", description="Repeats in capitals")
async def shout(ctx: AgentContext) -> None:
    async with ctx.reasoning() as thought:
        await thought.write("Louder.")
    async with ctx.message() as text:
        for word in ctx.input_text.upper().split():
            await text.write(word + " ")


@agent("count")
async def count(ctx: AgentContext) -> dict[str, Any]:
    state: Any = ctx.state or {"turns": 0}
    await ctx.save({"turns": state["turns"] + 1})
    return {"turns": state["turns"] + 1, "items": len(ctx.history)}


@agent("warm", accepts=["temperature"])
async def warm(ctx: AgentContext) -> str:
    return str(ctx.request.temperature)


@agent("refuse")
async def refuse(ctx: AgentContext) -> None:
    raise AgentError("There is no such order.", code="no_order")


@agent("break")
async def broken(ctx: AgentContext) -> None:
    raise KeyError("a secret")


started: list[str] = []
ended: list[str] = []


@agent("forever")
async def forever(ctx: AgentContext) -> None:
    async with ctx.message() as text:
        await text.write("Wait.")
        started.append(ctx.response_id)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(ctx.response_id)


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[RunningServer]:
    agents = [shout, count, warm, refuse, broken, forever]
    async with serve(agents=agents, settings=Settings(**settings)) as server:
        await known(server, "shout")
        yield server


async def known(server: RunningServer, name: str) -> None:
    async def names() -> Any:
        return server.parts.jobs.agents.names

    await eventually(names, lambda found: name in found)


async def until_any(noted: list[str]) -> None:
    async def found() -> list[str]:
        return noted

    await eventually(found, bool)


async def events_of(server: RunningServer, **body: Any) -> list[dict[str, Any]]:
    async with server.http.post(
        f"{server.url}/responses", json={"stream": True, **body}
    ) as response:
        assert response.status == 200, await response.text()
        text = await response.text()
    lines = [line for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


async def test_an_agent_answers_like_a_model() -> None:
    async with serving() as server:
        response = await server.sdk.responses.create(model="shout", input="hello you")

        assert (response.status, response.output_text) == ("completed", "HELLO YOU ")
        assert [item.type for item in response.output] == ["reasoning", "message"]
        found = await server.sdk.responses.retrieve(response.id)
        assert found.output == response.output
        names = [model.id async for model in server.sdk.models.list()]
        assert names[:2] == ["shout", "count"]


@pytest.mark.parametrize("background", [False, True])
async def test_its_stream_follows_the_rules_and_can_be_read_again(background: bool) -> None:
    async with serving() as server:
        events = await events_of(server, model="shout", input="a b", background=background)

        assert check_event_stream(events) == []
        deltas = [each["delta"] for each in events if each["type"] == "response.output_text.delta"]
        assert deltas == ["A ", "B "]
        response_id = events[0]["response"]["id"]
        again = await server.sdk.responses.retrieve(response_id, stream=True, starting_after=3)
        assert [each.sequence_number async for each in again] == list(range(4, len(events)))


async def test_a_chain_has_its_history_and_the_state_that_was_saved() -> None:
    async with serving() as server:
        create = server.sdk.responses.create
        first = await create(model="count", input="one")
        second = await create(model="count", input="two", previous_response_id=first.id)
        fork = await create(model="count", input="other", previous_response_id=first.id)

        assert [json.loads(one.output_text)["turns"] for one in (first, second, fork)] == [1, 2, 2]
        assert json.loads(second.output_text)["items"] == 2


async def test_an_agent_names_its_failure_and_other_errors_stay_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving() as server:
        refused = await server.sdk.responses.create(model="refuse", input="?")
        failed = await server.sdk.responses.create(model="break", input="?")

    assert refused.status == failed.status == "failed"
    assert refused.error is not None
    assert (refused.error.code, refused.error.message) == ("no_order", "There is no such order.")
    assert failed.error is not None
    assert (failed.error.code, failed.error.message) == ("agent_error", "The agent failed.")
    assert "a secret" in caplog.text


async def test_a_parameter_that_the_agent_does_not_accept_is_refused() -> None:
    async with serving() as server:
        with pytest.raises(APIStatusError) as caught:
            await server.sdk.responses.create(model="shout", input="?", temperature=0.5)
        unset: dict[str, Any] = {
            "temperature": None,
            "tools": [],
            "tool_choice": "auto",
            "top_p": 1.0,
        }
        status, _ = await server.post("/responses", json={"model": "shout", "input": "a", **unset})

    assert (caught.value.status_code, caught.value.code) == (400, "unsupported_parameter")
    assert caught.value.param == "temperature"
    assert status == 200, "nulls and defaults count as absent"


async def test_a_parameter_that_the_agent_accepts_reaches_it() -> None:
    async with serving() as server:
        await known(server, "warm")
        create = server.sdk.responses.create
        response = await create(model="warm", input="?", temperature=0.5)
        with pytest.raises(APIStatusError, match="It accepts: temperature"):
            await create(model="warm", input="?", top_p=0.5)

    assert response.output_text == "0.5"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_cancels_the_response(stream: bool) -> None:
    started.clear()
    ended.clear()
    async with serving() as server:
        body = {"model": "forever", "input": "?", "stream": stream}
        call = asyncio.ensure_future(server.post("/responses", json=body))
        await until_any(started)
        call.cancel()
        await until_any(ended)
        found = await server.sdk.responses.retrieve(ended[0])
        assert found.status == "cancelled"
        if stream:
            assert found.output_text == "Wait."


async def test_a_background_response_can_be_cancelled() -> None:
    started.clear()
    ended.clear()
    async with serving() as server:
        queued = await server.sdk.responses.create(model="forever", input="?", background=True)
        await until_any(started)
        cancelled = await server.sdk.responses.cancel(queued.id)

        assert cancelled.status == "cancelled"
        await until_any(ended)


async def test_a_response_that_is_not_to_be_stored_is_deleted_when_it_was_read() -> None:
    async with serving() as server:
        response = await server.sdk.responses.create(model="shout", input="a", store=False)

        assert response.output_text == "A "
        status, _ = await server.get(f"/responses/{response.id}")
        assert status == 404


async def test_a_conversation_has_the_items_of_the_agent() -> None:
    async with serving() as server:
        conversation = await server.sdk.conversations.create()
        await server.sdk.responses.create(model="shout", input="a", conversation=conversation.id)
        items = await server.sdk.conversations.items.list(conversation.id)

        assert [one.type for one in items.data] == ["message", "reasoning", "message"]


async def refused(server: RunningServer, model: str, **fields: Any) -> tuple[int, Any, str | None]:
    """Return the status, the JSON and `retry-after` of the reply to a request."""
    body = {"model": model, "input": "?", **fields}
    async with server.http.post(f"{server.url}/responses", json=body) as reply:
        return reply.status, await reply.json(), reply.headers.get("retry-after")


async def test_without_a_worker_a_client_gets_an_error_and_background_work_waits() -> None:
    async with serve(settings=Settings(agents=["away"])) as server:
        status, body, retry = await refused(server, "away")
        queued = await server.sdk.responses.create(model="away", input="?", background=True)

    assert (status, body["error"]["code"], retry) == (503, "agent_unavailable", "5")
    assert queued.status == "queued"


async def test_the_models_are_those_of_living_workers_and_of_the_settings() -> None:
    async with serve(settings=Settings(agents=["away"])) as server:

        async def names() -> list[str]:
            return [model.id async for model in server.sdk.models.list()]

        store = server.parts.store
        await store.write(leases.beat_with_agents, "other", '[{"name":"here"}]')
        await eventually(names, lambda found: {"away", "here"} <= {*found})
        await store.write(leases.expire_worker, "other", None)
        await eventually(names, lambda found: "here" not in found)
        assert "away" in await names()


@pytest.mark.parametrize("store", [True, False])
async def test_a_busy_worker_is_no_reason_to_wait_long(
    monkeypatch: pytest.MonkeyPatch, store: bool
) -> None:
    monkeypatch.setattr(front, "WAITS", 0.05)
    async with serve(settings=Settings(agents=["slow"])) as server:
        await server.parts.store.write(leases.beat_with_agents, "other", '[{"name":"slow"}]')
        status, body, retry = await refused(server, "slow", store=store)
        left = (await server.parts.store.inspect())["responses"]

    assert (status, body["error"]["code"], retry) == (503, "agent_busy", "5"), body
    assert left == store


async def test_other_apis_name_the_api_of_agents() -> None:
    async with serving() as server:
        messages = [{"role": "user", "content": "?"}]
        status, body = await server.post(
            "/chat/completions", json={"model": "shout", "messages": messages}
        )

    error: Any = body["error"]
    assert (status, error["param"]) == (400, "model")
    assert "POST /v1/responses" in error["message"]


KEY = {"idempotency-key": "one"}


@pytest.mark.parametrize("fields", [{}, {"store": False}])
async def test_a_repetition_with_its_idempotency_key_receives_the_same_answer(
    fields: dict[str, Any],
) -> None:
    async with serving() as server:
        request = {"model": "shout", "input": "Hi", **fields}
        first = await server.post("/responses", json=request, headers=KEY)
        again = await server.post("/responses", json=request, headers=KEY)

    assert (first[0], first[1]["status"]) == (200, "completed")
    assert again == first


async def test_a_repetition_with_its_idempotency_key_receives_the_same_events() -> None:
    async with serving() as server:
        request = {"model": "shout", "input": "Hi", "stream": True}
        texts = []
        for _ in range(2):
            async with server.http.post(
                f"{server.url}/responses", json=request, headers=KEY
            ) as response:
                texts.append(await response.text())

    assert "response.completed" in texts[0]
    assert texts[1] == texts[0]


async def test_the_idempotency_key_of_a_request_that_its_client_left_can_be_used_again() -> None:
    async with serving() as server:
        started.clear()
        for count in (1, 2):
            request = {"model": "forever", "input": "Hi"}
            left = asyncio.create_task(server.post("/responses", json=request, headers=KEY))
            await eventually(lambda: _count(started), count.__eq__)
            left.cancel()
            await asyncio.wait({left})

    assert started[0] != started[1]


async def _count(found: list[str]) -> int:
    return len(found)
