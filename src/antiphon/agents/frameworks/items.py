"""The items of a request as adapters read them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from antiphon.agents.errors import AgentError
from antiphon.protocol.items.messages import InputItem
from antiphon.recording.persistence import encode_json


def as_dictionaries(items: Iterable[InputItem]) -> list[dict[str, Any]]:
    """Return items as the API has them."""
    found: list[dict[str, Any]] = json.loads(encode_json([*items]))
    return found


def text_of_content(content: str | Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a message or of the output of a call.

    Raises `AgentError` (`unsupported_value`) for content other than text.
    """
    return content if isinstance(content, str) else "".join(map(_text_of_part, content))


def _text_of_part(part: Mapping[str, Any]) -> str:
    for name in ("text", "refusal"):
        if name in part:
            return str(part[name])
    raise AgentError(
        f"The agent reads texts, and no content of type {part['type']}.", code="unsupported_value"
    )
