"""Calls of an MCP server's tools that a client first approves or denies."""

import json

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.areas.responses.mcp.items import (
    CALL,
    REQUEST,
    Item,
    approval_requests,
    called,
    has_texts,
    is_object,
    items_of,
    listed_tools,
    received_calls,
    respond,
)
from antiphon_verify.case import case
from antiphon_verify.mcp import LOOKUP
from antiphon_verify.reading import MISSING, at, preview
from antiphon_verify.replies import replaced
from antiphon_verify.replies.bodies import MESSAGE
from antiphon_verify.replies.responses import mcp as replies
from antiphon_verify.requirement import must, should
from antiphon_verify.trial import Steps, Trial

NO_REQUEST = "mcpr_00000000000000000000000000000000"


def answering(requests: list[Item], *, approve: bool) -> list[Item]:
    """Return the client's answers to approval requests."""
    return [
        {"type": "mcp_approval_response", "approval_request_id": id_of(one), "approve": approve}
        for one in requests
    ]


@case(
    must(
        "responses:mcp:approval-default",
        "spec 6",
        "Without `require_approval`, no tool is called without approval.",
        fault=replaced(replies.APPROVING, 0, replies.WITH_CALL),
    ),
    must(
        "responses:mcp:approval-item",
        "spec 5",
        "An approval request is an item with an id, the server's label, "
        "the tool's name and its arguments.",
        fault=replaced(
            replies.APPROVING,
            0,
            replies.with_output(replies.LIST, replies.REQUEST | {"arguments": ""}),
        ),
    ),
    must(
        "responses:mcp:approval-ends",
        "spec 16",
        "An approval request ends the response, which is completed.",
        fault=replaced(
            replies.APPROVING, 0, replies.with_output(replies.LIST, replies.REQUEST, MESSAGE)
        ),
    ),
    must(
        "responses:mcp:approved",
        "spec 16",
        "An approved call runs as it was requested.",
        fault=replaced(replies.APPROVING, 2, replies.WITH_TEXT),
    ),
    must(
        "responses:mcp:approved-id",
        "spec 5",
        "The call has the id of its request in `approval_request_id`.",
        fault=replaced(replies.APPROVING, 2, replies.with_output(replies.CALL, MESSAGE)),
    ),
    good=replies.APPROVING,
)
def a_call_is_approved(trial: Trial) -> Steps:
    """Request a call that needs an approval, and approve it."""
    first = yield from respond(trial, "/approved", require_approval=MISSING)
    unasked = items_of(first, CALL) or (yield from received_calls(trial, "/approved"))
    trial.expect("responses:mcp:approval-default", not unasked, first["output"])
    requests = approval_requests(first)
    are_whole = all(
        has_texts(one, "name", "arguments") and is_object(one["arguments"]) for one in requests
    )
    trial.expect("responses:mcp:approval-item", are_whole, requests)
    is_last = at(first, "output", -1, "type") == REQUEST and at(first, "status") == "completed"
    trial.expect("responses:mcp:approval-ends", is_last, first["output"])
    exchange = yield from trial.respond(
        answering(requests, approve=True),
        tools=[trial.mcp_tool("/approved", require_approval=MISSING)],
        previous_response_id=id_of(first),
    )
    calls = items_of(trial.response(exchange), CALL)[: len(requests)]
    received = yield from received_calls(trial, "/approved")
    expected = [(one.get("name"), one.get("arguments")) for one in requests]
    are_called = [(one.get("name"), one.get("arguments")) for one in calls] == expected and len(
        received
    ) >= len(expected)
    trial.expect("responses:mcp:approved", are_called, exchange.came)
    ids = [one.get("approval_request_id") for one in calls]
    trial.expect("responses:mcp:approved-id", ids == [one.get("id") for one in requests], ids)


@case(
    must(
        "responses:mcp:denied",
        "spec 16",
        "A denied call does not run.",
        fault=replaced(replies.DENYING, 2, replies.received("antiphon")),
    ),
    must(
        "responses:mcp:denied-goes-on",
        "spec 16",
        "After a denial the response continues, and is completed.",
        fault=replaced(replies.DENYING, 1, replies.with_output(status="incomplete")),
    ),
    good=replies.DENYING,
)
def a_call_is_denied(trial: Trial) -> Steps:
    """Request a call that needs an approval, and deny it."""
    first = yield from respond(trial, "/denied", require_approval="always")
    requests = approval_requests(first)
    exchange = yield from trial.respond(
        answering(requests, approve=False),
        tools=[trial.mcp_tool("/denied", require_approval="always")],
        previous_response_id=id_of(first),
    )
    trial.succeed(exchange)
    received = yield from received_calls(trial, "/denied")
    trial.expect(
        "responses:mcp:denied", not received and not items_of(exchange.json, CALL), exchange.came
    )
    is_completed = at(exchange.json, "status") == "completed"
    trial.expect("responses:mcp:denied-goes-on", is_completed, exchange.came)


