"""The disk is full: does the server say so, keep what it has, and continue once there is space?

Full means here that no file may grow beyond a size (`RLIMIT_FSIZE`): that needs no rights, and
SQLite meets the same errors.
"""

import sys
from collections.abc import Sequence

from antiphon.trust.acknowledged import lost, text_of
from antiphon.trust.claims import CheckedClaim
from antiphon.trust.model import STEADY, TEXT
from antiphon.trust.place import Place, Server

SPACE = 12 * 1024 * 1024
"""Bytes of a file."""

BODY = 200_000
"""Characters of an input: each request needs that much space."""

MOST = 400
"""Requests until the disk has to be full."""

LIMITED = (
    sys.executable,
    "-c",
    "import os, resource, sys; "
    f"resource.setrlimit(resource.RLIMIT_FSIZE, ({SPACE}, {SPACE})); "
    "os.execv(sys.argv[1], sys.argv[1:])",
)


async def check(place: Place) -> Sequence[CheckedClaim]:
    """Store responses until no space is left, and then some more.

    Raises as `Place.create_key`, `Place.start` and `Place.send`.
    """
    claim = "A full disk is an error that clients see, and nothing that was acknowledged is lost."
    if not place.store.startswith("sqlite:"):
        return [
            CheckedClaim(
                check="disk",
                claim=claim,
                outcome="not checked",
                detail="The disk of a PostgreSQL server is not this machine's to fill.",
            )
        ]
    store = f"sqlite:///{place.folder}/full.db"
    key = await place.create_key("checked", store)
    place.clients.headers["authorization"] = f"Bearer {key}"
    server = await place.start(prelude=LIMITED, store=store)
    stored, refused = await _fill(place, server)
    is_alive = await _answers(place, server)
    await server.stop()
    server = await place.start(store=store)
    missing = await lost(place, server, stored)
    stores_again = await _stores(place, server)
    await server.stop()
    problems = {
        "The disk was never full.": not refused,
        "Responses are lost.": bool(missing),
        "The server with a full disk does not answer without storing.": not is_alive,
        "With space, nothing can be stored.": not stores_again,
    }
    return [
        CheckedClaim(
            check="disk",
            claim=claim,
            outcome="broken" if any(problems.values()) else "holds",
            figures={
                "acknowledged": len(stored),
                "refused": len(refused),
                "refused with": ", ".join(sorted({str(one) for one in refused})),
                "lost": len(missing),
            },
            detail=" ".join(text for text, is_broken in problems.items() if is_broken),
        )
    ]


async def _fill(place: Place, server: Server) -> tuple[list[str], list[int]]:
    """Return the responses that were stored, and the statuses of three refusals."""
    stored: list[str] = []
    refused: list[int] = []
    while len(stored) + len(refused) < MOST and len(refused) < 3:
        text = f"{place.dice.random()} " * (BODY // 20)
        status, reply = await place.respond(server, STEADY, input=text)
        if status == 200 and reply["status"] == "completed":
            stored.append(reply["id"])
        else:
            refused.append(status)
    return stored, refused


async def _answers(place: Place, server: Server) -> bool:
    _, reply = await place.respond(server, STEADY, store=False)
    return text_of(reply) == TEXT


async def _stores(place: Place, server: Server) -> bool:
    status, reply = await place.respond(server, STEADY)
    return status == 200 and not await lost(place, server, [reply["id"]])
