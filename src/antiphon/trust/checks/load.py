"""Many clients at the same time: does each get its answer, and how many are served?"""

import asyncio
import time
from collections.abc import Sequence

from antiphon.trust.claims import CheckedClaim, milliseconds
from antiphon.trust.model import STEADY, WORDS
from antiphon.trust.place import Place, Server

CLIENTS = 16

LAST = WORDS[-1].encode()
"""The last word of an answer."""


async def check(place: Place) -> Sequence[CheckedClaim]:
    """Send plain and streamed requests, stored and not, as fast as they are answered.

    Raises as `Place.start` and `Place.send`.
    """
    server = await place.start()
    seconds = max(2.0, min(place.seconds / 4, 30))
    findings = []
    for name, is_stream, is_stored in (
        ("plain", False, False),
        ("plain and stored", False, True),
        ("streamed", True, False),
        ("streamed and stored", True, True),
    ):
        latencies, failed = await _loaded(place, server, seconds, is_stream, is_stored)
        findings.append(
            CheckedClaim(
                check="load",
                claim=f"No request fails under load: {name}.",
                outcome="broken" if failed else "holds",
                figures={
                    "clients": CLIENTS,
                    "requests": len(latencies),
                    "failed": failed,
                    "requests/s": round(len(latencies) / seconds),
                    "median, ms": milliseconds(latencies, 0.5),
                    "p99, ms": milliseconds(latencies, 0.99),
                },
            )
        )
    await server.stop()
    return findings


async def _loaded(
    place: Place, server: Server, seconds: float, is_stream: bool, is_stored: bool
) -> tuple[list[float], int]:
    """Return the sorted times of all requests, in seconds, and how many failed."""
    body = {"model": STEADY, "input": "Hello", "stream": is_stream, "store": is_stored}
    found: list[float] = []
    failed = 0
    until = time.monotonic() + seconds

    async def client() -> None:
        nonlocal failed
        while time.monotonic() < until:
            began = time.monotonic()
            async with place.clients.post(f"{server.url}/responses", json=body) as reply:
                data = await reply.read()
            found.append(time.monotonic() - began)
            failed += reply.status != 200 or LAST not in data

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return sorted(found), failed
