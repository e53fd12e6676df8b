"""Background responses."""

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import error, says
from antiphon_verify.replies.bodies import RESPONSE

QUEUED = says(RESPONSE | {"status": "queued", "background": True, "output": [], "usage": None, "completed_at": None})

WAITS = says(
    RESPONSE
    | {"status": "queued", "background": True}
    | {"background_options": {"completion_window": "2h", "continuation_id": "verify"}}
)

UNDER_WAY = QUEUED.patched("status", to="in_progress")

DONE = says(RESPONSE | {"background": True})

STREAM = STREAMS["cut"]

STORED = says(STREAM[-1]["response"])

REJECTED = error("background=true requires store=true", 400, None, "background")
