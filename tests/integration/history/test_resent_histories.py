"""A client sends its whole history with each turn: the backend receives the same as if it had not
been sent before.
"""

from base64 import b64encode
from typing import Any

import pytest

from antiphon import Antiphon, BadRequestError, ScriptedBackend, Settings

SETTINGS = Settings(store="sqlite://", seal_keys=[b64encode(bytes(32)).decode()])
INSPECT_TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
}
TEXT = "x" * 70_000
REQUEST: dict[str, Any] = {
    "model": "scripted",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "tools": [INSPECT_TOOL],
}
TURNS = 5


def answer(turn: int) -> dict[str, Any]:
    """A call with reasoning, in each turn."""
    call = {
        "id": f"call_{turn}",
        "type": "function",
        "function": {"name": "look", "arguments": f'{{"at":"{turn}"}}'},
    }
    message = {
        "role": "assistant",
        "content": "",
        "reasoning_content": f"Look at {turn}.",
        "tool_calls": [call],
    }
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


def output(turn: int, text: str = TEXT) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"call_{turn}", "output": f"{turn}: {text}"}


def alone(history: list[Any], **more: Any) -> dict[str, Any]:
    """What the backend receives of a history that the server has never seen."""
    backend = ScriptedBackend([answer(0)])
    with Antiphon(SETTINGS, backend=backend) as client:
        client.responses.create(input=history, **{**REQUEST, **more})
    return backend.requests[0]


@pytest.mark.parametrize("context", [None, "current_turn", "all_turns"])
def test_every_turn_of_an_agent_is_translated_as_if_it_was_the_first(context: str | None) -> None:
    more = {"reasoning": {"context": context}} if context else {}
    backend = ScriptedBackend([answer(turn) for turn in range(TURNS)])
    history: list[Any] = [{"role": "user", "content": TEXT}]
    bodies = []
    with Antiphon(SETTINGS, backend=backend) as client:
        for turn in range(TURNS):
            bodies.append([*history])
            response = client.responses.create(input=history, **REQUEST, **more)
            history += [*response.output, output(turn)]
            if turn == 2:
                history.append({"role": "user", "content": "Go on."})
    for sent, received in zip(bodies, backend.requests, strict=True):
        assert alone(sent, **more) == received


def test_outputs_reach_the_backend_as_they_were_sent() -> None:
    """Their JSON is copied from the request, in the first turn and in later ones."""
    texts = ['→ \n " \\ \u2028 /' * 99, "é" * 300, "x" * 300, *["→ " * 5_000] * 15]
    calls = [
        {"type": "function_call", "call_id": f"call_{number}", "name": "look", "arguments": "{}"}
        for number in range(len(texts))
    ]
    exchanges = [
        [call, output(number, text)]
        for number, (call, text) in enumerate(zip(calls, texts, strict=True))
    ]
    question = {"type": "message", "role": "user", "content": "Look."}
    history: list[Any] = [question, *(item for exchange in exchanges for item in exchange)]
    backend = ScriptedBackend([answer(99), answer(99), answer(99)])
    with Antiphon(SETTINGS, backend=backend) as client:
        for length in (len(history) - 4, len(history) - 2, len(history)):
            client.responses.create(input=history[:length], **REQUEST)
    for request in backend.requests:
        contents = [
            message["content"] for message in request["messages"] if message["role"] == "tool"
        ]
        assert contents == [
            item["output"] for item in history[: 2 * len(contents) + 1] if "output" in item
        ]
        assert len(contents) >= len(texts) - 2


