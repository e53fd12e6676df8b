"""Tools of MCP servers."""

import json
from typing import Any

from antiphon_verify.events.streams import WELL, grown, item, message, steps, stream
from antiphon_verify.mcp import LOST, TOOLS, row, shelf
from antiphon_verify.replies import Replies, Reply, changed, error, states, streams
from antiphon_verify.replies.bodies import MESSAGE, RESPONSE

Item = dict[str, Any]

ARGUMENTS = '{"word":"antiphon"}'

LIST: Item = {
    "id": "mcpl_1",
    "type": "mcp_list_tools",
    "server_label": "shelves",
    "tools": [
        {
            "name": one["name"],
            "description": one["description"],
            "input_schema": one["inputSchema"],
            "annotations": None,
        }
        for one in TOOLS
    ],
    "error": None,
}

CALL: Item = {
    "id": "mcp_1",
    "type": "mcp_call",
    "status": "completed",
    "approval_request_id": None,
    "arguments": ARGUMENTS,
    "error": None,
    "name": "lookup",
    "output": f'{shelf("antiphon")}\n{{"row":"{row("antiphon")}"}}',
    "server_label": "shelves",
}

FAILED = CALL | {
    "status": "failed",
    "output": None,
    "error": {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": LOST}]},
}

REQUEST: Item = {
    "id": "mcpr_1",
    "type": "mcp_approval_request",
    "arguments": ARGUMENTS,
    "name": "lookup",
    "server_label": "shelves",
}

APPROVED = CALL | {"approval_request_id": "mcpr_1"}


def with_output(*items: Item, **fields: Any) -> Reply:
    """Return a response with these items."""
    return states(RESPONSE | {"output": list(items), **fields})


def received(*words: str, **headers: str) -> Reply:
    """Return what the MCP server received: a call of `lookup` for each word."""
    return states(
        [
            {
                "method": "tools/call",
                "params": {"name": "lookup", "arguments": {"word": word}},
                "headers": headers,
            }
            for word in words
        ]
    )


WITH_CALL = with_output(LIST, CALL, MESSAGE)
WITH_REQUEST = with_output(LIST, REQUEST)
WITH_TEXT = with_output(MESSAGE)

ONCE = [WITH_CALL, received("antiphon")]

REJECTED = error("Invalid value.", param="input[0].approval_request_id")


def with_list(**fields: Any) -> Replies:
    """Return the replies with other fields in the list of tools."""
    return [with_output(LIST | fields, CALL, MESSAGE), ONCE[1]]


def with_call(**fields: Any) -> Replies:
    """Return the replies with other fields in the call."""
    return [with_output(LIST, CALL | fields, MESSAGE), ONCE[1]]


def list_events(index: int) -> list[Item]:
    """Return the events of the list of tools."""
    opened = LIST | {"tools": []}
    return item(
        index, opened, steps("mcp_list_tools", "in_progress", "completed"), tools=LIST["tools"]
    )


def call_events(index: int) -> list[Item]:
    """Return the events of the call."""
    arguments = grown("mcp_call_arguments", "arguments", ARGUMENTS)
    inside = [*steps("mcp_call", "in_progress"), *arguments, *steps("mcp_call", "completed")]
    opened = CALL | {"status": "in_progress", "arguments": "", "output": None}
    return item(
        index, opened, inside, **{name: CALL[name] for name in ("status", "arguments", "output")}
    )


EVENTS = stream(list_events(0), call_events(1), message(2), **WELL)


def without_events(kind: str) -> Reply:
    """Return the stream without the events of a type."""
    return streams([one for one in EVENTS if one["type"] != f"response.{kind}"])


TOKEN, VALUE = "token-4f1c9a7e2b", "value-8d3e6c5a0f"

SECRET = {"authorization": TOKEN, "headers": {"X-Shelf": VALUE}}

SECRET_HEADERS = {"authorization": f"Bearer {TOKEN}", "x-shelf": VALUE}

SECRETS = [WITH_CALL, received("antiphon", **SECRET_HEADERS), WITH_CALL, streams(EVENTS)]

LEAKED = states(json.loads(WITH_CALL.body) | {"tools": [{"type": "mcp", **SECRET}]})

LEAKED_IN_A_STREAM = streams([*EVENTS[:-1], changed(EVENTS[-1], "response", "tools", to=[SECRET])])


APPROVING = [WITH_REQUEST, received(), with_output(APPROVED, MESSAGE), received("antiphon")]

DENYING = [WITH_REQUEST, WITH_TEXT, received()]

ONE_TOOL = with_output(LIST | {"tools": LIST["tools"][:1]}, MESSAGE)
