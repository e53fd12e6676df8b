"""Recorded Messages streams: read, turned into the items of a response, and written again as the
same message.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antiphon.protocol.items.content import SummaryText
from antiphon.protocol.messages.requests import CountTokens
from antiphon.protocol.response import InputTokensDetails, OutputTokensDetails, Usage
from antiphon.translation.from_messages.request import read_request
from antiphon.translation.from_messages.view import Call, MessagesView
from antiphon.translation.to_messages.blocks import Blocks
from antiphon.translation.to_messages.encoder import MessagesEncoder
from antiphon.translation.to_messages.message import message_of
from tests.support.cases import each
from tests.support.messages_play import played
from tests.support.messages_stream import events_in, fold, violations
from tests.support.recordings import MISSING, recorded

STREAMS = recorded("*.sse", "messages")

pytestmark = pytest.mark.skipif(not STREAMS, reason=MISSING)

INCOMPLETE = {
    "max_tokens": "max_output_tokens",
    "refusal": "content_filter",
    "pause_turn": "max_messages",
}

FOREIGN = {"advisor_tool_result", "text_editor_code_execution_tool_result"}
"""Results of tools that this server does not have: their calls are read as calls of functions."""


def name(path: Path) -> str:
    return path.name


def ours(message: dict[str, Any]) -> dict[str, Any]:
    """The message as if this server had sealed its reasoning, its searches and its compactions."""
    message = json.loads(json.dumps(message))
    for block in message["content"]:
        for field in {
            "thinking": ["signature"],
            "redacted_thinking": ["data"],
            "compaction": ["content"],
        }.get(block["type"], []):
            block[field] = f"ar1.{block[field]}"
        if block["type"] == "web_search_tool_result" and isinstance(block["content"], list):
            block["content"][0]["encrypted_content"] = (
                "ar1." + block["content"][0]["encrypted_content"]
            )
    return message


def comparable(message: dict[str, Any]) -> dict[str, Any]:
    """What two messages have in common: without what the specification says is lost."""
    return {
        "content": [
            block
            for one in paired(message["content"])
            if (block := comparable_block(one, message["content"]))
        ],
        "stop_reason": message["stop_reason"],
        "stop_sequence": message["stop_sequence"],
        "usage": {
            field: message["usage"].get(field) or 0
            for field in (
                "input_tokens",
                "cache_creation_input_tokens",
                "cache_read_input_tokens",
                "output_tokens",
            )
        },
    }


def paired(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks with each result behind its call: code that calls other tools has theirs in
    between.
    """
    results = {block["tool_use_id"]: block for block in content if "tool_use_id" in block}
    calls = [block for block in content if "tool_use_id" not in block]
    return [one for block in calls for one in (block, results.get(block.get("id"))) if one]


def comparable_block(block: dict[str, Any], content: list[dict[str, Any]]) -> dict[str, Any] | None:
    block = {field: value for field, value in block.items() if field != "caller"}
    match block["type"]:
        case "text":
            cited = [
                one["url"]
                for one in block.get("citations") or []
                if one["type"] == "web_search_result_location"
            ]
            return {"text": block["text"], "cited": cited} if block["text"] else None
        case "redacted_thinking":  # it is thinking without a text
            return {"type": "thinking", "thinking": "", "signature": block["data"]}
        case "server_tool_use":
            if not any(one.get("tool_use_id") == block["id"] for one in content):
                return None  # a call that did not end
        case "web_search_tool_result":
            pages = block["content"]
            found = {one["url"]: one["title"] for one in pages} if isinstance(pages, list) else {}
            return {"tool_use_id": block["tool_use_id"], "found": found}
        case "web_fetch_tool_result":
            page = block["content"]
            document = page.get("content") or {"source": {}}
            displayed = [
                page.get("url"),
                document["source"].get("data"),
                document.get("title"),
                page.get("error_code"),
            ]
            return {"tool_use_id": block["tool_use_id"], "page": displayed}
        case "code_execution_tool_result" | "bash_code_execution_tool_result":
            printed = block["content"]
            text = printed.get("stdout", "") + printed.get("stderr", "")
            return {"tool_use_id": block["tool_use_id"], "printed": text}
        case "compaction":
            return {"type": "compaction", "content": block["content"]}
        case "fallback":
            return None
    return block


