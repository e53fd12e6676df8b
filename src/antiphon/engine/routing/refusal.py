"""What a client is told where nobody can be asked now, and when it may try again (specification section 14)."""

import math

from antiphon.engine.routing.slots import LONGEST_WAIT
from antiphon.errors import AntiphonError, ClientError


def resting(error: AntiphonError, rest: float) -> AntiphonError:
    """Return the error for which a backend rests, for one that was not asked: with what is left of the wait."""
    seconds = max(1, math.ceil(rest))
    again = ClientError if isinstance(error, ClientError) else type(error)
    message = error.message
    if error.code == "rate_limit_exceeded":
        message = f"Rate limit reached. Please try again in {seconds}s."
    told = {"status": error.status, "type": error.type, "code": error.code, "param": error.param}
    return again(message, **told, headers=waits(seconds), gist=error.gist)  # type: ignore[arg-type]


def waits(seconds: float) -> dict[str, str]:
    """Return the headers that have a client wait so long; above what clients wait, it is told not to try again."""
    if seconds > LONGEST_WAIT:
        return {"x-should-retry": "false"}
    return {"retry-after": str(max(1, math.ceil(seconds)))}
