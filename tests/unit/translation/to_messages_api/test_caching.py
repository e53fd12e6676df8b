"""Markers of the prompt cache."""

from typing import Any

from antiphon.translation.to_messages_api.form import MessagesForm
from antiphon.translation.to_messages_api.request import messages_request

HI = {"role": "user", "content": "Hi"}
SYSTEM = {"role": "system", "content": "Be kind."}
TOOL = {"type": "function", "function": {"name": "look"}}


def built(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return messages_request(
        {"model": "m", "messages": [*messages], **more}, MessagesForm("adaptive")
    )


def marked(body: dict[str, Any]) -> list[Any]:
    """The markers of the tools, the instructions and the messages, None where there is none."""
    blocks = [*body.get("tools", []), *body.get("system", [])]
    blocks += [block for message in body["messages"] for block in message["content"]]
    return [block.get("cache_control", {}).get("type") for block in blocks]


def test_a_single_question_is_not_marked() -> None:
    assert marked(built(SYSTEM, HI)) == [None, None]


def test_a_conversation_is_marked_behind_its_instructions_and_its_newest_turns() -> None:
    turn = ({"role": "assistant", "content": "Hello"}, HI)

    assert marked(built(SYSTEM, HI, *turn, *turn)) == [
        "ephemeral",
        None,
        None,
        "ephemeral",
        None,
        "ephemeral",
    ]


def test_tools_are_marked_if_there_are_no_instructions() -> None:
    assert marked(built(HI, tools=[TOOL, TOOL])) == [None, "ephemeral", "ephemeral"]
    assert marked(built(SYSTEM, HI, tools=[TOOL])) == [None, "ephemeral", "ephemeral"]


def test_the_markers_of_a_client_are_the_only_ones() -> None:
    part = {"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}

    body = built(SYSTEM, {"role": "user", "content": [part]}, HI, tools=[TOOL])

    assert marked(body) == [None, None, "ephemeral", None]


def test_a_long_retention_is_one_hour() -> None:
    body = built(HI, tools=[TOOL], prompt_cache_retention="24h")

    assert body["tools"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
