"""A delta's reasoning, in whatever dress its backend gives it, and what the backend wants to see again.

| field | who | again |
|---|---|---|
| `reasoning_content` | DeepSeek, vLLM, llama.cpp, xAI, Alibaba, Moonshot, Z.ai | the text, under the same name |
| `reasoning` | Groq, OpenRouter, Ollama, Cerebras, vLLM since 0.12 | the text, under the same name |
| `reasoning_details` | OpenRouter, Vercel, MiniMax | the whole list, signatures and encrypted parts included |
| `thinking_blocks` | LiteLLM before Anthropic | the whole list, with each block's signature |
| `content: [{"type": "thinking"}]` | Mistral | the parts |
| `<think>` | local servers without a parser | see `think.py` |
"""

from typing import Any

from antiphon.protocol.chat import Delta

DETAILS = ("reasoning_details", "thinking_blocks")

JOINED = ("text", "summary", "thinking", "data")
"""Fields of a detail that come in pieces."""


class ReasoningState:
    """What a backend wants to see of one stretch of reasoning on the next turn.

    `field` is the name under which its text came, `details` what came beside the text.
    """

    def __init__(self) -> None:
        self.field = ""
        self.details: dict[str, Any] = {}

    def read(self, delta: Delta) -> str:
        """Return the reasoning that a delta carries, and keep what its backend wants back."""
        text = ""
        for name, value in (("reasoning_content", delta.reasoning_content), ("reasoning", delta.reasoning)):
            if value and isinstance(value, str) and not text:
                self.field = self.field or name
                text = value
        for name, details in (
            ("reasoning_details", delta.reasoning_details),
            ("thinking_blocks", delta.thinking_blocks),
        ):
            if isinstance(details, list) and details:
                said = _keep(details, self.details.setdefault(name, []))
                text = text or said
        return text

    def keep_for_call(self, call_id: str, extra_content: Any) -> None:
        """Keep what goes back with a call: Gemini's thought signature."""
        self.details.setdefault("calls", {})[call_id] = {"extra_content": extra_content}

    def sealable(self, text: str) -> dict[str, Any]:
        """Return what `chat.sealed` keeps: `{"reasoning": {field: value, …}, "calls": {call_id: {…}}, …}`."""
        details = dict(self.details)
        reasoning = {name: details.pop(name) for name in DETAILS if name in details}
        if text:
            reasoning[self.field or "reasoning_content"] = text
        return {"reasoning": reasoning, **details}


def thinking_parts(parts: list[Any]) -> tuple[str, str]:
    """Return the reasoning and the text of a content that is a list of parts (Mistral)."""
    reasoning, text = [], []
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


def _keep(details: list[Any], kept: list[dict[str, Any]]) -> str:
    said = []
    for detail in details:
        if not isinstance(detail, dict):
            continue
        said += [value for name in ("text", "summary", "thinking") if isinstance(value := detail.get(name), str)]
        if kept and _continues(kept[-1], detail):
            _merge(kept[-1], detail)
        else:
            kept.append(dict(detail))
    return "".join(said)


def _continues(last: dict[str, Any], detail: dict[str, Any]) -> bool:
    return all(
        last.get(name) == detail.get(name) or (name != "type" and None in (last.get(name), detail.get(name)))
        for name in ("type", "index", "id")
    ) and not (last.get("signature") and detail.get("thinking"))


def _merge(kept: dict[str, Any], detail: dict[str, Any]) -> None:
    for name, value in detail.items():
        if name in JOINED and isinstance(value, str) and isinstance(kept.get(name), str):
            kept[name] += value
        elif value is not None:
            kept[name] = value
