"""Responses in which the server supplies what the model lacks."""

from typing import Any

from antiphon_verify.replies import Reply, states
from antiphon_verify.replies.bodies import CALL, MESSAGE, RESPONSE


def page(model: str) -> Reply:
    """Return a list with this model."""
    return states(
        {
            "object": "list",
            "data": [{"id": model, "object": "model", "created": 1, "owned_by": "antiphon"}],
        }
    )


def with_item(item: dict[str, Any]) -> Reply:
    """Return a response with this item."""
    return states(RESPONSE | {"output": [item]})


def with_text(written: str) -> Reply:
    """Return a response with this with_text."""
    return with_item(MESSAGE | {"content": [{**MESSAGE["content"][0], "text": written}]})


WRITTEN = with_text(
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
)
BROKEN = with_item(CALL | {"arguments": '{"city": "Paris"'})
TEXTS, TOOLLESS, BREAKING, GRAMMAR = map(
    page, ("demo-text-calls", "demo-no-tools", "demo-broken-json", "demo-small-grammar")
)
