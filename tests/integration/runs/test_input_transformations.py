"""A response names the reasoning of its request that the model did not receive."""

import json
from typing import Any

from antiphon.access.keyring import Keyring
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.cases import each
from tests.support.parts import query, scripted_parts, stated, stream
from tests.support.replay import delta

THOUGHT = [delta(reasoning_content="Hm."), delta(content="Yes."), delta("stop")]
MINE = Keyring([b"k" * 32])


def running(*answers: Any, dialect: str, keyring: Keyring = MINE) -> Any:
    created, _ = scripted_parts(*answers, dialect=dialect)
    created.run.keyring = keyring
    return created


async def replayed() -> list[dict[str, Any]]:
    """The items of a turn that a client keeps itself, with sealed reasoning and without its
    text.
    """
    created = running(THOUGHT, dialect="vllm")
    first = await query(created, input="a", store=False)
    reasoning, message = first["output"]
    reasoning = {**reasoning, "content": None, "summary": []}
    return [{"role": "user", "content": "a"}, reasoning, message, {"role": "user", "content": "b"}]


@each(
    "dialect, keyring, reason",
    [
        ("vllm", MINE, None),
        ("llamacpp", MINE, "turn_boundary"),
        ("openai", MINE, "model_mismatch"),
        ("openai", Keyring([b"o" * 32]), "organization_mismatch"),
        ("vllm", Keyring([b"o" * 32]), "organization_mismatch"),
    ],
)
async def test_reasoning_that_the_model_did_not_receive_is_named(
    dialect: str, keyring: Keyring, reason: str | None
) -> None:
    items = await replayed()
    removed = {"type": "reasoning", "id": items[1]["id"], "action": "removed", "reason": reason}
    expected = [removed] if reason else None

    plain = await query(running(stated("Yes."), dialect=dialect, keyring=keyring), input=items)
    streamed = await stream(running(stated("Yes."), dialect=dialect, keyring=keyring), input=items)
    assert plain["input_transformations"] == expected
    assert streamed[-1]["response"]["input_transformations"] == expected


async def test_reasoning_with_its_text_reaches_a_model_that_reads_text() -> None:
    items = await replayed()
    items[1]["content"] = [{"type": "reasoning_text", "text": "Hm."}]
    response = await query(
        running(stated("Yes."), dialect="vllm", keyring=Keyring([b"o" * 32])), input=items
    )

    assert response["input_transformations"] is None


@each(
    "context, dialect, has_calls, reason",
    [
        (None, "llamacpp", False, "turn_boundary"),
        (None, "llamacpp", True, None),
        ("all_turns", "llamacpp", False, None),
        ("current_turn", "vllm", False, "turn_boundary"),
    ],
)
async def test_reasoning_of_a_turn_that_the_family_does_not_read_again_is_named(
    context: str | None, dialect: str, has_calls: bool, reason: str | None
) -> None:
    items = await replayed()
    if has_calls:
        call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
        items[2:3] = [call, {"type": "function_call_output", "call_id": "c", "output": "1"}]
    items[1]["content"] = [{"type": "reasoning_text", "text": "Hm."}]
    created, backend = scripted_parts(stated("Yes."), dialect=dialect)
    response = await query(
        created, input=items, reasoning={"context": context} if context else None
    )

    named = [one["reason"] for one in response["input_transformations"] or ()]
    assert named == ([reason] if reason else [])
    assert ("Hm." in str(backend.requests[-1]["messages"])) == (reason is None)


class Native(ScriptedBackend):
    """A backend that has a Responses API only."""

    def answer(self, path: str, request: dict[str, Any]) -> Any:
        return self.answers.pop(0)

    def __init__(self, *answers: bytes) -> None:
        super().__init__([], models=["m"])
        self.answers = [*answers]


def native(*items: dict[str, Any], **fields: Any) -> bytes:
    """An answer of a backend with a Responses API."""
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    answer = {
        "id": "resp_b",
        "object": "response",
        "status": "completed",
        "output": list(items),
        "usage": usage,
    }
    return json.dumps({**answer, **fields}).encode()


@each(
    "reason, reported",
    [("prefix_mismatch", "rs_b"), ("end_user_mismatch", "rs_b"), (None, "rs_other"), (None, None)],
)
async def test_a_responses_backend_reports_which_of_its_reasoning_it_did_not_use(
    reason: str | None, reported: str | None
) -> None:
    text = {"type": "output_text", "text": "Yes.", "annotations": []}
    message = {
        "type": "message",
        "id": "msg_b",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }
    thought = {"type": "reasoning", "id": "rs_b", "summary": [], "encrypted_content": "blob"}
    removed = {
        "type": "reasoning",
        "id": reported,
        "action": "removed",
        "reason": reason or "prefix_mismatch",
    }
    created = running(dialect="openai")
    backend = Native(
        native(thought, message), native(message, input_transformations=reported and [removed])
    )
    created.models.assign(
        [backend], {backend.name: "openai"}, {backend.name: BackendOptions(api="responses")}
    )
    first = await query(created, input="a", store=False)
    reasoning, answer = first["output"]
    edited = [{"role": "user", "content": "A"}, reasoning, answer, {"role": "user", "content": "b"}]
    response = await query(created, input=edited, store=False)

    assert (reasoning["id"] == "rs_b", bool(reasoning["encrypted_content"])) == (False, True)
    assert response["input_transformations"] == (
        [{**removed, "id": reasoning["id"]}] if reason else None
    )
