"""The official Python SDK, unmodified, against the server."""

import json
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import ToolParam
from pydantic import BaseModel

from tests.system.clients.model import Call, Model, Turn

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAME = "fake-model"
ADD: ToolParam = {
    "type": "function",
    "name": "add",
    "description": "Add two numbers.",
    "parameters": {
        "type": "object",
        "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
        "required": ["x", "y"],
        "additionalProperties": False,
    },
    "strict": True,
}
PATCH: ToolParam = {"type": "custom", "name": "patch", "description": "Change a file."}
TEXT_EVENTS = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


class Place(BaseModel):
    name: str


async def test_a_response_is_created(sdk: AsyncOpenAI, model: Model) -> None:
    response = await sdk.responses.create(model=NAME, input="hi")
    assert (response.status, response.output_text) == ("completed", "pong")
    assert response.usage is not None
    assert response.usage.total_tokens == 15


async def test_a_stream_has_every_event_in_its_order(sdk: AsyncOpenAI, model: Model) -> None:
    events = [
        event async for event in await sdk.responses.create(model=NAME, input="hi", stream=True)
    ]
    assert [event.type for event in events] == TEXT_EVENTS
    assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_the_stream_helper_puts_a_text_together(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(Turn("Good morning, Dover."))
    async with sdk.responses.stream(model=NAME, input="hi") as stream:
        seen = [
            event.snapshot async for event in stream if event.type == "response.output_text.delta"
        ]
        response = await stream.get_final_response()
    assert len(seen) > 1
    assert seen[-1] == response.output_text == "Good morning, Dover."


async def test_the_stream_helper_puts_arguments_together(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(Turn(calls=(Call("add", {"x": 1, "y": 2}),)))
    async with sdk.responses.stream(model=NAME, input="hi", tools=[ADD]) as stream:
        seen = [
            event.snapshot
            async for event in stream
            if event.type == "response.function_call_arguments.delta"
        ]
        response = await stream.get_final_response()
    call = response.output[-1]
    assert call.type == "function_call"
    assert seen[-1] == call.arguments
    assert json.loads(call.arguments) == {"x": 1, "y": 2}


async def test_an_answer_is_parsed(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(Turn('{"name": "Dover"}'))
    response = await sdk.responses.parse(model=NAME, input="hi", text_format=Place)
    assert response.output_parsed == Place(name="Dover")
    assert model.requests[-1]["response_format"]["json_schema"]["schema"]["required"] == ["name"]


async def test_a_streamed_answer_is_parsed(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(Turn('{"name": "Dover"}'))
    async with sdk.responses.stream(model=NAME, input="hi", text_format=Place) as stream:
        response = await stream.get_final_response()
    assert response.output_parsed == Place(name="Dover")


async def test_a_background_response_is_polled_until_it_exists(
    sdk: AsyncOpenAI, model: Model
) -> None:
    response = await sdk.responses.create(model=NAME, input="hi", background=True)
    assert (response.status, response.output) == ("queued", [])
    while response.status in ("queued", "in_progress"):
        response = await sdk.responses.retrieve(response.id)
    assert (response.status, response.output_text) == ("completed", "pong")


async def test_a_background_stream_is_taken_up_where_it_was_left(
    sdk: AsyncOpenAI, model: Model
) -> None:
    model.play(Turn("Good morning, Dover."))
    begun: list[Any] = []
    async with await sdk.responses.create(
        model=NAME, input="hi", background=True, stream=True
    ) as stream:
        async for event in stream:
            begun.append(event)
            if len(begun) == 3:
                break
    response_id = begun[0].response.id
    last = begun[-1].sequence_number
    rest = [
        event
        async for event in await sdk.responses.retrieve(
            response_id, stream=True, starting_after=last
        )
    ]
    async with sdk.responses.stream(response_id=response_id, starting_after=last) as helped:
        again = [event.type async for event in helped]
        response = await helped.get_final_response()

    assert rest[0].sequence_number == last + 1
    assert [event.type for event in rest][-1] == "response.completed"
    assert again == [event.type for event in rest]
    assert response.output_text == "Good morning, Dover."


async def test_a_stored_response_is_read_and_deleted(sdk: AsyncOpenAI, model: Model) -> None:
    response = await sdk.responses.create(model=NAME, input="hi")
    assert [item.type async for item in sdk.responses.input_items.list(response.id)] == ["message"]
    await sdk.responses.delete(response.id)
    with pytest.raises(openai.NotFoundError):
        await sdk.responses.retrieve(response.id)


async def test_only_a_background_response_is_cancelled(sdk: AsyncOpenAI, model: Model) -> None:
    """Section 13: the real API refuses to cancel a synchronous response."""
    response = await sdk.responses.create(model=NAME, input="hi")
    with pytest.raises(openai.BadRequestError, match="Cannot cancel a synchronous response"):
        await sdk.responses.cancel(response.id)


async def test_a_conversation_is_stored_and_changed(sdk: AsyncOpenAI, model: Model) -> None:
    conversation = await sdk.conversations.create(
        metadata={"a": "b"}, items=[{"type": "message", "role": "user", "content": "hello"}]
    )
    await sdk.responses.create(model=NAME, input="hi", conversation=conversation.id)
    items = [item async for item in sdk.conversations.items.list(conversation.id, order="asc")]
    await sdk.conversations.items.create(
        conversation.id, items=[{"type": "message", "role": "user", "content": "and again"}]
    )
    first = items[0].id
    assert first is not None
    one = await sdk.conversations.items.retrieve(first, conversation_id=conversation.id)
    await sdk.conversations.items.delete(first, conversation_id=conversation.id)
    left = [item async for item in sdk.conversations.items.list(conversation.id)]
    changed = await sdk.conversations.update(conversation.id, metadata={"c": "d"})

    assert [getattr(item, "role", None) for item in items] == ["user", "user", "assistant"]
    assert one == items[0]
    assert len(left) == 3
    assert (changed.metadata, await sdk.conversations.retrieve(conversation.id)) == (
        {"c": "d"},
        changed,
    )
    assert (await sdk.conversations.delete(conversation.id)).deleted


async def test_tokens_are_counted(sdk: AsyncOpenAI, model: Model) -> None:
    short = await sdk.responses.input_tokens.count(model=NAME, input="hi")
    long = await sdk.responses.input_tokens.count(model=NAME, input="Good morning, Dover. " * 20)
    assert 0 < short.input_tokens < long.input_tokens
    assert model.requests == []


async def test_what_was_compacted_is_remembered(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(Turn("The user's name is Ada."), Turn("You are Ada."))
    folded = await sdk.responses.compact(
        model=NAME,
        input=[
            {"role": "user", "content": "I am Ada."},
            {"role": "assistant", "content": "Good morning, Ada."},
        ],
    )
    # The SDK takes every message in an output for the assistant's, and warns of the user's.
    stored: list[Any] = [item.to_dict(warnings=False) for item in folded.output]
    response = await sdk.responses.create(
        model=NAME, input=[*stored, {"role": "user", "content": "Who am I?"}]
    )
    assert (folded.object, folded.output[-1].type) == ("response.compaction", "compaction")
    assert folded.usage.total_tokens > 0
    assert "The user's name is Ada." in model.sent_to()
    assert response.output_text == "You are Ada."


async def until_the_end(connection: Any) -> list[Any]:
    """The events of one response that a connection answers with."""
    events = []
    async for event in connection:
        events.append(event)
        if event.type in ("response.completed", "response.failed", "error"):
            break
    return events


async def test_a_websocket_goes_on_from_what_was_not_stored(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(Turn("Good morning"), Turn("Good night"))
    async with sdk.responses.connect() as connection:
        await connection.response.create(model=NAME, input="hi", store=False)
        first = await until_the_end(connection)
        await connection.response.create(
            model=NAME, input="bye", store=False, previous_response_id=first[-1].response.id
        )
        second = await until_the_end(connection)

    assert [event.type for event in first if not event.type.endswith(".delta")] == [
        kind for kind in TEXT_EVENTS if not kind.endswith(".delta")
    ]
    assert second[-1].response.output_text == "Good night"
    assert [message["content"] for message in model.requests[-1]["messages"]] == [
        "hi",
        "Good morning",
        "bye",
    ]


async def test_a_custom_tool_gets_its_input_raw(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(Turn(calls=(Call("patch", 'one\n"two"\n'),)), Turn("Done."))
    response = await sdk.responses.create(model=NAME, input="hi", tools=[PATCH])
    call = response.output[0]
    assert call.type == "custom_tool_call"
    assert call.input == 'one\n"two"\n'
    after = await sdk.responses.create(
        model=NAME,
        tools=[PATCH],
        previous_response_id=response.id,
        input=[{"type": "custom_tool_call_output", "call_id": call.call_id, "output": "patched"}],
    )
    assert after.output_text == "Done."
    assert model.requests[-1]["messages"][-1]["content"] == "patched"


async def test_the_input_of_a_custom_tool_is_streamed_raw(sdk: AsyncOpenAI, model: Model) -> None:
    model.play(Turn(calls=(Call("patch", 'one\n"two"\n'),)))
    async with sdk.responses.stream(model=NAME, input="hi", tools=[PATCH]) as stream:
        pieces = [
            event.delta
            async for event in stream
            if event.type == "response.custom_tool_call_input.delta"
        ]
        response = await stream.get_final_response()
    assert "".join(pieces) == 'one\n"two"\n'
    assert response.output[0].type == "custom_tool_call"
