"""A client sends its whole history with each turn: the backend receives the same as if it had not been sent before."""

from typing import Any

from antiphon import Antiphon, ScriptedBackend

LOOK = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}
TEXT = "x" * 70_000


def answer(turn: int) -> dict[str, Any]:
    """A call with reasoning, in each turn."""
    call = {"id": f"call_{turn}", "type": "function", "function": {"name": "look", "arguments": f'{{"at":"{turn}"}}'}}
    message = {"role": "assistant", "content": "", "reasoning_content": f"Look at {turn}.", "tool_calls": [call]}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


def test_every_turn_of_an_agent_is_translated_as_if_it_was_the_first() -> None:
    backend = ScriptedBackend([answer(turn) for turn in range(4)])
    asked: dict[str, Any] = {
        "model": "scripted",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "tools": [LOOK],
    }
    history: list[Any] = [{"role": "user", "content": TEXT}]
    bodies = []
    with Antiphon(backend=backend) as client:
        for turn in range(4):
            bodies.append([*history])
            response = client.responses.create(input=history, **asked)
            history += response.output
            history.append({"type": "function_call_output", "call_id": f"call_{turn}", "output": f"{turn}: {TEXT}"})
    for sent, received in zip(bodies, backend.requests, strict=True):
        again = ScriptedBackend([answer(0)])
        with Antiphon(backend=again) as other:
            other.responses.create(input=sent, **asked)
        assert without_reasoning(again.requests[0]) == without_reasoning(received)


def without_reasoning(request: dict[str, Any]) -> dict[str, Any]:
    """A request without what only the server that sealed it can read."""
    messages = [
        {name: value for name, value in each.items() if "reasoning" not in name} for each in request["messages"]
    ]
    return request | {"messages": messages}
