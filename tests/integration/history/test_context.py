"""The items that the model is to see, from a chain of responses and a request's own input."""

import json
from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.protocol.resources import CreateConversation
from antiphon.recording.persistence import RequestIdentity
from antiphon.sizes import MANY
from antiphon.storage.input_pages import input_page
from antiphon.storage.operations import responses
from antiphon.storage.records.responses import PageQuery
from tests.support.cases import each
from tests.support.parts import Chunks, called, query, scripted_parts, stated, stream
from tests.support.replay import delta

TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}
THOUGHT: Chunks = [
    delta(reasoning_content="Hm, "),
    delta(reasoning_content="well."),
    delta(content="Yes"),
    delta("stop"),
]
CALL = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "a star"}
MESSAGES = [{"role": "user", "content": "b"}] * (MANY + 1)
"""Input that is checked and translated in a thread."""


async def refusal(created: Any, **body: Any) -> ClientError:
    with pytest.raises(ClientError) as caught:
        await query(created, **body)
    return caught.value


async def test_a_chain_is_parents_input_then_output_then_the_new_input() -> None:
    created, backend = scripted_parts(stated("one"), stated("two"), stated("three"))
    first = await query(created, input="a", instructions="be A")
    second = await query(created, input="b", previous_response_id=first["id"])
    await query(created, input="c", previous_response_id=second["id"])

    assert [(m["role"], m["content"]) for m in backend.requests[-1]["messages"]] == [
        ("user", "a"),
        ("assistant", "one"),
        ("user", "b"),
        ("assistant", "two"),
        ("user", "c"),
    ]


async def test_a_large_input_follows_a_chain_as_a_small_one_does() -> None:
    created, backend = scripted_parts(stated("one"), stated("two"), stated("three"))
    first = await query(created, input="a")
    second = await query(created, input=MESSAGES, previous_response_id=first["id"])
    await query(created, input="c", previous_response_id=second["id"])

    before = ["a", "one", *["b"] * len(MESSAGES)]
    assert [[m["content"] for m in request["messages"]] for request in backend.requests[1:]] == [
        before,
        [*before, "two", "c"],
    ]


async def test_an_item_that_repeats_a_stored_id_is_refused_in_a_large_input_too() -> None:
    created, _ = scripted_parts(stated("one"))
    first = await query(created, input="a")
    error = await refusal(
        created, input=[first["output"][0], *MESSAGES], previous_response_id=first["id"]
    )

    assert error.message.startswith("Duplicate item found with id")
    assert created.shared.usage()["large_requests"].in_use == 0


async def test_a_response_can_be_followed_twice() -> None:
    created, backend = scripted_parts(stated("one"), stated("two"), stated("three"))
    first = await query(created, input="a")
    await query(created, input="b", previous_response_id=first["id"])
    await query(created, input="c", previous_response_id=first["id"])

    assert [m["content"] for m in backend.requests[-1]["messages"]] == ["a", "one", "c"]


async def test_a_response_can_be_followed_without_new_input() -> None:
    created, backend = scripted_parts(stated("one"), stated("two"))
    first = await query(created, input="a")
    await query(created, input=[], previous_response_id=first["id"])

    assert [m["content"] for m in backend.requests[-1]["messages"]] == ["a", "one"]


async def test_a_tool_loop_goes_on_by_previous_response_id() -> None:
    created, backend = scripted_parts(called(), stated("A star."))
    first = await query(created, input="Look!", tools=[TOOL])
    call_id = first["output"][0]["call_id"]
    await query(
        created,
        input=[{**OUTPUT, "call_id": call_id}],
        previous_response_id=first["id"],
        tools=[TOOL],
    )

    user, call, output = backend.requests[-1]["messages"]
    assert (user["role"], call["tool_calls"][0]["id"]) == ("user", call_id)
    assert output == {"role": "tool", "tool_call_id": call_id, "content": "a star"}


async def test_a_call_in_the_chain_without_its_output_is_refused() -> None:
    created, _ = scripted_parts(called())
    first = await query(created, input="Look!", tools=[TOOL])
    error = await refusal(created, input="Well?", previous_response_id=first["id"])

    assert (error.status, error.code, error.param) == (400, None, "input")
    assert (
        error.message == f"No tool output found for function call {first['output'][0]['call_id']}."
    )


@each("path", ["chain", "conversation"])
async def test_a_call_that_is_sent_again_without_its_id_is_the_stored_one(path: str) -> None:
    created, backend = scripted_parts(called(arguments='{"a": 1}'), stated("A star."))
    before = {"conversation": "conv_1"} if path == "conversation" else {}
    await Gateway(created).conversations.create(
        CreateConversation(), RequestIdentity(response_id="conv_1")
    )
    first = await query(created, input="Look!", tools=[TOOL], **before)
    call = first["output"][0]
    repeated = {name: call[name] for name in ("type", "call_id", "name", "arguments")}
    after = before or {"previous_response_id": first["id"]}
    second = await query(
        created, input=[repeated, {**OUTPUT, "call_id": call["call_id"]}], tools=[TOOL], **after
    )

    roles = [message["role"] for message in backend.requests[-1]["messages"]]
    assert (second["status"], roles) == ("completed", ["user", "assistant", "tool"])
    page = await input_page(created.store, "", second["id"], PageQuery(10))
    assert page is not None
    assert [json.loads(item.body)["type"] for item in page.data] == [
        "message",
        "function_call",
        "function_call_output",
    ]


