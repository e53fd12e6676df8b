"""Answers sent back, taken and not."""

from typing import Any

from antiphon_verify.replies import Reply, error, says
from antiphon_verify.replies.bodies import CALL, MESSAGE, RESPONSE

PART = MESSAGE["content"][0]

LOGPROB = {"token": "Hello", "logprob": -0.1, "bytes": None, "top_logprobs": []}


def answer(*items: dict[str, Any], status: str = "completed") -> Reply:
    """A response of these items."""
    return says(RESPONSE | {"output": list(items), "status": status})


def message(part: dict[str, Any]) -> dict[str, Any]:
    """A message of one part."""
    return MESSAGE | {"content": [part]}


TAKEN = answer(MESSAGE)

CALLED = answer(CALL)

REASONED = answer({"id": "rs_1", "type": "reasoning", "summary": []}, MESSAGE)

REFUSAL = answer(message({"type": "refusal", "refusal": "No."}))

WITH_LOGPROBS = answer(message(PART | {"logprobs": [LOGPROB]}))

CUT = answer(MESSAGE | {"status": "incomplete"}, status="incomplete")

REFUSED = error("Input should be a valid dictionary", 400)
