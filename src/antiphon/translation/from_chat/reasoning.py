"""A delta's reasoning, in whatever form its backend sends it, and the data that the backend expects
back.

| field | who | again |
|---|---|---|
| `reasoning_content` | DeepSeek, vLLM, llama.cpp, xAI, Alibaba, Moonshot, Z.ai | the text, under the same name |
| `reasoning` | Groq, OpenRouter, Ollama, Cerebras, vLLM since 0.12 | the text, under the same name |
| `reasoning_details` | OpenRouter, Vercel, MiniMax | the whole list, signatures and encrypted parts included |
| `thinking_blocks` | LiteLLM before Anthropic | the whole list, with each block's signature |
| `content: [{"type": "thinking"}]` | Mistral | the parts |
| `extra_content` | Gemini | its thought signature, on the message or on the call that had it |
| `provider_specific_fields`, a call's long `id` | LiteLLM before Gemini | the signature, on the call that had it |
| `<think>` | local servers without a parser | see `text_filters.py` |
"""  # noqa: E501 - a table, a diagram or an example

from collections.abc import Mapping
from typing import Any

from antiphon.protocol.chat import Delta

GROWING = ("text", "summary", "thinking")
"""Fields of a detail that arrive in pieces."""

MAX_LEVELS = 16
"""Nesting levels of data stored for a backend: sealing recurses, and signatures are flat."""


class ReasoningState:
    """The data of one stretch of reasoning that a backend expects on the next turn.

    `field` is the name under which its text arrived. It is true if there is data in addition to the
    text.
    """

    def __init__(self) -> None:
        self.field = ""
        self._details: dict[str, list[_Detail]] = {}
        self._extra_content: Any = None
        self._calls: dict[str, Any] = {}

    def __bool__(self) -> bool:
        return bool(self._details or self._extra_content or self._calls)

    def read(self, delta: Delta) -> str:
        """Return the reasoning of a delta, and store what its backend expects back."""
        text = ""
        for name, value in (
            ("reasoning_content", delta.reasoning_content),
            ("reasoning", delta.reasoning),
        ):
            if value and isinstance(value, str) and not text:
                self.field = self.field or name
                text = value
        for name, details in (
            ("reasoning_details", delta.reasoning_details),
            ("thinking_blocks", delta.thinking_blocks),
        ):
            if details and isinstance(details, list):
                stated = self._save(
                    name,
                    [
                        detail
                        for detail in details
                        if isinstance(detail, dict) and is_shallow(detail)
                    ],
                )
                text = text or stated
        return text

    def save_extra_content(self, extra_content: Any) -> None:
        """Store what goes back with the message, if it is a signature and not just a mark."""
        values = (
            extra_content.values()
            if isinstance(extra_content, dict) and is_shallow(extra_content)
            else ()
        )
        if any(isinstance(value, dict) and value.get("thought_signature") for value in values):
            self._extra_content = extra_content

    def save_for_call(self, call_id: str, fields: Mapping[str, Any]) -> None:
        """Store fields that go back with a call; each must be shallow."""
        self._calls.setdefault(call_id, {}).update(fields)

    def sealable(self, text: str) -> dict[str, Any]:
        """Return what `chat.sealed` stores: `{"reasoning": {field: value, …}, "calls": {call_id:
        {…}}}`.
        """
        reasoning: dict[str, Any] = {
            name: [detail.whole() for detail in details] for name, details in self._details.items()
        }
        if self._extra_content:
            reasoning["extra_content"] = self._extra_content
        if text:
            reasoning[self.field or "reasoning_content"] = text
        return (
            {"reasoning": reasoning, "calls": self._calls}
            if self._calls
            else {"reasoning": reasoning}
        )

    def _save(self, name: str, details: list[dict[str, Any]]) -> str:
        stored = self._details.setdefault(name, []) if details else []
        for detail in details:
            if stored and stored[-1].goes_on_with(detail):
                stored[-1].add(detail)
            else:
                stored.append(_Detail(detail))
        return "".join(
            value
            for detail in details
            for field in GROWING
            if isinstance(value := detail.get(field), str)
        )


class _Detail:
    """One entry of a list of details, growing. Its pieces are joined once, at the end."""

    def __init__(self, detail: dict[str, Any]) -> None:
        self._fields: dict[str, Any] = dict.fromkeys(detail)
        self._pieces: dict[str, list[str]] = {}
        self.add(detail)

    def goes_on_with(self, detail: dict[str, Any]) -> bool:
        """Whether `detail` belongs to the same entry.

        A signature ends one, and encrypted data is always complete.
        """
        if (
            self._fields.get("data")
            or detail.get("data")
            or self._fields.get("type") != detail.get("type")
        ):
            return False
        if self._fields.get("signature") and any(detail.get(name) for name in GROWING):
            return False
        places = [(self._fields.get(name), detail.get(name)) for name in ("index", "id")]
        return all(mine == its or None in (mine, its) for mine, its in places)

    def add(self, detail: dict[str, Any]) -> None:
        for name, value in detail.items():
            if name in GROWING and isinstance(value, str):
                self._pieces.setdefault(name, []).append(value)
            elif value is not None:
                self._fields[name] = value

    def whole(self) -> dict[str, Any]:
        return self._fields | {name: "".join(pieces) for name, pieces in self._pieces.items()}


def thinking_parts(parts: list[Any]) -> tuple[str, str]:
    """Return the reasoning and the text of a content that is a list of parts (Mistral)."""
    reasoning = []
    text = []
    for part in parts:
        if not isinstance(part, dict):
            continue
        if part.get("type") == "thinking":
            reasoning.append(_text_of(part.get("thinking")))
        else:
            text.append(_text_of(part.get("text")))
    return "".join(reasoning), "".join(text)


def _text_of(value: Any) -> str:
    if isinstance(value, list):
        return "".join(_text_of(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def is_shallow(value: Any, levels: int = MAX_LEVELS) -> bool:
    """Return whether data of a backend is flat enough to be stored."""
    if not isinstance(value, dict | list):
        return True
    members = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(is_shallow(member, levels - 1) for member in members)
