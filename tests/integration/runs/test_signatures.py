"""What a backend signs comes back to it on the next turn, kept by the store or by the client."""

from typing import Any

import pytest

from tests.support.parts import Chunks, called, query, scripted_parts, stated
from tests.support.replay import delta

TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}

DETAIL = {
    "type": "reasoning.text",
    "text": "Hm, well.",
    "signature": "c2ln",
    "format": "anthropic-claude-v1",
    "index": 0,
}
SECRET = {
    "type": "reasoning.encrypted",
    "data": "Z2VoZWlt",
    "id": "rs_x",
    "format": "openai-responses-v1",
    "index": 1,
}
BLOCK = {"type": "thinking", "thinking": "Hm, well.", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "Z2VoZWlt"}
SIGNATURE = {"google": {"thought_signature": "c2ln"}}


def openrouter() -> Chunks:
    pieces = [
        {"type": "reasoning.text", "text": "Hm, ", "format": "anthropic-claude-v1", "index": 0},
        {"type": "reasoning.text", "text": "well.", "index": 0},
        {"type": "reasoning.text", "signature": "c2ln", "index": 0},
    ]
    return [
        *(delta(reasoning_details=[piece]) for piece in pieces),
        delta(reasoning_details=[SECRET]),
        *called(),
    ]


def anthropic() -> Chunks:
    pieces = [
        {"type": "thinking", "thinking": "Hm, "},
        {"type": "thinking", "thinking": "well."},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
    ]
    blocks = [
        delta(thinking_blocks=[piece], reasoning_content=piece["thinking"]) for piece in pieces
    ]
    return [*blocks, delta(thinking_blocks=[REDACTED]), *called()]


def gemini() -> Chunks:
    return called(extra_content=SIGNATURE)


def of_openrouter(message: dict[str, Any]) -> None:
    assert message["reasoning_details"] == [DETAIL, SECRET]


def of_anthropic(message: dict[str, Any]) -> None:
    assert message["thinking_blocks"] == [BLOCK, REDACTED]


def of_gemini(message: dict[str, Any]) -> None:
    assert message["tool_calls"][0]["extra_content"] == SIGNATURE


FAMILIES = {
    "openrouter": (openrouter, of_openrouter),
    "anthropic": (anthropic, of_anthropic),
    "gemini": (gemini, of_gemini),
}
per_family = pytest.mark.parametrize(
    ("family", "answer", "check"), [(name, *pair) for name, pair in FAMILIES.items()], ids=FAMILIES
)


def output_of(response: dict[str, Any]) -> dict[str, Any]:
    call = next(item for item in response["output"] if item["type"] == "function_call")
    return {"type": "function_call_output", "call_id": call["call_id"], "output": "a star"}


