"""Plain and streamed."""

from antiphon_verify.areas.responses import same
from tests.unit.conformance.exchanges import Answer, Shown, changed, says, shown, streams
from tests.unit.conformance.exchanges.bodies import CALL, MESSAGE, RESPONSE
from tests.unit.testing.events.streams import STREAMS

PLAIN = says(RESPONSE)

EVENTS = [*STREAMS["answer"][:-1], {"type": "response.completed", "sequence_number": 99, "response": RESPONSE}]


def ending(*path: str | int, to: object) -> Answer:
    return streams([*EVENTS[:-1], changed(EVENTS[-1], "response", *path, to=to)])


STREAM = streams(EVENTS)

MINIMAL = streams([*EVENTS[:-1], EVENTS[-1] | {"response": {"id": "resp_1"}}])

CALLING = PLAIN.patched("output", to=[CALL])

EXCHANGES: dict[str, Shown] = {
    **shown(
        same.a_text_is_the_same_streamed,
        [PLAIN, STREAM],
        {
            "responses:same:keys": [PLAIN, MINIMAL],
            "responses:same:output": [PLAIN, ending("output", to=[])],
            "responses:same:item-keys": [PLAIN, ending("output", 0, to={**MESSAGE, "phase": "final_answer"})],
        },
    ),
    **shown(
        same.a_call_is_the_same_streamed,
        [CALLING, ending("output", to=[CALL])],
        {"responses:same:items": [CALLING, STREAM]},
    ),
    **shown(
        same.a_stream_is_stored_as_it_ended,
        [STREAM, PLAIN],
        {"responses:same:stored": [STREAM, PLAIN.patched("status", to="in_progress")]},
    ),
    **shown(same.no_stream_is_one_object, [PLAIN], {"responses:same:null-stream": [STREAM]}),
}
