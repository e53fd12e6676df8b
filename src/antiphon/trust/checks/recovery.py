"""A server is killed while it serves, and started again: is anything lost that clients know of?"""

import asyncio
import time
from collections.abc import Sequence

from antiphon.trust.acknowledged import Acknowledged, lost, unfinished
from antiphon.trust.claims import CheckedClaim
from antiphon.trust.place import Place, PlaceError, Server

CLIENTS = 8
"""Requests at the same time."""

UNTIL_KILL = (0.3, 1.5)
"""Seconds between the start of the clients and a kill."""

FINISH = 60.0
"""Seconds in which a background response has to be complete after the last start."""


async def check(place: Place) -> Sequence[CheckedClaim]:
    """Kill a server with SIGKILL, again and again, and look for what it acknowledged.

    Raises `PlaceError` if it acknowledges nothing, and as `Place.start` and `Place.send`.
    """
    acknowledged = Acknowledged()
    restarts: list[float] = []
    server = await place.start()
    until = time.monotonic() + place.seconds * 0.6
    while not acknowledged.has_both or time.monotonic() < until:
        if time.monotonic() > until + FINISH:
            raise PlaceError(f"The server acknowledged too little between {len(restarts)} kills.")
        await _serve_until_killed(place, server, acknowledged)
        began = time.monotonic()
        server = await place.start()
        restarts.append(time.monotonic() - began)
    missing = await lost(place, server, acknowledged.whole)
    broken = await unfinished(place, server, acknowledged.begun, FINISH)
    await server.stop()
    return [
        CheckedClaim(
            check="recovery",
            claim="A response that was acknowledged is there after the server is killed.",
            outcome="broken" if missing else "holds",
            figures={
                "kills": len(restarts),
                "acknowledged": len(acknowledged.whole),
                "lost": len(missing),
                "restart, s": round(max(restarts), 2),
            },
            detail=_named(missing),
        ),
        CheckedClaim(
            check="recovery",
            claim="A background response that was begun is completed after the server is killed.",
            outcome="broken" if broken else "holds",
            figures={"begun": len(acknowledged.begun), "not completed": len(broken)},
            detail=_named(broken),
        ),
    ]


async def _serve_until_killed(place: Place, server: Server, acknowledged: Acknowledged) -> None:
    is_up = True

    async def client() -> None:
        while is_up and await acknowledged.request(place, server):
            pass

    clients = [asyncio.create_task(client()) for _ in range(CLIENTS)]
    await asyncio.sleep(place.dice.uniform(*UNTIL_KILL))
    await server.kill()
    is_up = False
    await asyncio.gather(*clients)


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5])
