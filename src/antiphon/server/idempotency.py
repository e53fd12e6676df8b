"""Requests with an `Idempotency-Key`: the same request again receives the same reply."""

from antiphon.gateway import Gateway, Log, Ticket, check_key
from antiphon.server.disconnect import DisconnectWatch
from antiphon.server.reply import JSON, Reply, stream_reply
from antiphon.server.request import HttpRequest
from antiphon.server.streaming import FrameStream, WholeStream

HEADER = b"idempotency-key"


async def reserve(gateway: Gateway, http: HttpRequest, body: bytes, prefix: str) -> Ticket | Reply:
    """Return the ticket of a request; the reply where the same request was replied to already.

    Where the work on it fails, its key is free again, so that the next try is worked on.
    """
    key = http.headers.get(HEADER)
    if key is None:
        return Ticket(http.tenant, gateway.new_id(prefix))
    return await _reserve(gateway, http, key.decode("latin-1"), body, prefix)


async def _reserve(gateway: Gateway, http: HttpRequest, key: str, body: bytes, prefix: str) -> Ticket | Reply:
    check_key(key)
    async with DisconnectWatch(http.receive):
        found = await gateway.reserve(http.tenant, key, http.scope["path"], body, prefix)
    if isinstance(found, Ticket):
        await http.cleanup.enter_async_context(gateway.reserved(found))
        return found
    if isinstance(found, Log):
        return stream_reply(FrameStream(gateway.replay(found.tenant, found.response_id)))
    return stream_reply(WholeStream(found.body)) if found.is_stream else Reply(200, JSON, found.body)
