"""Answers sent back, taken and not."""

from antiphon.verify.cases.responses import replay
from tests.testing.events.streams import STREAMS
from tests.verify.exchanges import Shown, error, says, spoiled, streams
from tests.verify.exchanges.bodies import CALL, MESSAGE, RESPONSE

TAKEN = says(RESPONSE | {"output": [{"id": "rs_1", "type": "reasoning", "summary": []}, MESSAGE, CALL]})

REFUSED = error("Input should be a valid dictionary", 400)

EXCHANGES: dict[str, Shown] = {
    **{name: one for case in replay.REPLAYS for name, one in spoiled(case, [TAKEN, TAKEN], [TAKEN, REFUSED]).items()},
    **spoiled(
        replay.streamed_items_are_sent_back,
        [streams(STREAMS["answer"]), TAKEN],
        [streams(STREAMS["answer"]), REFUSED],
    ),
    **spoiled(replay.items_with_nulls_are_sent_back, [TAKEN, TAKEN], [TAKEN, REFUSED]),
    **spoiled(replay.three_turns_are_sent_back, [TAKEN] * 3, [TAKEN, TAKEN, REFUSED]),
}
