"""A dialect's rules for the list of messages as a whole."""

from typing import Any

from antiphon.translation.dialects.dialect import Dialect

_SYSTEM_ROLES = frozenset({"system", "developer"})


def shaped(messages: list[dict[str, Any]], dialect: Dialect) -> list[dict[str, Any]]:
    """Return `messages` in the form that the dialect accepts, in the same order."""
    if dialect.system_must_be_first:
        messages = _system_first(messages)
    if dialect.alternating:
        messages = _alternating(messages)
    return messages


def _system_first(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join the system messages at the start; a later one becomes a marked user message in its position."""
    leading = next((i for i, message in enumerate(messages) if message["role"] not in _SYSTEM_ROLES), len(messages))
    first = _join(messages[:leading]) if leading else []
    return [*first, *(_marked(message) for message in messages[leading:])]


def _join(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**messages[0], "content": "\n\n".join(message["content"] for message in messages)}]


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] not in _SYSTEM_ROLES:
        return message
    return {"role": "user", "content": f"[System message]\n{message['content']}"}


def _alternating(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    joined: list[dict[str, Any]] = []
    for message in messages:
        before = joined[-1] if joined else None
        if before and before["role"] == message["role"] and _can_join(before, message):
            joined[-1] = {**before, "content": _together(before["content"], message["content"])}
        else:
            joined.append(message)
    return joined


def _can_join(before: dict[str, Any], message: dict[str, Any]) -> bool:
    """Return whether both have only role and content: a call or a refusal belongs to its own message."""
    return before.keys() == message.keys() == {"role", "content"}


def _together(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return _as_parts(first) + _as_parts(second)


def _as_parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]
