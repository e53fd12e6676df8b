"""One tenant floods the server: are the requests of another one answered, and how much later?"""

import asyncio
import time
from collections.abc import Sequence

from antiphon.trust.acknowledged import text_of
from antiphon.trust.claims import CheckedClaim, milliseconds
from antiphon.trust.model import STEADY, TEXT
from antiphon.trust.place import Place, Server
from antiphon.trust.process import running

BEGIN = 2.0
"""Seconds until the flood has begun."""


async def check(place: Place) -> Sequence[CheckedClaim]:
    """Measure a tenant alone, and next to one that floods.

    Raises as `Place.create_key`, `Place.start` and `Place.send`.
    """
    hostile = await place.create_key("hostile")
    server = await place.start()
    seconds = max(3.0, min(place.seconds / 3, 20))
    alone, _ = await _latencies(place, server, seconds)
    arguments = "antiphon.trust.flood", server.url
    async with running(*arguments, folder=place.folder, announces=False, OPENAI_API_KEY=hostile):
        await asyncio.sleep(BEGIN)
        flooded, failed = await _latencies(place, server, seconds)
    await server.stop()
    return [
        CheckedClaim(
            check="neighbour",
            claim="The requests of a tenant are answered while another tenant floods the server.",
            outcome="broken" if failed else "holds",
            figures={
                "requests": len(flooded),
                "failed": failed,
                "median alone, ms": milliseconds(alone, 0.5),
                "median with it, ms": milliseconds(flooded, 0.5),
                "p99 alone, ms": milliseconds(alone, 0.99),
                "p99 with it, ms": milliseconds(flooded, 0.99),
            },
        )
    ]


async def _latencies(place: Place, server: Server, seconds: float) -> tuple[list[float], int]:
    """Return the sorted times of all requests, in seconds, and how many failed."""
    found: list[float] = []
    failed = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        _, reply = await place.respond(server, STEADY)
        found.append(time.monotonic() - began)
        failed += text_of(reply) != TEXT
        await asyncio.sleep(0.02)
    return sorted(found), failed
