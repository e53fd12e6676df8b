"""A dialect's rule for the list of messages as a whole."""

from typing import Any


def alternating(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages without two consecutive ones of the same role: their contents are
    joined.
    """
    joined: list[dict[str, Any]] = []
    for message in messages:
        before = joined[-1] if joined else None
        if before and before["role"] == message["role"] and _can_join(before, message):
            joined[-1] = {**before, "content": _together(before["content"], message["content"])}
        else:
            joined.append(message)
    return joined


def _can_join(before: dict[str, Any], message: dict[str, Any]) -> bool:
    """Return whether both have only role and content: a call or a refusal belongs to its own
    message.
    """
    return before.keys() == message.keys() == {"role", "content"}


def _together(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return _as_parts(first) + _as_parts(second)


def _as_parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]
