"""Test the application without a model: the answers are written in the test, and the store is in memory."""

from app import create_app
from fastapi.testclient import TestClient

from antiphon import ScriptedBackend


def answer(text: str) -> dict[str, object]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


def test_a_question_is_answered_and_the_conversation_continues() -> None:
    backend = ScriptedBackend([answer("At 14:05."), answer("At 20:10.")], models=["demo"])
    with TestClient(create_app(backend, "sqlite://")) as http:
        first = http.post("/ask", json={"text": "When is high water?"}).json()
        second = http.post("/ask", json={"text": "And low water?", "previous": first["id"]}).json()

    assert [first["text"], second["text"]] == ["At 14:05.", "At 20:10."]
    assert [message["content"] for message in backend.requests[1]["messages"]] == [
        "Be brief.",
        "When is high water?",
        "At 14:05.",
        "And low water?",
    ]


def test_an_error_has_its_status() -> None:
    with TestClient(create_app(ScriptedBackend([], models=["demo"]), "sqlite://")) as http:
        reply = http.post("/ask", json={"text": "And now?", "previous": "resp_none"})
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "previous_response_not_found"
