"""Agents that wait for their client: approvals, functions of the client, and who may answer."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from agents import Agent, HostedMCPTool, OpenAIResponsesModel, RunConfig, Runner
from openai import APIStatusError

from antiphon.agents import AgentContext, agent, idempotency_key
from antiphon.storage.operations import continuations
from antiphon.storage.records.steps import Answers
from antiphon.types import Message, OutputText
from antiphon.upstream.scripted import ScriptedBackend
from antiphon_verify import check_event_stream
from tests.integration.agents.test_front import events_of, known
from tests.support.parts import plain
from tests.support.server import RunningServer, serve
from tests.support.waiting import eventually

effects: Counter[str] = Counter()
keys: set[str] = set()


def pay(order: str) -> str:
    effects[order] += 1
    keys.add(idempotency_key())
    return f"receipt {order}"


class SlowStep:
    """The function of a step that ends once it is released."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.released = asyncio.Event()

    async def run(self) -> str:
        self.begun.set()
        await self.released.wait()
        return "lasted"


@agent("refunds", version="3")
async def refunds(ctx: AgentContext) -> str:
    async with ctx.message() as text:
        await text.write("I look the order up.")
    order = await ctx.step("order", lambda text: text.split()[-1], ctx.input_text)
    approval = await ctx.approval("refund", {"order": order})
    if not approval.approved:
        return f"No refund: {approval.reason or 'no reason'}."
    return await ctx.step("pay", pay, order, once=True)


@agent("several")
async def several(ctx: AgentContext) -> list[str]:
    async def one(order: str) -> str:
        async with ctx.scope(order):
            await ctx.step("look", visited.append, order)
            approval = await ctx.approval("refund", {"order": order})
            return f"{order} {approval.approved}"

    both = await ctx.approvals([("close", {"id": 1}), ("close", {"id": 2})])
    return [str(one.approved) for one in both] + await asyncio.gather(*map(one, "ab"))


visited: list[str] = []


@agent("weather", accepts=["tools", "temperature"])
async def forecast(ctx: AgentContext) -> dict[str, Any]:
    when = await ctx.now()
    item = await ctx.emit(Message(role="assistant", content=[OutputText(text="One moment.")]))
    weather = await ctx.client_call("weather", {"city": "Oslo"})
    again = await ctx.client_call("weather", {"city": weather})
    await ctx.save({"seen": [weather, again]})
    return {
        "answers": [weather, again],
        "when": str(when),
        "uuid": str(ctx.uuid()),
        "item": item.id,
        "id": ctx.response_id,
        "history": len(ctx.history),
        "text": ctx.input_text,
        "metadata": dict(ctx.metadata),
        "state": ctx.state,
        "tools": len(ctx.request.tools or ()),
        "temperature": ctx.request.temperature,
        "version": ctx.started_version,
    }


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[RunningServer]:
    effects.clear()
    keys.clear()
    visited.clear()
    async with serve(
        ScriptedBackend(lambda body: plain("Heard."), models=["m"]),
        agents=[refunds, several, forecast, *settings.pop("others", ())],
        **settings,
    ) as server:
        await known(server, "refunds")
        yield server


def approval(request: Any, *, approve: bool = True, **fields: Any) -> Any:
    """Return the answer to a request for approval."""
    return {
        "type": "mcp_approval_response",
        "approval_request_id": request.id,
        "approve": approve,
        **fields,
    }


def result(call: Any, output: Any) -> Any:
    """Return the output of a client's function."""
    return {"type": "function_call_output", "call_id": call.call_id, "output": output}


async def waiting_response(server: RunningServer, **fields: Any) -> tuple[Any, Any]:
    """Return a response that waits for an approval, and the request for it."""
    body: Any = {"model": "refunds", "input": "Refund order 17", **fields}
    first = await server.sdk.responses.create(**body)
    return first, first.output[-1]


async def test_an_approval_ends_the_response_and_the_next_one_continues() -> None:
    async with serving() as server:
        first, request = await waiting_response(server)
        assert (first.status, effects) == ("completed", {})
        assert [item.type for item in first.output] == ["message", "mcp_approval_request"]
        assert (request.server_label, request.name) == ("refunds", "refund")
        assert request.arguments == '{"order":"17"}'

        second = await server.sdk.responses.create(
            model="refunds", input=[approval(request)], previous_response_id=first.id
        )

    assert second.output_text == "receipt 17"
    assert [item.type for item in second.output] == ["message"], "what was sent is not sent again"
    assert effects == {"17": 1}


