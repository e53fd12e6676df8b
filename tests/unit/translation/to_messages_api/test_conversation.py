"""Chat messages as those of the Messages API."""

from typing import Any

import pytest

from antiphon.translation.to_messages_api.conversation import SentConversation

HI = {"role": "user", "content": "Hi"}


def messages(*chat: dict[str, Any], **options: Any) -> list[tuple[str, list[dict[str, Any]]]]:
    return [(one["role"], one["content"]) for one in SentConversation(chat, **options).messages]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def called(call_id: str, arguments: Any = "{}", name: str = "look") -> dict[str, Any]:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def answer(*calls: dict[str, Any], content: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": [*calls], **more}


def output(call_id: str, content: Any = "seen") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def thought(words: str, index: int | None = None, signature: str = "s") -> dict[str, Any]:
    block = {"type": "thinking", "thinking": words, "signature": signature}
    return block if index is None else {**block, "index": index}


def used(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": arguments}


def test_instructions_are_apart_from_the_messages() -> None:
    conversation = SentConversation(
        [{"role": "system", "content": "Be kind."}, {"role": "developer", "content": "Rhyme."}, HI]
    )

    assert conversation.system == [text("Be kind."), text("Rhyme.")]
    assert conversation.messages == [{"role": "user", "content": [text("Hi")]}]


def test_later_instructions_stay_in_their_place() -> None:
    (only,) = messages(HI, {"role": "system", "content": "Rhyme."}, HI)

    assert [block["text"] for block in only[1]][2] == "Rhyme."


def test_instructions_alone_are_the_question() -> None:
    conversation = SentConversation([{"role": "system", "content": "Say hello."}])

    assert conversation.system == []
    assert conversation.messages == [{"role": "user", "content": [text("Say hello.")]}]


def test_messages_of_one_role_are_one() -> None:
    assert messages(HI, {"role": "user", "content": "There"}) == [
        ("user", [text("Hi"), text("There")])
    ]


def test_a_conversation_begins_with_the_user() -> None:
    found = messages({"role": "assistant", "content": "Hello"}, HI)

    assert [role for role, _ in found] == ["user", "assistant", "user"]


@pytest.mark.parametrize("content", ["", "  \n", None, [], [{"type": "text", "text": ""}]])
def test_text_without_a_visible_character_is_omitted(content: Any) -> None:
    assert messages(HI, {"role": "assistant", "content": content}) == [("user", [text("Hi")])]


def test_results_of_parallel_calls_precede_all_else_in_one_message() -> None:
    found = messages(HI, answer(called("a"), called("b", '{"x": 1}')), output("a"), output("b"), HI)

    assert found[1] == ("assistant", [used("a"), used("b", x=1)])
    results = [
        {"type": "tool_result", "tool_use_id": call_id, "content": [text("seen")]}
        for call_id in "ab"
    ]
    assert found[2] == ("user", [*results, text("Hi")])


def test_a_failed_call_is_an_error() -> None:
    found = messages(HI, answer(called("a")), output("a", "Error:\nNo such place."))

    (result,) = found[2][1]
    assert result["is_error"] is True
    assert result["content"] == [text("No such place.")]


def test_an_empty_result_has_no_content() -> None:
    found = messages(HI, answer(called("a")), output("a", ""))

    assert found[2][1] == [{"type": "tool_result", "tool_use_id": "a"}]


def test_a_result_can_have_an_image() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}

    found = messages(HI, answer(called("a")), output("a", [image]))

    (result,) = found[2][1]
    assert result["content"][0]["source"] == {"type": "url", "url": "https://example.com/a.png"}


def test_a_result_without_its_call_is_text() -> None:
    found = messages(HI, output("gone", "seen"))

    assert [block["type"] for block in found[0][1]] == ["text", "text"]
    assert "seen" in found[0][1][1]["text"]


@pytest.mark.parametrize("call_id", ["functions.look:0", "x" * 65, "ä", ""])
def test_ids_that_the_api_rejects_become_others_on_both_sides(call_id: str) -> None:
    found = messages(HI, answer(called(call_id)), output(call_id))

    own = found[1][1][0]["id"]
    assert own != call_id
    assert own.replace("_", "").isalnum()
    assert found[2][1][0]["tool_use_id"] == own


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("[1]", {"arguments": [1]}),
        ('{"a": ', {"arguments": '{"a": '}),
    ],
)
def test_arguments_are_always_an_object(arguments: Any, expected: dict[str, Any]) -> None:
    found = messages(HI, answer(called("a", arguments)), output("a"))

    assert found[1][1][0]["input"] == expected


def test_signed_thinking_precedes_the_text_and_the_calls() -> None:
    redacted = {"type": "redacted_thinking", "data": "d"}
    stated = answer(called("a"), content="Looking.", thinking_blocks=[thought("So."), redacted])

    assert messages(HI, stated)[1][1] == [thought("So."), redacted, text("Looking."), used("a")]


def test_thinking_between_other_blocks_stays_there() -> None:
    stated = answer(
        called("a"), content="Looking.", thinking_blocks=[thought("So.", 0), thought("Then.", 2)]
    )

    assert messages(HI, stated)[1][1] == [
        thought("So."),
        text("Looking."),
        thought("Then."),
        used("a"),
    ]


def test_thinking_of_a_later_message_of_the_same_answer_follows_the_first() -> None:
    first = answer(content="Looking.", thinking_blocks=[thought("So.", 0)])
    second = answer(called("a"), thinking_blocks=[thought("Then.", 2)])

    assert messages(HI, first, second)[1][1] == [
        thought("So."),
        text("Looking."),
        thought("Then."),
        used("a"),
    ]


def test_thinking_without_its_text_goes_back_with_its_signature() -> None:
    stated = answer(content="Yes.", thinking_blocks=[thought("")])

    assert messages(HI, stated)[1][1] == [thought(""), text("Yes.")]


def test_unsigned_thinking_is_omitted() -> None:
    stated = answer(content="Yes.", thinking_blocks=[thought("So.", signature="")])

    assert messages(HI, stated)[1][1] == [text("Yes.")]


def test_thinking_is_omitted_once_the_backend_rejected_it() -> None:
    stated = answer(content="Yes.", thinking_blocks=[thought("So.")])

    assert messages(HI, stated, with_thinking=False)[1][1] == [text("Yes.")]


def test_an_answer_that_is_continued_ends_without_whitespace() -> None:
    assert messages(HI, {"role": "assistant", "content": "It is "})[1][1] == [text("It is")]
