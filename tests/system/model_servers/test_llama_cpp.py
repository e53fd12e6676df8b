"""What llama-cpp-python does otherwise, seen of its server itself, and what becomes of it behind
Antiphon.

This is the evidence for its row in `translation/dialects/`.
"""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from antiphon.translation.dialects.table import DIALECTS
from antiphon_verify.reading import fits
from tests.support.command import antiphon
from tests.system.model_servers.requests import (
    FOR_EVER,
    PLACE,
    TIDE_AT,
    raw_events,
    stream,
    text_of,
)
from tests.system.model_servers.servers import CONTEXT, LLAMA, ModelServer

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("server", [LLAMA], ids=[LLAMA.name], indirect=True, scope="session"),
]

MODEL = LLAMA.model
NAMED: Any = {"type": "function", "name": "tide_at"}
CHAT_TOOL = {"type": "function", "function": {"name": "tide_at", "parameters": PLACE}}
TOO_LONG = "harbour " * CONTEXT

LONG: Any = TIDE_AT | {
    "parameters": PLACE | {"properties": {"place": {"type": "string", "minLength": 99}}}
}
"""Its arguments take more tokens than a test allows."""

JOURNEY = {
    "type": "object",
    "properties": {
        "days": {"type": "integer"},
        "by": {"enum": ["sea", "land"]},
        "stops": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
                    "stays": {"type": "boolean"},
                },
                "required": ["code", "stays"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["days", "by", "stops"],
    "additionalProperties": False,
}
SCHEMAS: dict[str, dict[str, Any]] = {"flat": PLACE, "nested": JOURNEY}


def form(schema: dict[str, Any]) -> Any:
    """The format of a text that must fit this schema."""
    return {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}}