def test_two_conversations_that_begin_alike_do_not_mix() -> None:
    backend = ScriptedBackend([answer(turn) for turn in (0, 9, 1, 1, 2, 2)])
    with Antiphon(SETTINGS, backend=backend) as client:
        first = [
            {"role": "user", "content": TEXT},
            *client.responses.create(input=TEXT, **REQUEST).output,
        ]
        start = [*first, output(0)]
        client.responses.create(input=start, **REQUEST)
        one = [*start, {"role": "user", "content": "left"}]
        other = [*start, {"role": "user", "content": "right"}]
        stated = [
            client.responses.create(input=branch, **REQUEST).output for branch in (one, other)
        ]
        ends = [[*one, *stated[0], output(1)], [*other, *stated[1], output(1)]]
        for end in ends:
            client.responses.create(input=end, **REQUEST)
    branches = [request["messages"][-1]["content"] for request in backend.requests[2:4]]

    assert branches == ["left", "right"]
    assert list(backend.requests[2:]) == [alone(sent) for sent in (one, other, *ends)]


def test_an_error_names_the_place_in_the_whole_input() -> None:
    known: list[Any] = [{"role": "user", "content": TEXT}, {"role": "assistant", "content": "Yes?"}]
    new = {
        "role": "user",
        "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}],
    }
    errors = []
    with Antiphon(SETTINGS, backend=ScriptedBackend([answer(0), answer(1)])) as client:
        for before in ([], known):
            if before:
                client.responses.create(input=before, **REQUEST)
                client.responses.create(
                    input=[*before, {"role": "user", "content": "a"}], **REQUEST
                )
            with pytest.raises(BadRequestError) as caught:
                client.responses.create(input=[*known, new], **REQUEST)
            errors.append((caught.value.param, caught.value.message))

    assert errors[0] == errors[1]
    assert errors[0][0] == "input[2].content[0].type"


def test_a_call_without_its_output_is_rejected_also_behind_what_is_known() -> None:
    with Antiphon(SETTINGS, backend=ScriptedBackend([answer(0), answer(1)])) as client:
        history = [{"role": "user", "content": TEXT}]
        history += [*client.responses.create(input=history, **REQUEST).output]
        for _ in range(2):
            with pytest.raises(
                BadRequestError, match="No tool output found for function call call_0"
            ):
                client.responses.create(input=history, **REQUEST)
        client.responses.create(input=[*history, output(0)], **REQUEST)


def test_reasoning_only_in_the_store_is_deleted_with_it() -> None:
    backend = ScriptedBackend([answer(0), answer(1), answer(2), answer(3)])
    body = {"model": "scripted", "tools": [INSPECT_TOOL]}
    with Antiphon(SETTINGS, backend=backend) as client:
        history: list[Any] = [{"role": "user", "content": TEXT}]
        first = client.responses.create(input=history, **body)
        thought, call = first.output
        # As clients send it that do not ask for what is sealed.
        history += [{"type": "reasoning", "id": thought.id, "summary": []}, call, output(0)]
        second = client.responses.create(input=history, **body)
        history += [one for one in second.output if one.type != "reasoning"] + [output(1)]
        for stored in (first, second):  # the second one has it in its input
            client.responses.delete(stored.id)
        client.responses.create(input=history, **body)
    with_text = ["Look at 0." in str(request["messages"]) for request in backend.requests]

    assert with_text == [False, True, False]


@pytest.mark.parametrize("is_stored", [True, False])
def test_an_item_without_an_id_has_another_one_in_each_stored_response(is_stored: bool) -> None:
    backend = ScriptedBackend([answer(turn) for turn in range(3)])
    body = {**REQUEST, "store": is_stored, "include": ["reasoning.encrypted_content"]}
    with Antiphon(SETTINGS, backend=backend) as client:
        history: list[Any] = [{"role": "user", "content": TEXT}]
        responses = []
        for turn in range(3):
            responses.append(client.responses.create(input=history, **body))
            history += [*responses[-1].output, output(turn)]
        if is_stored:
            listed = [
                list(client.responses.input_items.list(one.id, order="asc")) for one in responses
            ]
            assert [len(items) for items in listed] == [1, 4, 7]
            assert len({items[0].id for items in listed}) == 3
            assert listed[1][1].id == listed[2][1].id == responses[0].output[0].id
            client.responses.delete(responses[0].id)
            assert client.responses.input_items.list(responses[1].id).data
