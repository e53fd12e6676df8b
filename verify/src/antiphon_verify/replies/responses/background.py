"""Background responses."""

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import error, states
from antiphon_verify.replies.bodies import RESPONSE

QUEUED = states(
    RESPONSE
    | {"status": "queued", "background": True, "output": [], "usage": None, "completed_at": None}
)

WAITS = states(
    RESPONSE
    | {"status": "queued", "background": True}
    | {"background_options": {"completion_window": "2h", "continuation_id": "verify"}}
)

UNDER_WAY = QUEUED.patched("status", to="in_progress")

DONE = states(RESPONSE | {"background": True})

STREAM = STREAMS["cut"]

STORED = states(STREAM[-1]["response"])

REJECTED = error("background=true requires store=true", 400, None, "background")
