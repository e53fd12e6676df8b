"""Where the CPU time of a request goes: which part of ours was at work at each millisecond of it.

A signal comes for each millisecond of CPU time that the process has used. The innermost frame of
ours says which part was at work; what C code took is counted for the part that called it. Large
data is processed on the event loop here, not in threads, because the signal reaches the main thread
alone.
"""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from antiphon.sharing.offload import Offload
from bench.agents.conversation import Conversation
from bench.agents.scenarios import SCENARIOS, ways
from bench.trace.agents import BURST
from bench.trace.counter import is_harness
from bench.trace.scenarios import connected

EVERY = 0.001
"""Seconds of CPU time between two samples."""

SECONDS = 4.0
"""CPU time of the requests that are sampled: 4,000 samples."""

WARM_UP = 10
"""Requests before any is sampled."""

LOOP = "event loop, sockets and libraries"

HTTP = "HTTP: requests, events, replies"

PARTS = {
    "antiphon.http_server": HTTP,
    "antiphon.server": HTTP,
    "antiphon.protocol": "decoding and checking the request; JSON",
    "antiphon.runs": "plan and turn loop",
    "antiphon.translation.to_chat_completions": "translation of the request",
    "antiphon.translation.tool_mapping": "tools that are offered",
    "antiphon.translation": "translation of the answer into events",
    "antiphon.upstream": "choice of the backend, and its connection",
    "antiphon.access": "keys, sealed reasoning, usage",
    "antiphon.storage": "store",
    "antiphon": "all else of ours",
}
"""What a module belongs to: the longest name that fits."""


@dataclass(frozen=True, slots=True)
class Shares:
    """What a request costs, in µs of CPU time, by part."""

    microseconds: dict[str, float]
    samples: int

    @property
    def total(self) -> float:
        """All of it, without what the client and the backend of the harness take."""
        return sum(self.microseconds.values())


def part_of(frame: FrameType | None) -> str:
    """Return the part at work in a frame; empty for the harness."""
    while frame is not None:
        module: str = frame.f_globals.get("__name__", "")
        if is_harness(module):
            return ""
        if module.split(".", maxsplit=1)[0] == "antiphon":
            return PARTS[
                max((name for name in PARTS if f"{module}.".startswith(f"{name}.")), key=len)
            ]
        frame = frame.f_back
    return LOOP


class Sampler:
    """Counts which part is at work, once for each `EVERY` of CPU time, while it `is_on`."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self.is_on = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Receive the signals inside the block."""
        before = signal.signal(signal.SIGPROF, self._note)
        signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def _note(self, _signal: int, frame: FrameType | None) -> None:
        if self.is_on:
            self.found[part_of(frame)] += 1


async def shares(folder: Path, path: str, seconds: float = SECONDS) -> Shares:
    """Return where the CPU time of a path of `bench/agents` goes, with a store in this folder."""
    way = next(way for way in ways() if way.name == path)
    with patch.object(Offload, "in_thread", _at_once):
        async with connected(folder, facts=False) as client:
            one = Conversation(
                client, SCENARIOS[way.scenario](), model=BURST, stream=way.stream, store=way.store
            )
            return await asyncio.create_task(_sampled(one, seconds))


async def _sampled(one: Conversation, seconds: float) -> Shares:
    for _ in range(WARM_UP):
        await one.begin()
        await one.send()
    sampler = Sampler()
    sent = 0
    used = 0.0
    with sampler.running():
        while used < seconds:
            await one.begin()
            began = time.process_time()
            sampler.is_on = True
            await one.send()
            sampler.is_on, used = False, used + time.process_time() - began
            sent += 1
    samples = sampler.found.total()
    microseconds = used / samples / sent * 1e6
    return Shares(
        {part: count * microseconds for part, count in sampler.found.most_common() if part}, samples
    )


async def _at_once(
    _self: Offload, _tenant: str, function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    return function(*args, **kwargs)
