"""Responses cancelled."""

from antiphon_verify.areas.responses import cancel
from tests.unit.conformance.exchanges import Shown, error, says, shown, spoiled
from tests.unit.conformance.exchanges.bodies import RESPONSE

QUEUED = says(RESPONSE | {"status": "queued", "output": [], "usage": None})

CANCELLED = QUEUED.patched("status", to="cancelled")

DONE = says(RESPONSE)

REFUSED = error("Cannot cancel a synchronous response.")

CALL = {"id": "mcp_1", "type": "mcp_call", "status": "incomplete", "name": "lookup", "arguments": "{}"}

CALLED = says([{"method": "tools/call", "params": {"name": "lookup", "arguments": {}}}])

CUT = CANCELLED.patched("output", to=[CALL])

GONE = error("Response with id 'resp_0' not found.", 404)

EXCHANGES: dict[str, Shown] = {
    **shown(
        cancel.background_work_is_cancelled,
        [QUEUED, CANCELLED, CANCELLED, CANCELLED],
        {
            "responses:cancel:cancelled": [QUEUED, QUEUED],
            "responses:cancel:no-usage": [QUEUED, CANCELLED.patched("usage", to={})],
            "responses:cancel:twice": [QUEUED, CANCELLED, REFUSED],
            "responses:cancel:stays": [QUEUED, CANCELLED, CANCELLED, DONE],
        },
    ),
    **shown(
        cancel.a_call_in_progress_is_cancelled,
        [QUEUED, says([]), CALLED, CUT],
        {
            "responses:cancel:call-kept": [QUEUED, CALLED, CANCELLED],
            "responses:cancel:call-closed": [QUEUED, CALLED, CUT.patched("output", 0, "status", to="in_progress")],
        },
    ),
    **spoiled(cancel.foreground_work_cannot_be_cancelled, [DONE, REFUSED], [DONE, CANCELLED]),
    **spoiled(cancel.nothing_cannot_be_cancelled, [QUEUED, GONE], [QUEUED, CANCELLED]),
}
