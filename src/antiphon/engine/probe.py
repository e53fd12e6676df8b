"""Whether a server speaks Responses, asked of it by a request that it can only refuse (lesson L57)."""

import asyncio

from antiphon.errors import BackendError
from antiphon.translation.dialects import Api
from antiphon.upstream.backend import Backend

PATIENCE = 5.0
"""Seconds that a server has for its answer."""

UNDERSTOOD = frozenset({400, 422})
"""It missed the model and the input: so it would know what to do with them."""

NO_ANSWER = frozenset({401, 403, 408, 429})
"""It said nothing of the matter, and is asked again; so it is where it failed."""


async def probe(backend: Backend) -> Api | None:
    """Return the API to ask a server by, None where it did not tell."""
    try:
        async with asyncio.timeout(PATIENCE):
            reply = await backend.post("/responses", b"{}")
            await reply.close()
    except (BackendError, TimeoutError):
        return None
    if reply.status in NO_ANSWER or (reply.status >= 500 and reply.status != 501):
        return None
    return "responses" if reply.status in UNDERSTOOD else "chat"
