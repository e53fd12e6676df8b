"""Streams taken up again."""

from antiphon_verify.areas.responses import resume
from tests.unit.conformance.exchanges import Answer, Shown, changed, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE
from tests.unit.testing.events.streams import STREAMS

EVENTS = STREAMS["answer"]

WHOLE = streams(EVENTS)

REST = streams(EVENTS[resume.SEEN + 1 :])

NOTHING = Answer(200, b"", {"content-type": "text/event-stream"})

REFUSED = error("Invalid 'starting_after'.")

GOOD = [WHOLE, WHOLE, REST, NOTHING, REFUSED]

OTHER = streams([changed(EVENTS[resume.SEEN + 1], "item_id", to="msg_9"), *EVENTS[resume.SEEN + 2 :]])

GONE = error("Response with id 'x' not found.", 404)

PLAIN = says(RESPONSE)

EXCHANGES: dict[str, Shown] = {
    **shown(
        resume.a_stream_is_taken_up,
        GOOD,
        {
            "responses:resume:whole": [WHOLE, NOTHING, *GOOD[2:]],
            "responses:resume:after": [WHOLE, WHOLE, WHOLE, *GOOD[3:]],
            "responses:resume:same": [WHOLE, WHOLE, OTHER, *GOOD[3:]],
            "responses:resume:end": [WHOLE, WHOLE, NOTHING, *GOOD[3:]],
            "responses:resume:after-last": [WHOLE, WHOLE, REST, GONE, REFUSED],
            "responses:resume:after-word": [WHOLE, WHOLE, REST, NOTHING, WHOLE],
        },
    ),
    **spoiled(resume.a_foreground_stream_is_over, [PLAIN, PLAIN, REFUSED], [PLAIN, PLAIN, NOTHING]),
    **spoiled(resume.the_stream_of_nothing_is_not_found, [PLAIN, GONE], [PLAIN, NOTHING]),
}