def usage_in(message: dict[str, Any]) -> Usage:
    usage = message["usage"]
    read, written = (usage.get(f"cache_{what}_input_tokens") or 0 for what in ("read", "creation"))
    return Usage(
        input_tokens=usage["input_tokens"] + read + written,
        input_tokens_details=InputTokensDetails(cached_tokens=read, cache_write_tokens=written),
        output_tokens=usage["output_tokens"],
        output_tokens_details=OutputTokensDetails(),
    )


def request_of(message: dict[str, Any]) -> CountTokens:
    """A request in which the message is a turn of the model, with the tools that it found."""
    found = {
        reference["tool_name"]
        for block in message["content"]
        if block["type"] == "tool_search_tool_result"
        for reference in block["content"].get("tool_references", [])
    }
    turns = [
        {"role": "assistant", "content": message["content"]},
        {"role": "user", "content": "Continue."},
    ]
    tools = [{"name": tool, "input_schema": {"type": "object"}} for tool in sorted(found)]
    return msgspec.convert({"model": "m", "messages": turns, "tools": tools}, CountTokens)


def search_tool(message: dict[str, Any]) -> str:
    names = [
        block.get("name", "") for block in message["content"] if block["type"] == "server_tool_use"
    ]
    return next((one for one in names if one.startswith("tool_search")), "")


def test_no_recording_violates_the_grammar() -> None:
    assert {path.name: found for path in STREAMS if (found := violations(path.read_bytes()))} == {}


@pytest.mark.wide
@each("path", STREAMS, ids=name)
def test_a_recorded_message_is_written_as_it_was(path: Path) -> None:
    message = ours(fold(path.read_bytes()))
    if FOREIGN & {block["type"] for block in message["content"]}:
        pytest.skip("calls of tools that this server does not have")
    read = read_request(request_of(message), Call())
    items = list(read.request.input)[:-1]  # type: ignore[arg-type]
    incomplete = INCOMPLETE.get(message["stop_reason"])
    stop_sequence = message["stop_sequence"]
    view = MessagesView(display="summarized", search_tool=search_tool(message))
    batch, response = played(
        displayed(items, message), usage=usage_in(message), incomplete=incomplete
    )
    encoder = MessagesEncoder(Blocks(view=view), message["model"], 10, "req_1")
    encoder.stop_sequence = stop_sequence
    stream = b"".join(encoder.encode([event]) for event in batch)

    assert violations(stream) == []
    written = fold(stream)
    assert comparable(written) == comparable(message)
    assert written == message_of(
        response, Blocks(view=view), message["model"], stop_sequence=stop_sequence
    )


def displayed(items: list[Any], message: dict[str, Any]) -> list[Any]:
    """The items with the texts of reasoning, which a request does not repeat: its sealed state has
    them.
    """
    texts = {
        block.get("signature") or block.get("data"): block.get("thinking", "")
        for block in message["content"]
        if block["type"] in ("thinking", "redacted_thinking")
    }
    for item in items:
        text = (
            texts.get(getattr(item, "encrypted_content", None))
            if item.type == "reasoning"
            else None
        )
        if text:
            item.summary = [SummaryText(text=text)]
    return items


def test_the_recordings_have_every_kind_of_block() -> None:
    """What the proof above covers."""
    blocks = {
        data["content_block"]["type"]
        for path in STREAMS
        for kind, data in events_in(path.read_bytes())
        if kind == "content_block_start"
    }
    assert {
        "text",
        "thinking",
        "tool_use",
        "server_tool_use",
        "web_search_tool_result",
        "mcp_tool_use",
    } <= blocks
