"""Requests that clients sent to the Messages API, read by the front and written for a backend: the
same conversation.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.ids import new_id
from antiphon.protocol.messages.decoding import decode_create
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.from_messages.request import read_request
from antiphon.translation.from_messages.view import Call
from antiphon.translation.to_chat_completions.request import normalise_input, to_chat
from antiphon.translation.to_messages_api.form import form_of
from antiphon.translation.to_messages_api.request import messages_request
from tests.support.cases import each
from tests.support.messages_recordings import REQUESTS, name
from tests.support.recordings import MISSING

pytestmark = pytest.mark.skipif(not REQUESTS, reason=MISSING)

CROSSING = {"text", "image", "tool_use", "tool_result", "thinking"}
"""Blocks that are the same on both sides; thinking of another server is not sent on."""

MARKS = ("cache_control", "citations", "caller")


REJECTED = ("completion_error", "root_schema", "root_ref", "tools_call_with_tool_result")
"""What the front rejects, as Anthropic does."""


def is_comparable(path: Path) -> bool:
    body = json.loads(path.read_text())
    if "max_tokens" not in body or any(one in path.name for one in REJECTED):
        return False
    contents = [message["content"] for message in body["messages"]]
    blocks = [block for one in contents if isinstance(one, list) for block in one]
    results = [block.get("content") for block in blocks if block["type"] == "tool_result"]
    blocks += [block for one in results if isinstance(one, list) for block in one]
    own = [tool for tool in body.get("tools") or () if "input_schema" not in tool]
    return not own and {block["type"] for block in blocks} <= CROSSING


def plain(content: Any) -> list[dict[str, Any]]:
    """The blocks without what this server decides itself, such as the type of an image."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    found = []
    for block in content:
        own = {key: value for key, value in block.items() if key not in MARKS}
        if own["type"] == "tool_result":
            own["content"] = plain(own.get("content") or [])
            own["is_error"] = bool(own.get("is_error"))
        if own["type"] == "image":
            own["source"] = own["source"].get("data") or own["source"]["url"]
        if own["type"] != "thinking" and (own["type"] != "text" or own["text"].strip()):
            found.append(own)
    return found


def turns(body: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    joined: list[tuple[str, list[dict[str, Any]]]] = []
    for message in body["messages"]:
        blocks = plain(message["content"])
        if joined and joined[-1][0] == message["role"]:
            joined[-1][1].extend(blocks)
        elif blocks:
            joined.append((message["role"], blocks))
    return joined


@each("path", [path for path in REQUESTS if is_comparable(path)], ids=name)
def test_a_recorded_conversation_is_sent_on_as_it_is(path: Path) -> None:
    raw = path.read_bytes()
    body = json.loads(raw)
    request = read_request(decode_create(raw), Call()).request
    items = normalise_input(request.input, new_id)
    sent = messages_request(to_chat(request, items, DIALECTS["messages"]), form_of("m", {}))

    assert turns(sent) == turns(body)
    assert sent["max_tokens"] == body["max_tokens"]
    names = [tool["name"] for tool in body.get("tools") or ()]
    assert [tool["name"] for tool in sent.get("tools", ())] == names
