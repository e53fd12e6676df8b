"""Tools of MCP servers."""

import json
from typing import Any

from antiphon_verify.areas.responses.mcp import approval, calls, fields
from antiphon_verify.areas.responses.mcp.fields import SECRET, TOKEN, VALUE
from antiphon_verify.mcp import LOST, TOOLS, row, shelf
from tests.unit.conformance.exchanges import Answer, Script, Shown, changed, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import MESSAGE, RESPONSE
from tests.unit.testing.events.streams import WELL, grown, item, message, steps, stream

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


def gave(*items: Item, **fields: Any) -> Answer:
    return says(RESPONSE | {"output": list(items), **fields})


def heard(*words: str, **headers: str) -> Answer:
    """What the MCP server was asked: to call `lookup` for each word."""
    return says(
        [
            {"method": "tools/call", "params": {"name": "lookup", "arguments": {"word": word}}, "headers": headers}
            for word in words
        ]
    )


CALLED, ASKED, SPOKEN = gave(LIST, CALL, MESSAGE), gave(LIST, REQUEST), gave(MESSAGE)

ONCE = [CALLED, heard("antiphon")]

REFUSED = error("Invalid value.", param="input[0].approval_request_id")


def with_list(**fields: Any) -> Script:
    return [gave(LIST | fields, CALL, MESSAGE), ONCE[1]]


def with_call(**fields: Any) -> Script:
    return [gave(LIST, CALL | fields, MESSAGE), ONCE[1]]


def listing(index: int) -> list[Item]:
    opened = LIST | {"tools": []}
    return item(index, opened, steps("mcp_list_tools", "in_progress", "completed"), tools=LIST["tools"])


def calling(index: int) -> list[Item]:
    said = grown("mcp_call_arguments", "arguments", ARGUMENTS)
    inside = [*steps("mcp_call", "in_progress"), *said, *steps("mcp_call", "completed")]
    opened = CALL | {"status": "in_progress", "arguments": "", "output": None}
    return item(index, opened, inside, **{name: CALL[name] for name in ("status", "arguments", "output")})


EVENTS = stream(listing(0), calling(1), message(2), **WELL)


def lacking(kind: str) -> Answer:
    return streams([one for one in EVENTS if one["type"] != f"response.{kind}"])


TOLD = {"authorization": f"Bearer {TOKEN}", "x-shelf": VALUE}

SECRETS = [CALLED, heard("antiphon", **TOLD), CALLED, streams(EVENTS)]

SHOWN = says(json.loads(CALLED.body) | {"tools": [{"type": "mcp", **SECRET}]})

SHOWN_IN_A_STREAM = streams([*EVENTS[:-1], changed(EVENTS[-1], "response", "tools", to=[SECRET])])


def instead(good: Script, index: int, answer: Answer) -> Script:
    return [*good[:index], answer, *good[index + 1 :]]


APPROVING = [ASKED, heard(), gave(APPROVED, MESSAGE), heard("antiphon")]

DENYING = [ASKED, SPOKEN, heard()]

ONE_TOOL = gave(LIST | {"tools": LIST["tools"][:1]}, MESSAGE)

