"""The same response, plain and streamed."""

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import Reply, changed, states, streams
from antiphon_verify.replies.bodies import CALL, RESPONSE

PLAIN = states(RESPONSE)

EVENTS = [
    *STREAMS["answer"][:-1],
    {"type": "response.completed", "sequence_number": 99, "response": RESPONSE},
]


def ending(*path: str | int, to: object) -> Reply:
    """Return the stream with another value in its last response."""
    return streams([*EVENTS[:-1], changed(EVENTS[-1], "response", *path, to=to)])


STREAM = streams(EVENTS)

MINIMAL = streams([*EVENTS[:-1], EVENTS[-1] | {"response": {"id": "resp_1"}}])

CALLING = PLAIN.patched("output", to=[CALL])
