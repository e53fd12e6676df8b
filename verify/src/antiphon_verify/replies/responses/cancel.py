"""Cancelled responses."""

from antiphon_verify.replies import error, says
from antiphon_verify.replies.bodies import RESPONSE

QUEUED = says(RESPONSE | {"status": "queued", "output": [], "usage": None})

CANCELLED = QUEUED.patched("status", to="cancelled")

DONE = says(RESPONSE)

REJECTED = error("Cannot cancel a synchronous response.")

CALL = {"id": "mcp_1", "type": "mcp_call", "status": "incomplete", "name": "lookup", "arguments": "{}"}

CALLED = says([{"method": "tools/call", "params": {"name": "lookup", "arguments": {}}}])

CUT = CANCELLED.patched("output", to=[CALL])

NOT_FOUND = error("Response with id 'resp_0' not found.", 404)
