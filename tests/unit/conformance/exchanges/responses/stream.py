"""Streams: a sound one and a broken one for every rule."""

from antiphon_verify.areas.responses.stream import PLAIN as TEXT
from antiphon_verify.areas.responses.stream import (
    deltas_are_padded,
    padding_can_be_switched_off,
)
from antiphon_verify.soundness import stream_id
from tests.unit.conformance.exchanges import Shown, changed, error, shown, streams
from tests.unit.testing.events.mutations import MUTATIONS
from tests.unit.testing.events.streams import STREAMS, event

PLAIN = STREAMS["answer"]
PADDED = [each | {"obfuscation": "x"} if "delta" in each else each for each in PLAIN]
FAILED = STREAMS["failure"]

EXCHANGES: dict[str, Shown] = {
    **{
        stream_id(rule): Shown(
            TEXT, [streams(STREAMS[mutation.stream])], [streams(mutation.apply(STREAMS) or [event("none")])]
        )
        for rule, mutation in MUTATIONS.items()
    },
    **shown(TEXT, [streams(PLAIN)], {"responses:stream:whole": [error("It broke.", 500)]}),
    **shown(
        TEXT,
        [streams(FAILED)],
        {
            "responses:stream:failed-code-known": [
                streams([*FAILED[:-1], changed(FAILED[-1], "response", "error", "code", to="it_broke")])
            ]
        },
    ),
    **shown(deltas_are_padded, [streams(PADDED)], {"responses:stream:obfuscation": [streams(PLAIN)]}),
    **shown(padding_can_be_switched_off, [streams(PLAIN)], {"responses:stream:no-obfuscation": [streams(PADDED)]}),
}