async def test_the_call_of_an_approved_step_names_the_request_that_was_approved() -> None:
    @agent("pays")
    async def pays(ctx: AgentContext) -> str:
        one, two = await ctx.approvals([("pay", {"order": "17"}), ("close", {})])
        await ctx.step("pay", pay, "17", once=True, show=one)
        await ctx.step("look", lambda: "seen", show=True)
        with pytest.raises(ValueError, match="rejected"):
            await ctx.step("close", lambda: "closed", show=two)
        return "Done."

    async with serving(others=[pays]) as server:
        await known(server, "pays")
        first = await server.sdk.responses.create(model="pays", input="go")
        requests: Any = first.output
        second = await server.sdk.responses.create(
            model="pays",
            input=[approval(requests[0]), approval(requests[1], approve=False)],
            previous_response_id=first.id,
        )
        after = await server.sdk.responses.create(
            model="m", input="And?", previous_response_id=second.id
        )

    calls = [one for one in second.output if one.type == "mcp_call"]
    assert [(one.name, one.approval_request_id) for one in calls] == [
        ("pay", requests[0].id),
        ("look", None),
    ]
    assert after.output_text == "Heard.", "a model reads such a history"


async def test_a_rejection_has_its_reason() -> None:
    async with serving() as server:
        first, request = await waiting_response(server)
        no = approval(request, approve=False, reason="not on a Sunday")
        second = await server.sdk.responses.create(
            model="refunds", input=[no], previous_response_id=first.id
        )

    assert second.output_text == "No refund: not on a Sunday."
    assert effects == {}


async def test_the_same_answer_joins_the_first_response_and_another_one_is_refused() -> None:
    async with serving() as server:
        create = server.sdk.responses.create
        first, request = await waiting_response(server)
        body: Any = {"model": "refunds", "previous_response_id": first.id}
        second = await create(**body, input=[approval(request)])
        again = await create(**body, input=[approval(request)])
        background = await create(**body, input=[approval(request)], background=True)
        with pytest.raises(APIStatusError) as caught:
            await create(**body, input=[approval(request, approve=False)])

    assert second.id == again.id == background.id
    assert again.output == second.output
    assert background.status == "completed"
    assert (caught.value.status_code, caught.value.code) == (409, "agent_approval_answered")
    assert second.id in caught.value.message
    assert effects == {"17": 1}
    assert len(keys) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_equal_answers_at_once_pay_once(stream: bool) -> None:
    async with serving() as server:
        first, request = await waiting_response(server)
        body: Any = {
            "model": "refunds",
            "previous_response_id": first.id,
            "input": [approval(request)],
        }
        if stream:
            read = await asyncio.gather(*(events_of(server, **body) for _ in range(5)))
            assert all(events == read[0] for events in read)
            assert check_event_stream(read[0]) == []
            found = [events[-1]["response"]["id"] for events in read]
        else:
            create = server.sdk.responses.create
            found = [one.id for one in await asyncio.gather(*(create(**body) for _ in range(5)))]

    assert len({*found}) == 1
    assert effects == {"17": 1}


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_joined_request_stores_its_reply_under_its_idempotency_key(
    background: bool, stream: bool
) -> None:
    async with serving() as server:
        first, request = await waiting_response(server)
        body: Any = {
            "model": "refunds",
            "input": [approval(request)],
            "previous_response_id": first.id,
        }
        await server.sdk.responses.create(**body, stream=True)
        texts = []
        for _ in range(2):
            async with server.http.post(
                f"{server.url}/responses",
                json={**body, "background": background, "stream": stream},
                headers={"idempotency-key": "one"},
            ) as reply:
                texts.append(await reply.text())
        repetitions = await server.parts.store.read(continuations.repetitions, "", first.id)

    assert ("receipt 17" in texts[0]) or (background and not stream)  # which does not wait for it
    assert texts[1] == texts[0]
    assert repetitions == 1, "the second request with the key did not join again"


async def test_questions_are_sent_together_and_the_rest_again() -> None:
    async with serving() as server:
        create = server.sdk.responses.create
        first = await create(model="several", input="go")
        one, two = first.output
        assert [one.arguments, two.arguments] == ['{"id":1}', '{"id":2}']  # type: ignore[union-attr]
        second = await create(model="several", input=[approval(two)], previous_response_id=first.id)
        (rest,) = second.output
        assert rest.arguments == '{"id":1}'  # type: ignore[union-attr]
        third = await create(
            model="several",
            input=[approval(rest, approve=False)],
            previous_response_id=second.id,
        )
        a, b = third.output
        fourth = await create(
            model="several",
            input=[approval(b, approve=False), approval(a)],
            previous_response_id=third.id,
        )

    assert json.loads(fourth.output_text) == ["False", "True", "a True", "b False"]
    assert sorted(visited) == ["a", "b"], "steps that ran side by side are recorded"


