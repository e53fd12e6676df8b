"""Background responses."""

from antiphon_verify.areas.responses import background
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE
from tests.unit.testing.events.streams import STREAMS

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

REFUSED = error("background=true requires store=true", 400, None, "background")

EXCHANGES: dict[str, Shown] = {
    **shown(
        background.work_is_left_in_the_background,
        [QUEUED, QUEUED, UNDER_WAY, DONE],
        {
            "responses:background:at-once": [DONE, DONE],
            "responses:background:empty": [QUEUED.patched("usage", to={}), DONE],
            "responses:background:told": [QUEUED.patched("background", to=False), DONE],
            "responses:background:completed": [QUEUED, *[UNDER_WAY] * background.LOOKS],
            "responses:background:whole": [QUEUED, DONE.patched("output", to=[])],
        },
    ),
    **shown(
        background.background_work_is_streamed,
        [streams(STREAM), STORED],
        {
            "responses:background:opening": [streams(STREAMS["answer"]), STORED],
            "responses:background:streamed": [streams(STREAM[:-1]), STORED],
            "responses:background:stream-stored": [streams(STREAM), Answer(404, b"{}")],
        },
    ),
    **shown(
        background.work_can_wait,
        [WAITS, WAITS],
        {
            "responses:background:window": [error("Boom.", 500)],
            "responses:background:window-shown": [QUEUED, WAITS],
        },
    ),
    **spoiled(background.unstored_work_is_left_in_the_background, [QUEUED], [REFUSED]),
}
