"""What a Chat Completions request says: its texts, and its count of words."""

from typing import Any

Message = dict[str, Any]


def text_of(content: Any) -> str:
    """Return the text of a message's content; a part that is none is named, such as `[image_url]`."""
    if isinstance(content, list):
        return " ".join(_part_text(part) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def user_text(messages: list[Message]) -> str:
    """Return the text of the last user message; empty where there is none."""
    return next((text_of(one.get("content")) for one in reversed(messages) if one.get("role") == "user"), "")


def tool_outputs(messages: list[Message]) -> list[str]:
    """Return the outputs with which the messages end."""
    outputs: list[str] = []
    for message in reversed(messages):
        if message.get("role") != "tool":
            break
        outputs.append(text_of(message.get("content")))
    return outputs[::-1]


def words_of(messages: list[Message]) -> int:
    """Return the number of words in the texts of all messages."""
    return sum(len(text_of(message.get("content")).split()) for message in messages)


def _part_text(part: dict[str, Any]) -> str:
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else f"[{part.get('type')}]"
