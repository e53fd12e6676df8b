"""What was acknowledged to clients, and whether it is still there."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientError

from antiphon.trust.model import SLOW, STEADY, TEXT
from antiphon.trust.place import Place, Server

OVER = {"completed", "failed", "incomplete", "cancelled"}

POLL_EVERY = 0.2
"""Seconds between two reads of a response that is in progress."""


MOST_BEGUN = 40
"""Background responses that a check begins. A server runs 64 at the same time, so that none of them
waits, and none is left for the next check.
"""


@dataclass
class Acknowledged:
    """Responses that a server has acknowledged: whole ones, and background ones that it began."""

    whole: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)

    @property
    def has_both(self) -> bool:
        """Whether there are responses of both kinds."""
        return bool(self.whole and self.begun)

    async def request(self, place: Place, server: Server) -> bool:
        """Send one request, and record its response; return whether it was acknowledged."""
        is_background = place.dice.random() < 0.3 and len(self.begun) < MOST_BEGUN
        model = SLOW if is_background else STEADY
        try:
            status, reply = await place.respond(server, model, background=is_background)
        except (ClientError, OSError, ValueError):  # it was killed: nothing was acknowledged
            return False
        if status == 200:
            (self.begun if is_background else self.whole).append(reply["id"])
        return status == 200


async def lost(place: Place, server: Server, ids: Iterable[str]) -> list[str]:
    """Return the responses that are not there, or do not have their whole text.

    Raises as `Place.send`.
    """
    missing = []
    for id_ in ids:
        status, response = await place.send(server, "GET", f"/responses/{id_}")
        if status != 200 or text_of(response) != TEXT:
            missing.append(id_)
    return missing


async def unfinished(place: Place, server: Server, ids: Iterable[str], limit: float) -> list[str]:
    """Wait up to `limit` seconds for background responses; return those that do not complete with
    their whole text.

    Raises as `Place.send`.
    """
    left = list(ids)
    broken: list[str] = []
    until = time.monotonic() + limit
    while left and time.monotonic() < until:
        for id_ in [*left]:
            _, response = await place.send(server, "GET", f"/responses/{id_}")
            if response.get("status") in OVER:
                left.remove(id_)
                if text_of(response) != TEXT:
                    broken.append(id_)
        await asyncio.sleep(POLL_EVERY)
    return [*broken, *left]


def text_of(response: Any) -> str:
    """Return the text of the messages of a response, empty if it is not one."""
    if not isinstance(response, dict) or response.get("status") != "completed":
        return ""
    return "".join(
        part.get("text", "")
        for item in response.get("output", ())
        if item.get("type") == "message"
        for part in item["content"]
    )