async def test_a_probe_finds_what_its_row_states(server: ModelServer, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    done = await antiphon(
        tmp_path, "models", "probe", MODEL, "--backend", server.url, "--store", store, "--json"
    )

    (found,) = json.loads(done.out)
    profile = found["profile"]
    row = DIALECTS[LLAMA.name]
    assert set(profile["json_formats"]) == row.json_formats
    assert profile["late_system"] is (row.system_messages != "first")
    assert (profile["json_held"], profile["forced_calls"]) == (True, False)
    assert (profile["usage"], profile["streamed_usage"]) == (True, "stream_options" in row.accepts)


async def test_it_is_identified_by_the_owner_of_its_models(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    assert {model.owned_by async for model in sdk.models.list()} == {"me"}


# Structured output.


async def test_it_refuses_a_schema_in_its_usual_place(server: ModelServer) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": PLACE}}
    status, body = await server.send_request("Where?", response_format=wanted)

    assert status == 500
    assert b"response_format" in body


@pytest.mark.parametrize("name", SCHEMAS)
async def test_even_noise_fits_a_schema(sdk: AsyncOpenAI, server: ModelServer, name: str) -> None:
    requested: Any = {"model": MODEL, "input": "Where to?", "text": form(SCHEMAS[name])}
    for _ in range(3):
        plain = await sdk.responses.create(**requested)
        streamed = (await stream(sdk, **requested))[-1]["response"]

        assert (plain.status, streamed["status"]) == ("completed", "completed")
        assert fits(json.loads(plain.output_text), SCHEMAS[name])
        assert fits(json.loads(text_of(streamed)), SCHEMAS[name])


@pytest.mark.parametrize(
    "lethal", [{"pattern": "^\\d{2}$"}, {"maxLength": 10_000}], ids=["class", "bound"]
)
async def test_a_schema_that_would_end_its_process_is_sent_weaker(
    sdk: AsyncOpenAI, server: ModelServer, lethal: dict[str, Any]
) -> None:
    schema = PLACE | {"properties": {"place": {"type": "string", **lethal}}}
    wanted: Any = {"format": {"type": "json_schema", "name": "answer", "schema": schema}}
    tool: Any = {"type": "function", "name": "tide_at", "parameters": schema}

    answer = await sdk.responses.create(model=MODEL, input="Where to?", text=wanted)
    call = await sdk.responses.create(model=MODEL, input="When?", tools=[tool], tool_choice=NAMED)

    assert set(json.loads(answer.output_text)) == {"place"}
    assert call.output[0].type == "function_call"
    assert set(json.loads(call.output[0].arguments)) == {"place"}
    assert server.is_running


async def test_a_json_object_is_one(sdk: AsyncOpenAI, server: ModelServer) -> None:
    response = await sdk.responses.create(
        model=MODEL,
        input="Answer in JSON.",
        text={"format": {"type": "json_object"}},
        max_output_tokens=1000,
    )
    if response.status == "completed":
        assert isinstance(json.loads(response.output_text), dict)
    assert response.output_text.lstrip().startswith("{")


async def test_the_input_of_a_custom_tool_fits_its_regular_expression(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    code = {"type": "grammar", "syntax": "regex", "definition": "[a-f]{3}-[0-9]{2}"}
    response = await sdk.responses.create(
        model=MODEL,
        input="Which?",
        tools=[{"type": "custom", "name": "berth", "format": code}],  # type: ignore[list-item,misc]
        tool_choice={"type": "custom", "name": "berth"},
    )
    (call,) = response.output

    assert call.type == "custom_tool_call"
    assert re.fullmatch(code["definition"], call.input)


# Calls.


async def test_a_demanded_call_has_arguments_that_fit(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    for choice in (
        NAMED,
        "required",
        {"type": "allowed_tools", "mode": "required", "tools": [NAMED]},
    ):
        events = await stream(sdk, model=MODEL, input="When?", tools=[TIDE_AT], tool_choice=choice)
        (call,) = events[-1]["response"]["output"]

        assert (call["type"], call["name"], call["status"]) == (
            "function_call",
            "tide_at",
            "completed",
        )
        assert fits(json.loads(call["arguments"]), PLACE)


async def test_a_backend_that_ignores_required_receives_the_tool_by_name_or_refuses(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    status, body = await server.send_request("When?", tools=[CHAT_TOOL], tool_choice="required")
    assert status == 200
    assert "tool_calls" not in json.loads(body)["choices"][0]["message"]

    other: Any = {**TIDE_AT, "name": "wind_at"}
    with pytest.raises(openai.BadRequestError) as caught:
        await sdk.responses.create(
            model=MODEL, input="When?", tools=[TIDE_AT, other], tool_choice="required"
        )
    assert (caught.value.code, caught.value.param) == ("unsupported_value", "tool_choice")


async def test_a_cut_off_call_is_incomplete_even_if_marked_complete(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    choice = {"type": "function", "function": {"name": "tide_at"}}
    _, body = await server.send_request(
        "When?", tools=[CHAT_TOOL], tool_choice=choice, max_tokens=4
    )
    assert json.loads(body)["choices"][0]["finish_reason"] == "tool_calls"

    response = await sdk.responses.create(
        model=MODEL, input="When?", tools=[LONG], tool_choice=NAMED, max_output_tokens=16
    )
    (call,) = response.output
    assert call.type == "function_call"
    assert (response.status, call.status) == ("incomplete", "incomplete")


async def test_null_along_with_calls_is_refused_so_it_is_not_sent(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "tide_at", "arguments": '{"place": "Dover"}'},
    }
    status, _ = await server.post(
        messages=[
            {"role": "user", "content": "When?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "At noon."},
        ]
    )
    created: Any = {
        "type": "function_call",
        "call_id": "call_1",
        "name": "tide_at",
        "arguments": '{"place": "Dover"}',
    }
    output: Any = {"type": "function_call_output", "call_id": "call_1", "output": "At noon."}
    response = await sdk.responses.create(
        model=MODEL, input=[{"role": "user", "content": "When?"}, created, output], tools=[TIDE_AT]
    )

    assert (status, response.status) == (500, "completed")


# Tokens.


async def test_its_streams_report_no_tokens(sdk: AsyncOpenAI, server: ModelServer) -> None:
    _, body = await server.send_request(
        "Hello", stream=True, stream_options={"include_usage": True}
    )
    usage = (await stream(sdk, model=MODEL, input="Hello"))[-1]["response"]["usage"]

    assert b'"usage"' not in body
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (0, 0, 0)


async def test_a_token_has_at_most_the_requested_number_of_rivals(
    sdk: AsyncOpenAI, server: ModelServer
) -> None:
    _, body = await server.send_request("Hello", logprobs=True, top_logprobs=2)
    reported = [
        len(token["top_logprobs"])
        for token in json.loads(body)["choices"][0]["logprobs"]["content"]
    ]
    response = await sdk.responses.create(model=MODEL, input="Hello", top_logprobs=2)
    (part,) = response.output[0].content  # type: ignore[union-attr]

    assert max(reported) == 3
    assert {len(token.top_logprobs) for token in part.logprobs} == {2}  # type: ignore[union-attr]


async def test_a_too_long_input_is_reported_plain_and_streamed(
    front: str, sdk: AsyncOpenAI, server: ModelServer
) -> None:
    """The server tells it only where it is to answer whole: a stream is a 200 with nothing behind
    it.
    """
    plain = await server.send_request(TOO_LONG)
    (status, streamed) = await server.send_request(TOO_LONG, stream=True)
    assert (plain[0], status) == (400, 200)
    assert b"data:" not in streamed

    with pytest.raises(openai.BadRequestError) as caught:
        await sdk.responses.create(model=MODEL, input=TOO_LONG)
    events = [event async for event in raw_events(front, model=MODEL, input=TOO_LONG)]
    assert caught.value.code == "context_length_exceeded"
    assert events[-1]["type"] == "response.failed"
    assert events[-1]["response"]["error"]["code"] == "context_length_exceeded"


async def test_truncation_drops_what_does_not_fit(sdk: AsyncOpenAI, server: ModelServer) -> None:
    turns: Any = [
        {"role": "user", "content": TOO_LONG},
        {"role": "assistant", "content": "Aye."},
        {"role": "user", "content": "Hello"},
    ]
    requested: Any = {"model": MODEL, "input": turns, "truncation": "auto", "max_output_tokens": 50}
    plain = await sdk.responses.create(**requested)
    last = (await stream(sdk, **requested))[-1]

    assert plain.status in ("completed", "incomplete")
    assert last["type"] in ("response.completed", "response.incomplete")


# One thing at a time.


async def test_any_other_request_breaks_off_a_stream(server: ModelServer) -> None:
    """Seen from outside: `[DONE]` comes, and no `finish_reason` before it.

    Behind Antiphon the second one waits.
    """
    first = asyncio.create_task(server.send_request(FOR_EVER, stream=True))
    while not first.done():
        await server.list()
    status, body = await first

    assert status == 200
    assert b"data: [DONE]" in body
    assert not re.search(rb'"finish_reason": "', body)


async def test_many_at_once_wait_for_each_other(sdk: AsyncOpenAI, server: ModelServer) -> None:
    requested: Any = {"model": MODEL, "input": FOR_EVER, "max_output_tokens": 30}
    all_events = await asyncio.gather(*(stream(sdk, **requested) for _ in range(8)))

    assert [events[-1]["type"] for events in all_events] == ["response.incomplete"] * 8
