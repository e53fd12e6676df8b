"""Cancelled responses."""

from antiphon_verify.replies import error, states
from antiphon_verify.replies.bodies import RESPONSE

QUEUED = states(RESPONSE | {"status": "queued", "output": [], "usage": None})

CANCELLED = QUEUED.patched("status", to="cancelled")

DONE = states(RESPONSE)

REJECTED = error("Cannot cancel a synchronous response.")

CALL = {
    "id": "mcp_1",
    "type": "mcp_call",
    "status": "incomplete",
    "name": "lookup",
    "arguments": "{}",
}

CALLED = states([{"method": "tools/call", "params": {"name": "lookup", "arguments": {}}}])

CUT = CANCELLED.patched("output", to=[CALL])

NOT_FOUND = error("Response with id 'resp_0' not found.", 404)