async def test_a_client_runs_functions_and_the_handler_sees_the_request_that_began() -> None:
    async with serving() as server:
        create = server.sdk.responses.create
        before = await create(model="refunds", input="Refund order 1")
        function: Any = {
            "type": "function",
            "name": "weather",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
        declared: Any = {"type": "mcp", "server_label": "weather", "server_url": "agent:weather"}
        body: Any = {"model": "weather", "tools": [function, declared]}
        first = await create(
            **body,
            input="Weather?",
            previous_response_id=before.id,
            metadata={"a": "b"},
            temperature=0.5,
        )
        call = first.output[-1]
        assert call.type == "function_call"
        second = await create(**body, input=[result(call, "rain")], previous_response_id=first.id)
        (call,) = second.output
        assert call.type == "function_call"
        assert call.arguments == '{"city":"rain"}'
        parts = [{"type": "input_text", "text": text} for text in ("s", "un")]
        third = await create(**body, input=[result(call, parts)], previous_response_id=second.id)
        new = await create(**body, input="Again", previous_response_id=third.id)

    found = json.loads(third.output_text)
    assert found["answers"] == ["rain", "sun"]
    assert (found["history"], found["text"]) == (3, "Weather?")
    assert (found["metadata"], found["temperature"], found["tools"]) == ({"a": "b"}, 0.5, 1)
    assert (found["id"], found["item"]) == (first.id, first.output[0].id)
    assert found["state"] is None
    assert new.output[-1].type == "function_call", "a new message begins a new run"


async def test_a_conversation_continues_too() -> None:
    async with serving() as server:
        create = server.sdk.responses.create
        conversation = (await server.sdk.conversations.create()).id
        await create(model="weather", input="First", conversation=conversation, store=False)
        first, request = await waiting_response(server, conversation=conversation)
        body: Any = {"model": "refunds", "conversation": conversation}
        found = await asyncio.gather(*(create(**body, input=[approval(request)]) for _ in range(3)))
        again = await create(**body, input=[approval(request)])
        await server.sdk.responses.delete(first.id)
        with pytest.raises(APIStatusError) as caught:
            await create(**body, input=[approval(request)])

    assert {one.id for one in found} == {again.id}
    assert again.output_text == "receipt 17"
    assert effects == {"17": 1}
    assert (caught.value.status_code, caught.value.code) == (400, "agent_run_expired")


async def test_a_run_in_a_conversation_does_not_see_what_came_later() -> None:
    async with serving() as server:
        create = server.sdk.responses.create
        conversation = (await server.sdk.conversations.create()).id
        await create(model="refunds", input="Refund order 1", conversation=conversation)
        body: Any = {"model": "weather", "conversation": conversation}
        first = await create(**body, input="Weather?")
        second = await create(**body, input=[result(first.output[-1], "rain")])
        third = await create(**body, input=[result(second.output[-1], "sun")])

    found = json.loads(third.output_text)
    assert (found["history"], found["text"]) == (3, "Weather?")


async def test_a_new_message_begins_a_new_run() -> None:
    async with serving() as server:
        create = server.sdk.responses.create
        first, request = await waiting_response(server)
        other = await create(
            model="refunds", input="Refund order 18", previous_response_id=first.id
        )
        assert other.output[-1].arguments == '{"order":"18"}'  # type: ignore[union-attr]
        late = await create(
            model="refunds", input=[approval(request)], previous_response_id=other.id
        )

    assert late.output_text == "receipt 17", "the run that asked continues"
    assert effects == {"17": 1}


async def test_what_cannot_continue_a_run_is_refused() -> None:
    async with serving() as server:
        first, request = await waiting_response(server)
        other, other_request = await waiting_response(server)

        async def refusal(*items: Any, **fields: Any) -> tuple[int, str | None]:
            body: Any = {"model": "refunds", "previous_response_id": first.id, **fields}
            with pytest.raises(APIStatusError) as caught:
                await server.sdk.responses.create(input=[*items], **body)
            return caught.value.status_code, caught.value.code

        message = {"role": "user", "content": "Thanks."}
        both = 400, "agent_input_with_answer"
        assert await refusal(approval(request), message) == both
        assert await refusal(approval(request), approval(other_request)) == both
        assert await refusal(approval(request), approval(request, approve=False)) == both
        assert await refusal(approval(request), model="several") == (400, "invalid_value")
        elsewhere = await refusal(approval(request), previous_response_id=other.id)
        assert elsewhere == (400, "invalid_value")
        unsupported = 400, "unsupported_parameter"
        for url in ("agent:other", "agent:", "https://example.com"):
            tool = {"type": "mcp", "server_label": "refunds", "server_url": url}
            assert await refusal(approval(request), tools=[tool]) == unsupported
        assert effects == {}
        second = await server.sdk.responses.create(
            model="refunds",
            input=[approval(request)],
            previous_response_id=first.id,
            tools=[{"type": "mcp", "server_label": "refunds", "server_url": "agent:refunds"}],
        )
        assert second.output_text == "receipt 17", "nothing of the above has answered"


async def test_another_value_of_a_parameter_is_refused_with_an_answer() -> None:
    async with serving() as server:
        create = server.sdk.responses.create
        first = await create(model="weather", input="?", temperature=0.5)
        body: Any = {"model": "weather", "previous_response_id": first.id}
        with pytest.raises(APIStatusError) as caught:
            await create(**body, input=[result(first.output[-1], "rain")], temperature=0.6)
        image = [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]
        with pytest.raises(APIStatusError) as with_image:
            await create(**body, input=[result(first.output[-1], image)])

    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", "temperature")
    assert with_image.value.code == "unsupported_value"


async def test_a_response_that_is_not_stored_cannot_wait() -> None:
    async with serving() as server:
        response = await server.sdk.responses.create(model="refunds", input="17", store=False)

    assert response.status == "failed"
    assert response.error is not None
    assert response.error.code == "agent_needs_store"


async def test_a_response_with_answers_that_was_not_stored_is_not_repeated() -> None:
    async with serving() as server:
        create = server.sdk.responses.create
        first, request = await waiting_response(server)
        body: Any = {
            "model": "refunds",
            "previous_response_id": first.id,
            "input": [approval(request)],
            "store": False,
        }
        second = await create(**body)
        with pytest.raises(APIStatusError, match="is not stored any more") as caught:
            await create(**body)

    assert second.output_text == "receipt 17"
    assert (caught.value.status_code, caught.value.code) == (409, "agent_approval_answered")
    assert effects == {"17": 1}


@pytest.mark.parametrize("continues_by", ["previous_response_id", "conversation"])
async def test_the_agents_sdk_answers_an_agent_that_it_declares(continues_by: str) -> None:
    approved: list[str] = []

    def approve(request: Any) -> Any:
        approved.append(request.data.name)
        return {"approve": True}

    async with serving() as server:
        tool = HostedMCPTool(
            tool_config={
                "type": "mcp",
                "server_label": "refunds",
                "server_url": "agent:refunds",
            },
            on_approval_request=approve,
        )
        client = Agent(
            name="client", model=OpenAIResponsesModel("refunds", server.sdk), tools=[tool]
        )
        fields: Any = {"auto_previous_response_id": True}
        if continues_by == "conversation":
            fields = {"conversation_id": (await server.sdk.conversations.create()).id}
        result = await Runner.run(
            client, "Refund order 17", run_config=RunConfig(tracing_disabled=True), **fields
        )

    assert result.final_output == "receipt 17"
    assert approved == ["refund"]
    assert effects == {"17": 1}


async def test_a_model_does_not_connect_to_an_agent() -> None:
    async with serving(has_tools=True) as server:
        tool: Any = {"type": "mcp", "server_label": "refunds", "server_url": "agent:refunds"}
        with pytest.raises(APIStatusError) as caught:
            await server.sdk.responses.create(model="m", input="?", tools=[tool])

    assert caught.value.status_code == 400
    assert "agent" in caught.value.message


async def test_a_model_reads_in_the_history_what_was_approved() -> None:
    backend = ScriptedBackend(lambda body: plain("Heard."), models=["m"])
    async with serve(backend, agents=[refunds]) as server:
        await known(server, "refunds")
        first, request = await waiting_response(server)
        second = await server.sdk.responses.create(
            model="refunds", input=[approval(request)], previous_response_id=first.id
        )
        answer = await server.sdk.responses.create(
            model="m", input="And?", previous_response_id=second.id
        )

    assert answer.output_text == "Heard."
    read = json.dumps(backend.requests[-1]["messages"])
    assert "The user approved this call." in read
    assert "receipt 17" in read


async def test_answers_continue_in_a_new_response_after_one_that_was_cancelled() -> None:
    slow_step = SlowStep()

    @agent("slow")
    async def slow(ctx: AgentContext) -> str:
        await ctx.approval("refund", 1)
        async with ctx.message() as text:
            await text.write("Begun.")
        paid = await ctx.step("pay", pay, "18", once=True)
        return f"{paid} {await ctx.step('last', slow_step.run)}"

    async with serving(others=[slow]) as server:
        create, cancel = server.sdk.responses.create, server.sdk.responses.cancel
        first = await create(model="slow", input="go")
        body: Any = {"model": "slow", "previous_response_id": first.id, "background": True}
        yes = [approval(first.output[-1])]
        second = await create(**body, input=yes)
        await slow_step.begun.wait()
        assert (await cancel(second.id)).status == "cancelled"
        with pytest.raises(APIStatusError) as caught:
            await create(**body, input=[approval(first.output[-1], approve=False)])
        assert caught.value.code == "agent_approval_answered"
        slow_step.released.set()
        third = await create(**{**body, "background": False}, input=yes)
        fourth = await create(**body, input=yes)

    assert third.id == fourth.id != second.id
    assert [item.content[0].text for item in third.output] == ["Begun.", "receipt 18 lasted"]  # type: ignore[union-attr]
    assert effects == {"18": 1}


@pytest.mark.parametrize("fields", [{}, {"stream": True}, {"store": False}])
async def test_a_client_that_leaves_does_not_cancel_what_another_one_waits_for(
    fields: dict[str, bool], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    slow_step = SlowStep()

    @agent("slow")
    async def slow(ctx: AgentContext) -> str:
        await ctx.approval("refund", 1)
        return await ctx.step("last", slow_step.run)

    async with serving(others=[slow]) as server:
        first = await server.sdk.responses.create(model="slow", input="go")
        yes: Any = {
            "model": "slow",
            "previous_response_id": first.id,
            "input": [approval(first.output[-1])],
            **fields,
        }
        one = asyncio.create_task(server.post("/responses", json=yes))
        await slow_step.begun.wait()
        two = asyncio.create_task(server.sdk.responses.create(**{**yes, "stream": False}))

        async def repetitions() -> int:
            return await server.parts.store.read(continuations.repetitions, "", first.id)

        async def log() -> str:
            return caplog.text

        await eventually(repetitions, lambda found: found == 1)
        one.cancel()
        # The request of `one` has ended: as "gone", or 200 if its stream had started.
        await eventually(log, lambda text: text.count("POST /v1/responses ") == 2)
        slow_step.released.set()
        assert (await two).output_text == "lasted"


async def test_a_run_does_not_continue_without_all_its_responses() -> None:
    slow_step = SlowStep()

    @agent("slow")
    async def slow(ctx: AgentContext) -> str:
        await ctx.approval("refund", 1)
        await ctx.step("last", slow_step.run)
        return str((await ctx.approval("refund", 2)).approved)

    async with serving(others=[slow]) as server:
        create, delete = server.sdk.responses.create, server.sdk.responses.delete
        conversation = (await server.sdk.conversations.create()).id
        body: Any = {"model": "slow", "conversation": conversation}
        first = await create(**body, input="go")
        second = asyncio.create_task(create(**body, input=[approval(first.output[-1])]))
        await slow_step.begun.wait()
        await delete(first.id)
        slow_step.released.set()
        waiting = await second
        assert waiting.output[-1].type == "mcp_approval_request", "it had read all it needs"
        third = await create(**body, input=[approval(waiting.output[-1])])

        other, request = await waiting_response(server)
        await delete(other.id)
        with pytest.raises(APIStatusError) as caught:
            await create(model="refunds", input=[approval(request)], previous_response_id=other.id)

    assert third.error is not None
    assert third.error.code == "agent_run_expired"
    assert caught.value.code == "previous_response_not_found"


async def test_another_tenant_cannot_answer() -> None:
    async with serving() as server:
        first, request = await waiting_response(server)
        found = await server.parts.store.read(continuations.waiting, "other", request.id)
        assert found is None
        answers = Answers(first.id, b"")
        known = await server.parts.store.write(continuations.join, "other", answers)
        assert known is not None
        assert known.response_id == ""
