"""An answer to a probe, as its judge reads it: tolerates every field that is absent or of another
type.
"""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from antiphon.translation.dialects.profile import ThinkingStyle
from antiphon.translation.from_chat.text_calls.formats import format_of

REFUSALS = frozenset({400, 415, 422, 500, 501})
"""Statuses with which backends reject a feature; other failures say nothing about the model."""

REASONING = ("reasoning_content", "reasoning", "thinking")
"""Fields that contain thinking."""

_OPENING = ("<think>", "<thinking>")
_CLOSING = ("</think>", "</thinking>")

TOOL = "get_weather"
"""The tool that the model must call."""


class ProbeAnswer(Struct, frozen=True):
    """A backend's answer to one probe; the chunks of a stream are joined to one completion."""

    status: int
    body: Any = None
    """A JSON value; None without one."""

    @property
    def is_good(self) -> bool:
        """Whether it is a completion."""
        return self.status == 200 and bool(self._choice)

    @property
    def is_refusal(self) -> bool:
        """Whether the backend does not support the probed feature."""
        return self.status in REFUSALS

    @property
    def _choice(self) -> Mapping[str, Any]:
        choices = self.body.get("choices") if isinstance(self.body, dict) else None
        first = choices[0] if isinstance(choices, list) and choices else None
        return first if isinstance(first, dict) else {}

    @property
    def _message(self) -> Mapping[str, Any]:
        message = self._choice.get("message")
        return message if isinstance(message, dict) else {}

    @property
    def is_cut(self) -> bool:
        """Whether the answer was cut off by its token limit."""
        return self._choice.get("finish_reason") == "length"

    @property
    def content(self) -> str:
        """The text as received."""
        content = self._message.get("content")
        if isinstance(content, list):  # Mistral: parts of thinking and of text
            return "".join(
                str(part.get("text") or "") for part in content if isinstance(part, dict)
            )
        return content if isinstance(content, str) else ""

    @property
    def stated(self) -> str:
        """The text after the thinking."""
        parts = [self.content.rpartition(tag)[2] for tag in _CLOSING]
        return min(parts, key=len).strip()

    @property
    def thinking(self) -> ThinkingStyle | None:
        """Where the thinking was; None if the answer was cut off before that could be seen."""
        parts = self._message.get("content")
        if any(self._message.get(name) for name in REASONING) or isinstance(parts, list):
            return "field"
        if self.content.lstrip().startswith(_OPENING):
            return "tags"
        if any(tag in self.content for tag in _CLOSING):
            return "preopened"
        return None if self.is_cut else "none"

    @property
    def calls(self) -> list[tuple[str, Any]]:
        """The names and the arguments of the calls; arguments that are not JSON are None."""
        calls = self._message.get("tool_calls")
        functions = (
            [one.get("function") for one in calls if isinstance(one, dict)]
            if isinstance(calls, list)
            else []
        )
        return [
            (str(one.get("name")), _value(one.get("arguments")))
            for one in functions
            if isinstance(one, dict)
        ]

    @property
    def text_call(self) -> str:
        """The format of a call in the text; empty without one."""
        return format_of(self.stated, TOOL)

    @property
    def json(self) -> Any:
        """The text as JSON, with or without a code fence around it; None if it is not JSON."""
        text = self.stated.removeprefix("```json").removeprefix("```").removesuffix("```")
        return _value(text)

    @property
    def prompt_tokens(self) -> int:
        """The reported tokens of the prompt; 0 if not reported."""
        usage = self.body.get("usage") if isinstance(self.body, dict) else None
        count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        return count if isinstance(count, int) else 0

    @property
    def answer_tokens(self) -> int:
        """The reported tokens of the answer; 0 if not reported."""
        usage = self.body.get("usage") if isinstance(self.body, dict) else None
        count = usage.get("completion_tokens") if isinstance(usage, dict) else None
        return count if isinstance(count, int) else 0


def _value(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
