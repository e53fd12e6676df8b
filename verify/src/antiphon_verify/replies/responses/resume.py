"""Resumed streams."""

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import Reply, changed, error, states, streams
from antiphon_verify.replies.bodies import RESPONSE

SEEN = 3
"""The number of the event after which the stream is resumed."""


EVENTS = STREAMS["answer"]

WHOLE = streams(EVENTS)

REST = streams(EVENTS[SEEN + 1 :])

NOTHING = Reply(200, b"", {"content-type": "text/event-stream"})

REJECTED = error("Invalid 'starting_after'.")

GOOD = [WHOLE, WHOLE, REST, NOTHING, REJECTED]

OTHER = streams([changed(EVENTS[SEEN + 1], "item_id", to="msg_9"), *EVENTS[SEEN + 2 :]])

NOT_FOUND = error("Response with id 'x' not found.", 404)

PLAIN = states(RESPONSE)
