"""What makes two requests the same for the cache: everything but how their answer is delivered."""

import hmac
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from antiphon.protocol.content import Item
from antiphon.protocol.requests import CreateResponse

MAY_DIFFER: Mapping[str, str] = {
    "stream": "a kept answer is told either way",
    "stream_options": "it is about the stream alone",
    "background": "who waits for it is not the model's business",
    "antiphon": "it says what to do with the cache",
}
"""Fields of a request in which two may differ and still have one answer, and why."""

SEEN_AS_ITEMS = frozenset({"input", "previous_response_id", "conversation"})
"""Fields that count as what they come to: the items that the model sees."""

_LEFT_OUT = dict.fromkeys([*MAY_DIFFER, *SEEN_AS_ITEMS])

_encode = msgspec.json.Encoder().encode


def cache_key(secret: bytes, tenant: str, request: CreateResponse, items: Sequence[Item]) -> bytes:
    """Return the digest (HMAC-SHA-256, 32 bytes) of all that shapes an answer (cases/threats.md, row 11).

    `items` is all that the model is to see, the chain's and the request's own. Their ids, which are new for every
    request, do not count; a field that is absent is as one that is null. The order of properties in a schema counts:
    models follow it.
    """
    asked = replace(request, **_LEFT_OUT)
    told = [replace(item, id=None) for item in items]
    return hmac.digest(secret, _encode([tenant, asked, told]), "sha256")
