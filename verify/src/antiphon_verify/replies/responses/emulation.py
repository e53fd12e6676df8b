"""What a server supplies that a model lacks."""

from typing import Any

from antiphon_verify.replies import Reply, says
from antiphon_verify.replies.bodies import CALL, MESSAGE, RESPONSE


def listing(model: str) -> Reply:
    """Return a list with this model."""
    return says({"object": "list", "data": [{"id": model, "object": "model", "created": 1, "owned_by": "antiphon"}]})


def gave(item: dict[str, Any]) -> Reply:
    """Return a response with this item."""
    return says(RESPONSE | {"output": [item]})


def text(written: str) -> Reply:
    """Return a response with this text."""
    return gave(MESSAGE | {"content": [{**MESSAGE["content"][0], "text": written}]})


WRITTEN = text('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>')
BROKEN = gave(CALL | {"arguments": '{"city": "Paris"'})
TEXTS, TOOLLESS, BREAKING, GRAMMAR = map(
    listing, ("demo-text-calls", "demo-no-tools", "demo-broken-json", "demo-small-grammar")
)