@each(
    "changed",
    [{"name": "peek"}, {"arguments": '{"a": 2}'}, {"type": "custom_tool_call", "input": "x"}],
)
async def test_another_call_with_the_call_id_of_a_stored_one_is_refused(
    changed: dict[str, Any],
) -> None:
    created, _ = scripted_parts(called(arguments='{"a": 1}'))
    first = await query(created, input="Look!", tools=[TOOL])
    call = {
        name: first["output"][0][name] for name in ("type", "call_id", "name", "arguments")
    } | changed
    if call["type"] != "function_call":
        del call["arguments"]
    output = {**OUTPUT, "call_id": call["call_id"]}
    error = await refusal(
        created, input=[call, output], previous_response_id=first["id"], tools=[TOOL]
    )

    assert (error.status, error.code, error.param) == (400, "invalid_value", "input")


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([OUTPUT], "No tool call found for function call output with call_id call_1."),
        ([CALL], "No tool output found for function call call_1."),
        ([OUTPUT, CALL], "No tool call found for function call output with call_id call_1."),
        ([CALL, OUTPUT, OUTPUT], "Duplicate function call output found with call_id call_1."),
        ([CALL, CALL, OUTPUT], "Duplicate function call found with call_id call_1."),
    ],
)
async def test_calls_and_outputs_must_pair_off(items: list[dict[str, Any]], message: str) -> None:
    error = await refusal(scripted_parts()[0], input=items)

    assert (error.status, error.param, error.message) == (400, "input", message)


async def test_an_unknown_previous_response_is_refused_before_the_model_is_called() -> None:
    created, backend = scripted_parts(stated("one"))
    error = await refusal(created, previous_response_id="resp_nowhere")

    assert (error.status, error.code, error.param) == (
        400,
        "previous_response_not_found",
        "previous_response_id",
    )
    assert error.message == "Previous response with id 'resp_nowhere' not found."
    assert backend.requests == []


async def test_a_response_that_was_not_stored_cannot_be_followed() -> None:
    created, _ = scripted_parts(stated("one"))
    first = await query(created, store=False)

    assert (
        await refusal(created, previous_response_id=first["id"])
    ).code == "previous_response_not_found"


async def test_an_incomplete_response_can_be_followed() -> None:
    created, backend = scripted_parts([delta(content="Once"), delta("length")], stated(" upon"))
    first = await query(created, input="Tell")
    await query(created, input="Go on", previous_response_id=first["id"])

    assert first["status"] == "incomplete"
    assert [m["content"] for m in backend.requests[-1]["messages"]] == ["Tell", "Once", "Go on"]


async def test_a_failed_response_cannot_be_followed() -> None:
    created, _ = scripted_parts([delta(content="Once")])
    failed = (await stream(created))[-1]["response"]
    error = await refusal(created, previous_response_id=failed["id"])

    assert failed["status"] == "failed"
    assert (error.code, error.param) == ("invalid_value", "previous_response_id")


async def test_nothing_to_answer_is_refused() -> None:
    error = await refusal(scripted_parts()[0], input=[])

    assert error.code == "missing_required_parameter"
    assert "must be provided" in error.message


async def test_a_reference_stands_for_the_stored_item() -> None:
    created, backend = scripted_parts(stated("one"), stated("two"))
    first = await query(created, input="a")
    reference = {"type": "item_reference", "id": first["output"][0]["id"]}
    await query(created, input=[reference, {"role": "user", "content": "b"}])

    assert [(m["role"], m["content"]) for m in backend.requests[-1]["messages"]] == [
        ("assistant", "one"),
        ("user", "b"),
    ]


async def test_a_reference_to_nothing_is_refused() -> None:
    error = await refusal(scripted_parts()[0], input=[{"type": "item_reference", "id": "msg_none"}])

    assert (error.status, error.code, error.param) == (404, None, "input")
    assert error.message.startswith("Item with id 'msg_none' not found.")


async def test_reasoning_that_a_client_sends_back_without_its_state_gets_it_from_the_store() -> (
    None
):
    signed = {"type": "reasoning.text", "text": "Hm.", "signature": "c2ln"}
    created, backend = scripted_parts(
        [delta(reasoning_details=[signed]), *called()], stated("two"), dialect="openrouter"
    )
    first = await query(created, input="a", tools=[TOOL])
    reasoning, call = first["output"]
    assert "encrypted_content" not in reasoning

    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "4"}
    await query(
        created, input=[{"role": "user", "content": "a"}, reasoning, call, output], tools=[TOOL]
    )

    assert backend.requests[-1]["messages"][1]["reasoning_details"] == [signed]


async def test_an_input_without_ids_gets_them_and_keeps_those_it_has() -> None:
    created, _ = scripted_parts(stated("one"))
    response = await query(
        created,
        input=[
            {"role": "user", "content": "a", "id": "msg_mine"},
            {"role": "user", "content": "b"},
        ],
    )
    stored = await created.store.read(responses.load, "", response["id"])

    assert stored is not None
    assert stored.input[0].id == "msg_mine"
    assert stored.input[1].id.startswith("msg_")


async def test_the_output_of_a_response_can_be_sent_as_input_unchanged() -> None:
    created, backend = scripted_parts([*THOUGHT[:3], *called()], stated("two"))
    first = await query(created, input="a", tools=[TOOL], include=["reasoning.encrypted_content"])
    call = first["output"][-1]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "4"}
    await query(
        created, input=[{"role": "user", "content": "a"}, *first["output"], output], tools=[TOOL]
    )

    assert [m["role"] for m in backend.requests[-1]["messages"]] == ["user", "assistant", "tool"]
