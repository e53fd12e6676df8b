"""The limits of API keys: a lease is acquired before a model is called, and its headers go into the reply."""

from collections.abc import Callable

from antiphon.gateway import Gateway, Grant
from antiphon.server.reply import raw_headers
from antiphon.server.request import HttpRequest


async def acquire(gateway: Gateway, http: HttpRequest, model: str, weigh: Callable[[], int]) -> Grant | None:
    """Return the lease of a request, None without a key; it is released when the reply was sent.

    Raises `ClientError`: 400 for a model that the key does not allow, 401 for a key that has ended, 429 at a limit.
    """
    key = await http.key()
    if key is None:
        return None
    lease = await gateway.lease(key, model, weigh)
    http.reply_headers = raw_headers(lease.headers)
    http.cleanup.enter_context(lease)
    return lease
