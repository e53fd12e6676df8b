"""Responses with the items that are sent back, and the replies to these."""

from typing import Any

from antiphon_verify.replies import Reply, error, states
from antiphon_verify.replies.bodies import CALL, MESSAGE, RESPONSE

PART = MESSAGE["content"][0]

LOGPROB = {"token": "Hello", "logprob": -0.1, "bytes": None, "top_logprobs": []}


def with_output(*items: dict[str, Any], status: str = "completed") -> Reply:
    """Return a response with these items."""
    return states(RESPONSE | {"output": list(items), "status": status})


def message(part: dict[str, Any]) -> dict[str, Any]:
    """Return a message with one part."""
    return MESSAGE | {"content": [part]}


ACCEPTED = with_output(MESSAGE)

CALLED = with_output(CALL)

REASONED = with_output({"id": "rs_1", "type": "reasoning", "summary": []}, MESSAGE)

REFUSAL = with_output(message({"type": "refusal", "refusal": "No."}))

WITH_LOGPROBS = with_output(message(PART | {"logprobs": [LOGPROB]}))

CUT = with_output(MESSAGE | {"status": "incomplete"}, status="incomplete")

REJECTED = error("Input should be a valid dictionary", 400)
