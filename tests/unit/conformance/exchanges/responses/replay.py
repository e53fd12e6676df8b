"""Answers sent back, taken and not."""

from typing import Any

from antiphon_verify.areas.responses import replay
from tests.unit.conformance.exchanges import Answer, Shown, error, says, spoiled, streams
from tests.unit.conformance.exchanges.bodies import CALL, MESSAGE, RESPONSE
from tests.unit.testing.events.streams import STREAMS

PART = MESSAGE["content"][0]

LOGPROB = {"token": "Hello", "logprob": -0.1, "bytes": None, "top_logprobs": []}


def answer(*items: dict[str, Any], status: str = "completed") -> Answer:
    """A response of these items."""
    return says(RESPONSE | {"output": list(items), "status": status})


def message(part: dict[str, Any]) -> dict[str, Any]:
    """A message of one part."""
    return MESSAGE | {"content": [part]}


TAKEN = answer(MESSAGE)

CALLED = answer(CALL)

FIRSTS: dict[str, Answer] = {
    "text": TAKEN,
    "unstored": TAKEN,
    "call": CALLED,
    "reasoning": answer({"id": "rs_1", "type": "reasoning", "summary": []}, MESSAGE),
    "refusal": answer(message({"type": "refusal", "refusal": "No."})),
    "logprobs": answer(message(PART | {"logprobs": [LOGPROB]})),
    "cut": answer(MESSAGE | {"status": "incomplete"}, status="incomplete"),
}
"""The first answer, by the requirement's name."""

REFUSED = error("Input should be a valid dictionary", 400)

EXCHANGES: dict[str, Shown] = {
    **{
        f"responses:replay:{name}": Shown(case, [FIRSTS[name], TAKEN], [FIRSTS[name], REFUSED])
        for name, case in zip(replay.FIRSTS, replay.REPLAYS, strict=True)
    },
    **spoiled(
        replay.streamed_items_are_sent_back,
        [streams(STREAMS["answer"]), TAKEN],
        [streams(STREAMS["answer"]), REFUSED],
    ),
    **spoiled(replay.items_with_nulls_are_sent_back, [CALLED, TAKEN], [CALLED, REFUSED]),
    **spoiled(replay.three_turns_are_sent_back, [TAKEN] * 3, [TAKEN, TAKEN, REFUSED]),
}
