"""HTTP itself."""

from dataclasses import replace

from antiphon_verify.replies import Reply, error, states
from antiphon_verify.replies.bodies import RESPONSE

GOOD = states(RESPONSE)

BROKEN = error("Internal Server Error", 500)

LIST = states({"object": "list", "data": []})

DATED = dict(LIST.headers) | {"date": "Fri, 20 Nov 2026 12:00:00 GMT"}


def second(length: int = len(LIST.body), *, is_reused: bool = True) -> Reply:
    """Return the second reply of a connection."""
    return replace(LIST, is_reused=is_reused, headers=DATED | {"content-length": str(length)})


OWN = [GOOD.patched("id", to=f"resp_{number}") for number in range(4)]
