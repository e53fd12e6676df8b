"""Structured output."""

import json

from antiphon_verify.areas.responses import formats
from tests.unit.conformance.exchanges import Answer, Shown, error, says, spoiled, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE
from tests.unit.testing.events.streams import STREAMS

GOOD = {
    "strict": '{"city": "Paris"}',
    "loose": '{"town": "Paris"}',
    "object": '{"city": "Paris"}',
    "nested": json.dumps({"place": {"city": "Paris"}, "weather": "sun", "stops": [{"name": "Louvre", "hour": 9}]}),
}

BAD = {
    "strict": '{"town": "Paris"}',
    "loose": "```json\n{}\n```",
    "object": '"Paris"',
    "nested": json.dumps({"place": {"city": "Paris"}, "weather": "snow", "stops": []}),
}


def telling(text: str) -> Answer:
    return says(RESPONSE).patched("output", 0, "content", 0, "text", to=text)


def streaming(*texts: str) -> Answer:
    deltas = [{"type": "response.output_text.delta", "delta": text} for text in texts]
    return streams([STREAMS["answer"][0], *deltas, STREAMS["answer"][-1]])


REFUSED = error("Invalid value.")

EXCHANGES: dict[str, Shown] = {
    **{
        f"responses:formats:{name}": Shown(case, [telling(GOOD[name])], [telling(BAD[name])])
        for case, name in zip(formats.FITTING, formats.ASKED, strict=True)
    },
    **spoiled(formats.json_is_streamed, [streaming('{"city":', ' "Paris"}')], [streaming('{"city":')]),
    **{name: one for case in formats.TAKING for name, one in spoiled(case, [telling("x")], [REFUSED]).items()},
}
