"""An answer to a probe, as its judge reads it: tolerant of every field that is absent or of another type."""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from antiphon.translation.dialects.profile import ThinkingStyle
from antiphon.translation.from_chat.text_calls.formats import format_of

REFUSALS = frozenset({400, 415, 422, 500, 501})
"""Statuses by which backends say that they cannot do something; other failures say nothing about the model."""

REASONING = ("reasoning_content", "reasoning", "thinking")
"""Fields in which thinking comes."""

_OPENING, _CLOSING = ("<think>", "<thinking>"), ("</think>", "</thinking>")

TOOL = "get_weather"
"""The tool that the model is to call."""


class Answer(Struct, frozen=True):
    """A backend's answer to one probe; the chunks of a stream are joined to one completion."""

    status: int
    body: Any = None
    """A JSON value; None where there is none."""

    @property
    def is_good(self) -> bool:
        """Whether it is a completion."""
        return self.status == 200 and bool(self._choice)

    @property
    def is_refusal(self) -> bool:
        """Whether the backend cannot do what the probe requests."""
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
        """Whether the model had more to say than it was allowed."""
        return self._choice.get("finish_reason") == "length"

    @property
    def content(self) -> str:
        """The text as it came."""
        content = self._message.get("content")
        if isinstance(content, list):  # Mistral: parts of thinking and of text
            return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
        return content if isinstance(content, str) else ""

    @property
    def said(self) -> str:
        """The text behind the thinking."""
        parts = [self.content.rpartition(tag)[2] for tag in _CLOSING]
        return min(parts, key=len).strip()

    @property
    def thinking(self) -> ThinkingStyle | None:
        """Where the thinking came; None where the answer was cut before that could be seen."""
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
        functions = [one.get("function") for one in calls if isinstance(one, dict)] if isinstance(calls, list) else []
        return [(str(one.get("name")), _value(one.get("arguments"))) for one in functions if isinstance(one, dict)]

    @property
    def text_call(self) -> str:
        """The format in which a call stands in the text; empty where none does."""
        return format_of(self.said, TOOL)

    @property
    def json(self) -> Any:
        """The text as JSON, with or without a code fence around it; None where it is not."""
        text = self.said.removeprefix("```json").removeprefix("```").removesuffix("```")
        return _value(text)

    @property
    def prompt_tokens(self) -> int:
        """The tokens of the prompt as reported; 0 where they are not."""
        usage = self.body.get("usage") if isinstance(self.body, dict) else None
        count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        return count if isinstance(count, int) else 0

    @property
    def answer_tokens(self) -> int:
        """The tokens of the answer as reported; 0 where they are not."""
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
