"""Headers."""

from dataclasses import replace

from antiphon_verify.replies import Reply, error, states
from antiphon_verify.replies.bodies import RESPONSE

ALL = {
    "content-type": "application/json",
    "x-request-id": "req_1",
    "openai-processing-ms": "3",
    "openai-version": "2020-10-01",
    "x-content-type-options": "nosniff",
    "access-control-expose-headers": "X-Request-ID",
}


def headed(**changes: str) -> Reply:
    """Return the response with other headers."""
    named = {name.replace("_", "-"): value for name, value in changes.items()}
    return replace(states(RESPONSE), headers=ALL | named)


GOOD = headed()

REJECTED = replace(error("Invalid type."), headers=ALL | {"x-request-id": "req_2"})

WRONG = replace(
    error("Incorrect API key provided: sk-wr***.", 401), headers={"www-authenticate": "Bearer"}
)
