"""Whether a request mentions a tag of reasoning: an answer that begins with it can be what the
client requested.
"""

import msgspec

MUCH = 512 * 1024
"""Bytes of a request from which it is not decoded once more: that would take the event loop too
long.
"""


def mentions(body: bytes, tag: str) -> bool:
    """Whether a message of a request, except the model's own, has this tag in it.

    `body` is the request as JSON.

    In a large request the model's own messages count as well: then the tag stays in the text, and
    nothing is lost.
    """
    if tag.encode() not in body:
        return False
    if len(body) > MUCH:
        return True
    messages = msgspec.json.decode(body).get("messages") or ()
    return any(
        message.get("role") != "assistant"
        and tag.encode() in msgspec.json.encode(message.get("content"))
        for message in messages
    )
