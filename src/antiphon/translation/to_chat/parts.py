"""Content parts of messages and tool outputs, as Chat Completions writes them."""

from collections.abc import Iterable, Sequence
from typing import Any

from antiphon.protocol.items.content import (
    InputFile,
    InputImage,
    InputText,
    OutputText,
    Part,
    Refusal,
)
from antiphon.protocol.validation import refusals
from antiphon.translation.dialects import Dialect
from antiphon.translation.to_chat.files import file_part

ChatPart = dict[str, Any]

_DETAIL = {"low": "low", "high": "high", "original": "high"}
"""Chat has no `original`; `auto` is what an absent detail means."""


def chat_parts(parts: Sequence[Part], dialect: Dialect, param: str) -> list[ChatPart]:
    """Return the Chat parts of `parts`; `param` is the path of the list in the request, for errors.

    Raises `ClientError` for a file or an image that the backend has no way to take.
    """
    written: list[ChatPart] = []
    for index, part in enumerate(parts):
        if isinstance(part, InputText | OutputText):
            written.append({"type": "text", "text": part.text})
        else:
            written.append(_chat_part(part, dialect, f"{param}[{index}]"))
    return written


def _chat_part(part: Part, dialect: Dialect, param: str) -> ChatPart:
    match part:
        case Refusal(refusal=text):
            return {"type": "text", "text": text}
        case InputImage():
            return _image_part(part, param)
        case InputFile():
            return file_part(part, dialect, param)
    raise refusals.invalid(param, "this content has no place here.")


def _image_part(part: InputImage, param: str) -> ChatPart:
    if not part.image_url:
        raise refusals.not_served(f"{param}.file_id") if part.file_id else refusals.missing(f"{param}.image_url")
    image: dict[str, str] = {"url": part.image_url}
    if part.detail in _DETAIL:
        image["detail"] = _DETAIL[part.detail]
    return {"type": "image_url", "image_url": image}


def content_of(parts: list[ChatPart], dialect: Dialect) -> str | list[ChatPart]:
    """Return a message's `content`: a string where one text says it all, a list of parts otherwise."""
    if len(parts) == 1 and parts[0]["type"] == "text":
        text: str = parts[0]["text"]
        return text
    if any(part["type"] != "text" for part in parts) or (len(parts) > 1 and dialect.text_parts):
        return parts
    return "\n\n".join(text_of(parts))


def text_of(parts: Iterable[ChatPart]) -> list[str]:
    """Return the texts among `parts`."""
    return [part["text"] for part in parts if part["type"] == "text"]
