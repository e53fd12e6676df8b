"""The attacks of one tenant on another, and where each is shown. Those that are load are measured
here.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.attacks import disk, memory
from bench.attacks.attackers import PROCESSES
from bench.report import Reading, table


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack: the method of `Attacker` that performs it, or the test that shows it where it is
    no load.

    `measure` gives the figures of an attack that is not about B's requests.
    """

    name: str
    method: str = ""
    test: str = ""
    workers: int = 1
    readers: int = 0
    """Page readers that the tenant may use at once; each has a memory limit of its own."""
    has_times: bool = False
    """Whether the median and the slowest of B's requests have targets of their own
    (`bench.targets`).
    """
    processes: int = 0
    """Processes of code that the server must have started, for which it needs bubblewrap."""
    measure: Callable[[Path], Iterator[Reading]] | None = None


TWELVE = (
    Attack("conversation of 60 MB, two workers", "conversation", workers=2),
    Attack("20,000 tiny items", "tiny_items"),
    Attack("clock 40 days ahead", test="tests/system/isolation/test_wrong_clock.py"),
    Attack("WebSockets with waiting messages", "sockets"),
    Attack("429s about the request", "rejections"),
    Attack("webhooks that hang", "webhooks"),
    Attack("names that are never resolved", "names"),
    Attack("pages of 4.9 MB", "pages", readers=max(2, os.cpu_count() or 1)),
    Attack("slow background jobs", "jobs"),
    Attack(
        "a key that stands twice",
        test="tests/integration/server/resources/test_chat_completions.py",
    ),
    Attack("malformed HTTP", "malformed"),
    Attack("MCP calls that never return", "tools"),
)
"""The twelve known attacks, in their order."""

MORE = (
    Attack("streams that never end", "running"),
    Attack("code that takes memory", measure=memory.reading),
    Attack("worst document in a vector store", "document", has_times=True),
    Attack("code that spins in 58 processes", "spinning", has_times=True, processes=PROCESSES),
    Attack("code that spun in 58 processes", "spun", has_times=True, processes=PROCESSES),
    Attack("a full disk", measure=disk.reading),
)

ATTACKS = (*TWELVE, *MORE)


def not_load() -> str:
    """Return which attacks are not measured, and the tests that show them."""
    rows = [
        (f"{number}. {attack.name}", attack.test)
        for number, attack in enumerate(ATTACKS, 1)
        if attack.test
    ]
    return table([("no load, so not measured", "shown by"), *rows])
