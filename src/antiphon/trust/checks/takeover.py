"""One of two servers on a store is killed: does the other one finish its background responses?"""

import time
from collections.abc import Sequence

from antiphon.trust.acknowledged import unfinished
from antiphon.trust.claims import CheckedClaim
from antiphon.trust.model import SLOW
from antiphon.trust.place import Place, PlaceError, Server

RESPONSES = 8

FINISH = 90.0
"""Seconds in which all have to be complete."""


async def check(place: Place) -> Sequence[CheckedClaim]:
    """Kill the server that runs background responses, and read them from another.

    Raises `PlaceError` if one is refused, and as `Place.start` and `Place.send`.
    """
    first = await place.start()
    second = await place.start()
    ids = []
    for _ in range(RESPONSES):
        status, response = await place.respond(first, SLOW, background=True)
        if status != 200:
            raise PlaceError(f"A background response was refused with {status}: {response}")
        ids.append(response["id"])
    await first.kill()
    began = time.monotonic()
    broken = await unfinished(place, second, ids, FINISH)
    took = time.monotonic() - began
    torn = [id_ for id_ in ids if not await _is_sound(place, second, id_)]
    await second.stop()
    return [
        CheckedClaim(
            check="takeover",
            claim="Another server finishes the background responses of a killed one.",
            outcome="broken" if broken else "holds",
            figures={
                "responses": RESPONSES,
                "not completed": len(broken),
                "until all were completed, s": round(took, 1),
            },
            detail=", ".join(broken),
        ),
        CheckedClaim(
            check="takeover",
            claim="The stream of a response that was taken over can be read from its beginning.",
            outcome="broken" if torn else "holds",
            figures={"streams": len(ids), "torn": len(torn)},
            detail=", ".join(torn),
        ),
    ]


async def _is_sound(place: Place, server: Server, id_: str) -> bool:
    """Return whether the numbers of a stream increase, and it has one end, which is its last."""
    events = await place.events(server, "GET", f"/responses/{id_}?stream=true")
    numbers = [one["sequence_number"] for one in events]
    ends = [one for one in events if one["type"] == "response.completed"]
    return numbers == sorted(set(numbers)) and ends == events[-1:]