EXCHANGES: dict[str, Shown] = {
    **shown(
        calls.an_mcp_tool_is_called,
        ONCE,
        {
            "responses:mcp:list-item": with_list(tools=[{"name": "lookup"}]),
            "responses:mcp:list-before": [gave(MESSAGE, LIST, CALL, MESSAGE), ONCE[1]],
            "responses:mcp:list-whole": with_list(tools=LIST["tools"][:1]),
            "responses:mcp:used": [gave(LIST, MESSAGE)],
            "responses:mcp:call-item": with_call(server_label=None),
            "responses:mcp:call-arguments": with_call(arguments='{"word":"other"}'),
            "responses:mcp:call-output": with_call(output=f"It is on shelf 1. {row('antiphon')}"),
            "responses:mcp:call-structured": with_call(output=shelf("antiphon")),
            "responses:mcp:call-once": [CALLED, heard("antiphon", "antiphon")],
            "responses:mcp:goes-on": [gave(LIST, CALL), ONCE[1]],
        },
    ),
    **shown(
        calls.an_mcp_tool_is_called_in_a_stream,
        [CALLED, streams(EVENTS)],
        {
            "responses:mcp:list-order": [CALLED, lacking("mcp_list_tools.in_progress")],
            "responses:mcp:call-order": [CALLED, lacking("mcp_call.in_progress")],
            "responses:mcp:streamed-same": [gave(LIST, CALL | {"call_id": "call_1"}, MESSAGE), streams(EVENTS)],
        },
    ),
    **spoiled(calls.the_next_turn_knows_the_tools, [CALLED, SPOKEN], [CALLED, gave(LIST, MESSAGE)]),
    **spoiled(calls.items_of_tools_are_sent_back, [CALLED, SPOKEN], [CALLED, REFUSED]),
    **shown(
        calls.an_mcp_tool_fails,
        [gave(LIST, FAILED, MESSAGE)],
        {
            "responses:mcp:error-item": [gave(LIST, FAILED | {"error": LOST}, MESSAGE)],
            "responses:mcp:error-goes-on": [gave(LIST, FAILED, status="failed")],
        },
    ),
    **shown(
        approval.a_call_is_approved,
        APPROVING,
        {
            "responses:mcp:approval-default": instead(APPROVING, 0, CALLED),
            "responses:mcp:approval-item": instead(APPROVING, 0, gave(LIST, REQUEST | {"arguments": ""})),
            "responses:mcp:approval-ends": instead(APPROVING, 0, gave(LIST, REQUEST, MESSAGE)),
            "responses:mcp:approved": instead(APPROVING, 2, SPOKEN),
            "responses:mcp:approved-id": instead(APPROVING, 2, gave(CALL, MESSAGE)),
        },
    ),
    **shown(
        approval.a_call_is_denied,
        DENYING,
        {
            "responses:mcp:denied": instead(DENYING, 2, heard("antiphon")),
            "responses:mcp:denied-goes-on": instead(DENYING, 1, gave(status="incomplete")),
        },
    ),
    **spoiled(approval.what_was_not_asked_for_is_approved, [CALLED, REFUSED], [CALLED, SPOKEN]),
    **shown(
        approval.a_changed_call_is_approved,
        [ASKED, REFUSED, heard()],
        {
            "responses:mcp:approval-changed": [ASKED, gave(APPROVED, MESSAGE), heard("/changed")],
            "responses:mcp:approval-changed-refused": [ASKED, gave(APPROVED, MESSAGE), heard("antiphon")],
        },
    ),
    **shown(
        approval.an_invented_call_is_approved,
        [gave(LIST, MESSAGE), REFUSED, heard()],
        {
            "responses:mcp:approval-invented": [gave(LIST, MESSAGE), gave(APPROVED, MESSAGE), heard("/invented")],
            "responses:mcp:approval-invented-refused": [gave(LIST, MESSAGE), SPOKEN, heard()],
        },
    ),
    **spoiled(approval.some_tools_are_asked_for, [ASKED], [CALLED]),
    **spoiled(approval.some_tools_are_not_asked_for, [CALLED], [ASKED]),
    **{name: one for case in fields.ALLOWING for name, one in spoiled(case, [ONE_TOOL], [gave(LIST, MESSAGE)]).items()},
    **shown(
        fields.a_tool_has_secrets,
        SECRETS,
        {
            "responses:mcp:authorization-sent": instead(SECRETS, 1, heard("antiphon", **{"x-shelf": VALUE})),
            "responses:mcp:headers-sent": instead(SECRETS, 1, heard("antiphon", authorization=f"Bearer {TOKEN}")),
            "responses:mcp:secrets-hidden": instead(SECRETS, 0, SHOWN),
            "responses:mcp:secrets-hidden-stored": instead(SECRETS, 2, SHOWN),
            "responses:mcp:secrets-hidden-streamed": instead(SECRETS, 3, SHOWN_IN_A_STREAM),
        },
    ),
    **spoiled(fields.an_mcp_tool_is_demanded, [CALLED], [gave(LIST, MESSAGE)]),
    **spoiled(fields.an_unknown_mcp_tool_is_demanded, [CALLED, REFUSED], [CALLED, SPOKEN]),
    **spoiled(fields.calls_are_bounded, ONCE, [gave(LIST, CALL, CALL, MESSAGE), heard("alpha", "beta")]),
    **{name: one for case in fields.REFUSING for name, one in spoiled(case, [REFUSED], [CALLED]).items()},
}
