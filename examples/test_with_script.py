"""Test a program that calls a model: the test contains the answers of the model, so it needs no server."""

from antiphon import Antiphon, ScriptedBackend


def tide(client: Antiphon, place: str) -> str:
    """Take the place of the program to test."""
    return client.responses.create(model="qwen3", input=f"When is the tide high in {place}?").output_text


def answer(text: str) -> dict[str, object]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


def test_it_requires_a_place() -> None:
    backend = ScriptedBackend([answer("At 14:05.")], models=["qwen3"])
    with Antiphon(backend=backend) as client:
        assert tide(client, "Dover") == "At 14:05."
    assert backend.requests[0]["messages"][-1]["content"] == "When is the tide high in Dover?"
