"""What a choice of tools becomes for a backend on which no call can be forced."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from antiphon.errors import ClientError
from antiphon.protocol.validation.validate import decode_request
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.request import normalise_input, to_chat
from antiphon.translation.tool_mapping.choice import allowed_names
from antiphon.translation.tool_mapping.offering import toolbox_of

TOOLS = [
    {"type": "function", "name": name, "parameters": None, "strict": False}
    for name in ("look", "listen", "ask")
]
UNFORCED = replace(DIALECTS["generic"], forces_calls=False)
NAMED = {"type": "function", "name": "listen"}


def sent(choice: Any, dialect: Any = UNFORCED) -> tuple[list[str], Any, str, Any]:
    """The tools and the choice that are sent, the instructions, and the names that can be
    called.
    """
    request_body = {
        "model": "m",
        "input": "Hi",
        "instructions": "Be kind.",
        "tools": TOOLS,
        "tool_choice": choice,
    }
    request = decode_request(msgspec.json.encode(request_body))
    items = normalise_input(request.input, lambda prefix: f"{prefix}_1")
    body = to_chat(request, items, dialect)
    names = [tool["function"]["name"] for tool in body["tools"]]
    allowed = allowed_names(toolbox_of(request, items, dialect), request.tool_choice, dialect)
    return names, body["tool_choice"], body["messages"][0]["content"], allowed


def test_a_named_tool_is_demanded_in_words_and_all_tools_are_sent() -> None:
    names, choice, instructions, allowed = sent(NAMED)
    assert (names, choice, allowed) == (["look", "listen", "ask"], "auto", {"listen"})
    assert instructions == "Be kind.\n\nAnswer with a call of the tool 'listen', and with no text."


def test_all_tools_can_be_called_if_any_call_is_demanded() -> None:  # a guard
    names, choice, instructions, allowed = sent("required")
    assert (names, choice, allowed) == (["look", "listen", "ask"], "auto", None)
    assert instructions.endswith("Answer with a call of one of the tools, and with no text.")


def test_a_named_tool_is_sent_alone_where_a_call_can_be_forced_but_not_named() -> None:  # a guard
    names, choice, instructions, allowed = sent(
        NAMED, replace(DIALECTS["generic"], tool_choice="strings")
    )
    assert (names, choice, instructions, allowed) == (["listen"], "required", "Be kind.", None)


def test_a_tool_that_is_not_offered_is_refused() -> None:  # a guard
    with pytest.raises(ClientError, match="not found in 'tools'"):
        sent({"type": "function", "name": "shout"})
