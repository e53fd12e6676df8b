"""What makes two requests equal for the cache: everything except how their answer is delivered."""

import hmac
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from antiphon.protocol.items.content import InputText, Item
from antiphon.protocol.items.messages import Message
from antiphon.protocol.requests import CreateResponse

MAY_DIFFER: Mapping[str, str] = {
    "stream": "a cached answer can be delivered either way",
    "stream_options": "it concerns only the stream",
    "background": "the model does not depend on the user",
    "background_options": "it decides only when and where the model is called",
    "antiphon": "it configures the cache",
}
"""Fields in which two requests can differ and still have the same answer, and why."""

SEEN_AS_ITEMS = frozenset({"input", "previous_response_id", "conversation"})
"""Fields that are represented by their result: the items that the model sees."""

_LEFT_OUT = dict.fromkeys([*MAY_DIFFER, *SEEN_AS_ITEMS])

_encode = msgspec.json.Encoder().encode


def parted(items: Sequence[Item]) -> tuple[str, Sequence[Item]]:
    """Return the text of the last user message, empty without one, and the other items."""
    stated = [
        place
        for place, item in enumerate(items)
        if isinstance(item, Message) and item.role == "user"
    ]
    message = items[stated[-1]] if stated else None
    if not isinstance(message, Message) or isinstance(message.content, str):
        return "", items
    text = "\n".join(part.text for part in message.content if isinstance(part, InputText))
    content = [
        replace(part, text="") if isinstance(part, InputText) else part for part in message.content
    ]
    return text.strip(), [
        *items[: stated[-1]],
        replace(message, content=content),
        *items[stated[-1] + 1 :],
    ]


def cache_key(
    secret: bytes, tenant: str, request: CreateResponse, items: Sequence[Item], *purpose: str
) -> bytes:
    """Return the digest (HMAC-SHA-256, 32 bytes) of all that determines an answer.

    `items` is all that the model sees, the chain's and the request's own. Their ids, which are new
    for every request, do not count; an absent field equals a null one. The order of properties in a
    schema counts: models follow it. `purpose` separates keys from those of answers.
    """
    requested = replace(request, **_LEFT_OUT)
    reported = [replace(item, id=None) for item in items]
    return hmac.digest(secret, _encode([tenant, requested, reported, *purpose]), "sha256")


def digest(secret: bytes, tenant: str, *parts: str) -> bytes:
    """Return the digest (HMAC-SHA-256, 32 bytes) of texts; it never equals the key of an answer."""
    created = hmac.new(secret, b"parts", "sha256")
    for part in (tenant, *parts):
        encoded = part.encode("utf-8", "surrogatepass")
        created.update(len(encoded).to_bytes(8, "big") + encoded)
    return created.digest()
