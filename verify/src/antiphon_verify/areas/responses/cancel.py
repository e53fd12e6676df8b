"""Cancelled background responses."""

from antiphon_verify.areas.responses.background import BETWEEN
from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.areas.responses.mcp.items import CALL, PROMPT, UNUSED, items_of, received_calls
from antiphon_verify.case import case
from antiphon_verify.mcp import SILENT
from antiphon_verify.reading import at, preview, unlike
from antiphon_verify.refusal import is_refused
from antiphon_verify.replies import states
from antiphon_verify.replies.responses import cancel as replies
from antiphon_verify.requirement import Stop, must, should
from antiphon_verify.trial import Steps, Trial

ENDED = ("completed", "incomplete", "failed")

POLLS = 40
"""How often a case checks whether the MCP server was called."""


@case(
    must(
        "responses:cancel:cancelled",
        "spec 9",
        "A background response can be cancelled until it has ended.",
        fault=[replies.QUEUED, replies.QUEUED],
    ),
    must(
        "responses:cancel:twice",
        "spec 9",
        "Cancelling a cancelled response returns it unchanged.",
        fault=[replies.QUEUED, replies.CANCELLED, replies.REJECTED],
    ),
    must(
        "responses:cancel:stays",
        "issue ogx#5363",
        "A cancelled response stays cancelled.",
        fault=[replies.QUEUED, replies.CANCELLED, replies.CANCELLED, replies.DONE],
    ),
    should(
        "responses:cancel:no-usage",
        "spec 3",
        "A cancelled response has no usage.",
        fault=[replies.QUEUED, replies.CANCELLED.patched("usage", to={})],
    ),
    good=[replies.QUEUED, replies.CANCELLED, replies.CANCELLED, replies.CANCELLED],
)
def background_work_is_cancelled(trial: Trial) -> Steps:
    """Cancel a background response twice, and retrieve it."""
    prompt = "Count from 1 to 1000 in words."
    queued = trial.response((yield from trial.respond(prompt, background=True)))
    path = f"/responses/{id_of(queued)}"
    first = trial.whole((yield from trial.post(f"{path}/cancel")))
    status = at(first, "status")
    trial.expect("responses:cancel:cancelled", status in ("cancelled", *ENDED), preview(status))
    if status == "cancelled":
        trial.expect(
            "responses:cancel:no-usage", at(first, "usage") is None, preview(at(first, "usage"))
        )
    again = yield from trial.post(f"{path}/cancel")
    trial.expect(
        "responses:cancel:twice", again.is_ok and at(again.json, "status") == status, again.came
    )
    found = yield from trial.get(path)
    trial.expect(
        "responses:cancel:stays", found.is_ok and at(found.json, "status") == status, found.came
    )


@case(
    should(
        "responses:cancel:call-kept",
        "spec 9",
        "The output of a cancelled response contains the call that was in progress.",
        fault=[replies.QUEUED, replies.CALLED, replies.CANCELLED],
    ),
    should(
        "responses:cancel:call-closed",
        "spec 16",
        "The status of the interrupted call is neither `in_progress` nor `completed`.",
        fault=[
            replies.QUEUED,
            replies.CALLED,
            replies.CUT.patched("output", 0, "status", to="in_progress"),
        ],
    ),
    good=[replies.QUEUED, states([]), replies.CALLED, replies.CUT],
)
def a_call_in_progress_is_cancelled(trial: Trial) -> Steps:
    """Cancel a background response during the call of an MCP server's tool."""
    queued = trial.response(
        (yield from trial.respond(PROMPT, tools=[trial.mcp_tool(SILENT)], background=True))
    )
    for _ in range(POLLS):
        if (yield from received_calls(trial, SILENT)):
            break
        yield from trial.pause(BETWEEN)
    else:
        raise Stop("skipped", UNUSED)
    cancelled = trial.whole((yield from trial.post(f"/responses/{id_of(queued)}/cancel")))
    calls = items_of(cancelled, CALL)
    trial.expect("responses:cancel:call-kept", bool(calls), preview(at(cancelled, "output")))
    is_closed = all(
        at(call, "status") not in ("in_progress", "calling", "completed") for call in calls
    )
    trial.expect("responses:cancel:call-closed", is_closed, preview(calls))


@case(
    must(
        "responses:cancel:foreground",
        "spec 13",
        "Cancelling a foreground response is rejected with a 4xx.",
        fault=[replies.DONE, replies.CANCELLED],
    ),
    good=[replies.DONE, replies.REJECTED],
)
def foreground_work_cannot_be_cancelled(trial: Trial) -> Steps:
    """Cancel a foreground response."""
    first = trial.response((yield from trial.respond("Say hello.", store=True)))
    exchange = yield from trial.post(f"/responses/{id_of(first)}/cancel")
    trial.supported(exchange)
    trial.expect("responses:cancel:foreground", is_refused(exchange), exchange.came)


@case(
    must(
        "responses:cancel:unknown",
        "spec 13",
        "Cancelling an unknown response returns 404.",
        fault=[replies.QUEUED, replies.CANCELLED],
    ),
    good=[replies.QUEUED, replies.NOT_FOUND],
)
def nothing_cannot_be_cancelled(trial: Trial) -> Steps:
    """Cancel an unknown response."""
    queued = trial.response((yield from trial.respond("Say hello.", background=True)))
    exchange = yield from trial.post(f"/responses/{unlike(id_of(queued))}/cancel")
    trial.supported(exchange)
    trial.expect("responses:cancel:unknown", exchange.status == 404, exchange.came)