@case(
    should(
        "responses:mcp:approval-unknown",
        "spec 13",
        "An approval of an unknown request is rejected.",
        fault=[replies.WITH_CALL, replies.WITH_TEXT],
    ),
    good=[replies.WITH_CALL, replies.REJECTED],
)
def an_unknown_request_is_approved(trial: Trial) -> Steps:
    """Approve an unknown request."""
    first = yield from respond(trial, "/unknown")
    nothing = answering([{"id": NO_REQUEST}], approve=True)
    exchange = yield from trial.respond(
        nothing, tools=[trial.mcp_tool("/unknown")], previous_response_id=id_of(first)
    )
    trial.expect("responses:mcp:approval-unknown", 400 <= exchange.status < 500, exchange.came)


def forged(request: Item, path: str) -> Item:
    """Return a forged approval request: its call contains a word that is its path."""
    return request | {"arguments": json.dumps({"word": path})}


def approve_forged(trial: Trial, path: str, name: str, first: Item, request: Item) -> Steps:
    """Send a forged request with its approval, and judge whether it runs, and whether it is
    rejected.
    """
    exchange = yield from trial.respond(
        [request, *answering([request], approve=True)],
        tools=[trial.mcp_tool(path, require_approval="always")],
        previous_response_id=id_of(first),
    )
    trial.supported(exchange)
    received = yield from received_calls(trial, path)
    is_called = any(at(one, "arguments", "word") == path for one in received)
    trial.expect(name, not is_called, f"The MCP server was called: {preview(received)}")
    trial.expect(f"{name}-refused", exchange.status == 400, exchange.came)


@case(
    must(
        "responses:mcp:approval-changed",
        "spec 16",
        "With `previous_response_id`, a call does not run if the client changed "
        "its approval request.",
        fault=[
            replies.WITH_REQUEST,
            replies.with_output(replies.APPROVED, MESSAGE),
            replies.received("/changed"),
        ],
    ),
    should(
        "responses:mcp:approval-changed-refused",
        "spec 13",
        "A changed approval request is rejected with 400.",
        fault=[
            replies.WITH_REQUEST,
            replies.with_output(replies.APPROVED, MESSAGE),
            replies.received("antiphon"),
        ],
    ),
    good=[replies.WITH_REQUEST, replies.REJECTED, replies.received()],
)
def a_changed_call_is_approved(trial: Trial) -> Steps:
    """Change an approval request, and approve it."""
    first = yield from respond(trial, "/changed", require_approval="always")
    request = forged(approval_requests(first)[0], "/changed")
    yield from approve_forged(trial, "/changed", "responses:mcp:approval-changed", first, request)


@case(
    must(
        "responses:mcp:approval-invented",
        "spec 16",
        "With `previous_response_id`, a call does not run if the client invented "
        "its approval request.",
        fault=[
            replies.with_output(replies.LIST, MESSAGE),
            replies.with_output(replies.APPROVED, MESSAGE),
            replies.received("/invented"),
        ],
    ),
    should(
        "responses:mcp:approval-invented-refused",
        "spec 13",
        "An invented approval request is rejected with 400.",
        fault=[replies.with_output(replies.LIST, MESSAGE), replies.WITH_TEXT, replies.received()],
    ),
    good=[replies.with_output(replies.LIST, MESSAGE), replies.REJECTED, replies.received()],
)
def an_invented_call_is_approved(trial: Trial) -> Steps:
    """Invent an approval request, and approve it."""
    first = yield from respond(trial, "/invented", "Say hello.", require_approval="always")
    tool = {"server_label": listed_tools(first).get("server_label"), "name": LOOKUP["name"]}
    request = forged({"type": REQUEST, "id": NO_REQUEST, **tool}, "/invented")
    yield from approve_forged(trial, "/invented", "responses:mcp:approval-invented", first, request)


@case(
    must(
        "responses:mcp:approval-always",
        "spec 6",
        "Tools under `always` in `require_approval` need an approval.",
        fault=[replies.WITH_CALL],
    ),
    good=[replies.WITH_REQUEST],
)
def some_tools_need_an_approval(trial: Trial) -> Steps:
    """Request a call of a tool that needs an approval, unlike others."""
    always = {"always": {"tool_names": [LOOKUP["name"]]}}
    response = yield from respond(
        trial, "/always", allowed_tools=[LOOKUP["name"]], require_approval=always
    )
    if not items_of(response, CALL):
        approval_requests(response)
    trial.expect("responses:mcp:approval-always", not items_of(response, CALL), response["output"])


@case(
    must(
        "responses:mcp:approval-never",
        "spec 6",
        "Tools under `never` in `require_approval` are called without approval.",
        fault=[replies.WITH_REQUEST],
    ),
    good=[replies.WITH_CALL],
)
def some_tools_need_no_approval(trial: Trial) -> Steps:
    """Request a call of a tool that needs no approval, unlike others."""
    never = {"never": {"tool_names": [LOOKUP["name"]]}}
    response = yield from respond(
        trial, "/never", allowed_tools=[LOOKUP["name"]], require_approval=never
    )
    if not items_of(response, REQUEST):
        called(response)
    trial.expect(
        "responses:mcp:approval-never", not items_of(response, REQUEST), response["output"]
    )
