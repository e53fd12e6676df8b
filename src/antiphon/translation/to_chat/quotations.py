"""Whether a request mentions a tag of reasoning: an answer that begins with it can be what the client requested."""

import msgspec


def mentions(body: bytes, tag: str) -> bool:
    """Whether a message of a request, except the model's own, has this tag in it. `body` is the request as JSON."""
    if tag.encode() not in body:
        return False
    messages = msgspec.json.decode(body).get("messages") or ()
    return any(
        message.get("role") != "assistant" and tag.encode() in msgspec.json.encode(message.get("content"))
        for message in messages
    )