def replayed(requests: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = requests[-1]["messages"][1]
    assert message["role"] == "assistant"
    return message


@per_family
async def test_signatures_come_back_along_a_chain(family: str, answer: Any, check: Any) -> None:
    created, backend = scripted_parts(answer(), stated("A star."), dialect=family)
    first = await query(created, tools=[TOOL])
    await query(created, input=[output_of(first)], previous_response_id=first["id"], tools=[TOOL])

    assert "encrypted_content" not in first["output"][0]
    check(replayed(backend.requests))


@per_family
async def test_signatures_come_back_from_a_client_that_keeps_its_own_history(
    family: str, answer: Any, check: Any
) -> None:
    created, backend = scripted_parts(answer(), stated("A star."), dialect=family)
    first = await query(created, tools=[TOOL], store=False, include=["reasoning.encrypted_content"])
    history = [{"role": "user", "content": "Hi"}, *first["output"], output_of(first)]
    await query(created, input=history, tools=[TOOL], store=False)

    assert first["output"][0]["encrypted_content"]
    check(replayed(backend.requests))


@per_family
async def test_signatures_of_another_family_are_withheld(
    family: str, answer: Any, check: Any
) -> None:
    created, _ = scripted_parts(answer(), dialect=family)
    first = await query(created, tools=[TOOL], store=False, include=["reasoning.encrypted_content"])
    other, elsewhere = scripted_parts(stated("A star."), dialect="groq")
    history = [{"role": "user", "content": "Hi"}, *first["output"], output_of(first)]
    await query(other, input=history, tools=[TOOL])

    message = replayed(elsewhere.requests)
    assert not message.keys() & {"reasoning_details", "thinking_blocks", "extra_content"}
    assert "extra_content" not in message["tool_calls"][0]


async def test_a_signature_on_a_message_comes_back_with_it() -> None:
    created, backend = scripted_parts(
        [delta(content="Yes", extra_content=SIGNATURE), *called()],
        stated("A star."),
        dialect="gemini",
    )
    first = await query(created, tools=[TOOL])
    await query(created, input=[output_of(first)], previous_response_id=first["id"], tools=[TOOL])

    assert replayed(backend.requests)["extra_content"] == SIGNATURE


@pytest.mark.parametrize("store", [True, False])
async def test_plain_reasoning_comes_back_under_the_familys_name_in_a_tool_turn(
    store: bool,
) -> None:
    created, backend = scripted_parts(
        [delta(reasoning="Hm, "), delta(reasoning="well."), *called()], stated("!"), dialect="groq"
    )
    first = await query(created, tools=[TOOL], store=store)
    if store:
        await query(
            created, input=[output_of(first)], previous_response_id=first["id"], tools=[TOOL]
        )
    else:
        await query(
            created,
            input=[{"role": "user", "content": "Hi"}, *first["output"], output_of(first)],
            tools=[TOOL],
        )

    assert replayed(backend.requests)["reasoning"] == "Hm, well."


async def test_reasoning_displayed_as_a_summary_is_replayed_raw() -> None:
    created, backend = scripted_parts(
        [delta(reasoning_content="Hm, well."), *called()], stated("!"), dialect="deepseek"
    )
    first = await query(created, tools=[TOOL], reasoning={"summary": "auto"})
    assert first["output"][0]["summary"] == [{"type": "summary_text", "text": "Hm, well."}]
    assert not first["output"][0].get("content")
    await query(created, input=[output_of(first)], previous_response_id=first["id"], tools=[TOOL])

    assert replayed(backend.requests)["reasoning_content"] == "Hm, well."


async def test_raw_reasoning_is_content_and_no_summary_unless_requested() -> None:
    created, _ = scripted_parts([delta(reasoning_content="Hm."), *stated("Yes")])
    reasoning = (await query(created))["output"][0]

    assert (reasoning["summary"], reasoning["content"]) == (
        [],
        [{"type": "reasoning_text", "text": "Hm."}],
    )


async def test_state_that_a_client_changed_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    created, backend = scripted_parts(openrouter(), stated("!"), dialect="openrouter")
    first = await query(created, tools=[TOOL], store=False)
    reasoning = first["output"][0] | {
        "encrypted_content": first["output"][0]["encrypted_content"][:-6] + "AAAAAA"
    }
    await query(created, input=[reasoning, *first["output"][1:], output_of(first)], tools=[TOOL])

    assert "reasoning_details" not in backend.requests[-1]["messages"][-2]
    assert ": it was changed, or is from another tenant" in caplog.text


async def test_state_that_a_client_changed_is_refused_where_the_operator_wants_that() -> None:
    created, _ = scripted_parts(openrouter(), stated("!"), dialect="openrouter")
    created.run.rules.strict_seals = True
    first = await query(created, tools=[TOOL], store=False)
    reasoning = first["output"][0] | {
        "encrypted_content": first["output"][0]["encrypted_content"][:-6] + "AAAAAA"
    }
    with pytest.raises(Exception, match="could not be verified") as caught:
        await query(
            created, input=[reasoning, *first["output"][1:], output_of(first)], tools=[TOOL]
        )

    assert caught.value.code == "invalid_encrypted_content"  # type: ignore[attr-defined]
