"""Backends fail, at once or in the middle of an answer: does each response end once, and others
continue?
"""

import time
from collections.abc import Sequence

from antiphon.trust.acknowledged import text_of
from antiphon.trust.claims import CheckedClaim
from antiphon.trust.model import BROKEN, CUT, REFUSED, STEADY, TEXT, WORDS
from antiphon.trust.place import Place, Server

ENDS = {"response.completed", "response.failed", "response.incomplete"}


async def check(place: Place) -> Sequence[CheckedClaim]:
    """Send requests to models that fail, between others to one that does not.

    Raises as `Place.start` and `Place.send`.
    """
    server = await place.start()
    wrong: dict[str, int] = {"refused": 0, "cut": 0, "beside": 0}
    count = 0
    until = time.monotonic() + min(place.seconds / 2, 20)
    while count < 5 or time.monotonic() < until:
        count += 1
        wrong["refused"] += not await _is_refused(place, server)
        wrong["cut"] += not await _ends_once(place, server)
        _, reply = await place.respond(server, STEADY)
        wrong["beside"] += text_of(reply) != TEXT
    await server.stop()
    claims = {
        "refused": "A backend that refuses is an error with a reason, in the response or instead.",
        "cut": "A stream that the backend breaks off keeps its text, and ends once, as failed.",
        "beside": "A failing backend disturbs no request to another model.",
    }
    return [
        CheckedClaim(
            check="backends",
            claim=claim,
            outcome="broken" if wrong[name] else "holds",
            figures={"requests": count, "wrong": wrong[name]},
        )
        for name, claim in claims.items()
    ]


async def _is_refused(place: Place, server: Server) -> bool:
    _, reply = await place.respond(server, REFUSED)
    return bool((reply.get("error") or {}).get("message"))


async def _ends_once(place: Place, server: Server) -> bool:
    body = {"model": BROKEN, "input": "Hi", "stream": True}
    events = await place.events(server, "POST", "/responses", body)
    ends = [one for one in events if one["type"] in ENDS]
    text = "".join(one["delta"] for one in events if one["type"] == "response.output_text.delta")
    is_complete = text == " ".join(WORDS[:CUT])
    return is_complete and ends == events[-1:] and ends[0]["type"] == "response.failed"
