"""Markers of the prompt cache."""

from typing import Any

import pytest

from antiphon.protocol.items.content import InputText
from antiphon.protocol.items.messages import Message
from antiphon.protocol.requests import CreateResponse
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.request import to_chat
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


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"mode": "explicit"}, {"type": "ephemeral"}),
        ({"mode": "explicit", "ttl": "5m"}, {"type": "ephemeral"}),
        ({"mode": "explicit", "ttl": "24h"}, {"type": "ephemeral", "ttl": "1h"}),
    ],
)
def test_a_breakpoint_of_openai_is_a_marker(wanted: dict[str, Any], expected: Any) -> None:
    part = {"type": "text", "text": "Long.", "prompt_cache_breakpoint": wanted}

    (message,) = built({"role": "user", "content": [part]})["messages"]

    assert message["content"] == [{"type": "text", "text": "Long.", "cache_control": expected}]


def test_the_last_four_markers_of_a_client_stay() -> None:
    part = {"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral"}}

    assert marked(built({"role": "user", "content": [part] * 6})) == [None] * 2 + ["ephemeral"] * 4


def test_a_breakpoint_of_a_response_is_sent_where_it_is_accepted() -> None:
    message = Message(
        role="user",
        content=[InputText(text="Long.", prompt_cache_breakpoint={"mode": "explicit"})],
    )
    request = CreateResponse(model="m", input=[message])

    (sent,) = to_chat(request, [message], DIALECTS["messages"])["messages"]
    (plain,) = to_chat(request, [message], DIALECTS["vllm"])["messages"]

    assert sent["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}
    assert plain["content"] == "Long."
