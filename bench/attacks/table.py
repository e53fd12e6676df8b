"""The attacks of one tenant on another, and where each is shown. Ten of the twelve are load, which is measured here."""

import os
from dataclasses import dataclass

from bench.report import table


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack: the method of `Attacker` that performs it, or the test that shows it where it is no load."""

    name: str
    method: str = ""
    test: str = ""
    workers: int = 1
    readers: int = 0
    """Page readers that the tenant may use at once; each has a memory limit of its own."""


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
    Attack("a key that stands twice", test="tests/integration/server/resources/test_chat_completions.py"),
    Attack("malformed HTTP", "malformed"),
    Attack("MCP calls that never return", "tools"),
)
"""The twelve known attacks, in their order."""

MORE = (Attack("streams that never end", "running"),)

ATTACKS = (*TWELVE, *MORE)


def not_load() -> str:
    """Return which of the twelve are not measured, and the tests that show them."""
    rows = [(f"{number}. {attack.name}", attack.test) for number, attack in enumerate(TWELVE, 1) if not attack.method]
    return table([("no load, so not measured", "shown by"), *rows])
