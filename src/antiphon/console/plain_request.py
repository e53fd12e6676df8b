"""Writes a reconstructed request as a client would: the stored items have ids, statuses and fields
without a value that no client sends.
"""

from typing import Any

Item = dict[str, Any]

OWN_FIELDS = frozenset({"id", "status", "type"})
"""Fields that the server adds to the messages of a request."""

ANSWERS = ("_output", "_response")
"""How the types of items end with which a client answers calls. Their ids are the server's."""


def plain_request(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request that creates the same response, in its shortest form."""
    written = request | {"input": _input(request["input"])}
    if "tools" in request:
        written["tools"] = [_with_values(tool) for tool in request["tools"]]
    return written


def _input(items: list[Item]) -> str | list[Item]:
    """Return the items, or the text of a single user message."""
    written = [_item(item) for item in items]
    if len(written) == 1 and written[0].keys() == {"role", "content"}:
        content = written[0]["content"]
        if written[0]["role"] == "user" and isinstance(content, str):
            return content
    return written


def _item(item: Item) -> Item:
    kind = item.get("type", "message")
    if kind == "message":
        message = _with_values(item)
        content = _content(item.get("content"))
        is_sent_back = item.get("role") == "assistant" and not isinstance(content, str)
        fields = item.keys() if is_sent_back else item.keys() - OWN_FIELDS
        return {name: value for name, value in message.items() if name in fields} | {
            "content": content
        }
    if kind.endswith(ANSWERS):
        return {
            name: value
            for name, value in _with_values(item).items()
            if name not in OWN_FIELDS or name == "type"
        }
    return _with_values(item)


def _content(content: Any) -> Any:
    """Return the parts of a message, or its text if it has nothing else."""
    if not isinstance(content, list):
        return content
    parts = [_with_values(part) for part in content]
    if len(parts) == 1 and _is_text(parts[0]):
        return parts[0]["text"]
    return parts


def _is_text(part: Item) -> bool:
    values = {name for name, value in part.items() if value not in ([], None)}
    return values == {"type", "text"} and part["type"] in ("input_text", "output_text")


def _with_values(fields: Item) -> Item:
    return {name: value for name, value in fields.items() if value is not None}
