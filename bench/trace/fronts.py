"""What a stream costs by the other APIs, in CPU time of a stream of responses.

The same 256 deltas come in one burst for each. The streams take turns, so that whatever else the
machine does slows them alike, and the fastest of each counts.
"""

import asyncio
import time
from pathlib import Path

from bench.trace.scenarios import (
    BURST,
    CHAT_RUN_BURST,
    MESSAGE_BURST,
    WARM_UP,
    Requests,
    Scenario,
    connected,
)

MOST = 1.3
"""Times of a stream of responses that a stream of another API may take."""

ROUNDS = 120
"""Streams of each that are measured."""

ATTEMPTS = 3
"""A machine that is busy slows one of them more than the others: the lowest ratio counts."""


async def ratios(folder: Path) -> dict[str, float]:
    """Return the CPU time of a stream of each API, in times of a stream of responses."""
    async with connected(folder, facts=False) as client:
        found = [await asyncio.create_task(_measured(Requests(client))) for _ in range(ATTEMPTS)]
    return {name: min(one[name] for one in found) for name in found[0]}


async def _measured(requests: Requests) -> dict[str, float]:
    streams: dict[str, Scenario] = {
        BURST: requests.burst,
        MESSAGE_BURST: requests.message_burst,
        CHAT_RUN_BURST: requests.chat_run_burst,
    }
    fastest = dict.fromkeys(streams, float("inf"))
    for number in range(WARM_UP + ROUNDS):
        for name, send in streams.items():
            began = time.thread_time()
            await send()
            if number >= WARM_UP:
                fastest[name] = min(fastest[name], time.thread_time() - began)
    base = fastest.pop(BURST)
    return {name: used / base for name, used in fastest.items()}
