"""Translates a Chat Completions request into a request of the Messages API.

| Chat | Messages |
|---|---|
| `max_tokens`, `max_completion_tokens` | `max_tokens`, which is required |
| `stop`, `user` or `safety_identifier` | `stop_sequences`, `metadata.user_id` |
| `tools`, `tool_choice`, `parallel_tool_calls` | `tools`, `tool_choice` with `disable_parallel_tool_use` |
| `response_format` | `output_config.format` |
| `reasoning_effort` | `thinking`, and `output_config.effort` if it is adaptive |
| `thinking_blocks` of an answer | its blocks of thinking, in their places |
| `prompt_cache_retention: "24h"` | `ttl: "1h"` of the markers |
"""  # noqa: E501 - a table, a diagram or an example

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.json import encode

from antiphon.errors import ClientError
from antiphon.translation.dialects.dialect import EFFORTS
from antiphon.translation.to_chat_completions.request import output_cap
from antiphon.translation.to_chat_completions.schemas import projected
from antiphon.translation.to_messages_api.caching import mark
from antiphon.translation.to_messages_api.conversation import SentConversation
from antiphon.translation.to_messages_api.form import MessagesForm

Body = dict[str, Any]

BUDGETS: Mapping[str, int] = {
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 24_576,
    "max": 31_999,
}
"""Tokens of thinking for each effort, for models that accept a budget; at least 1,024."""

LEVELS = ["low", "medium", "high", "xhigh", "max"]
"""The efforts of the API, lowest first."""

ANSWER = 1_024
"""Tokens of the limit that are left for the answer behind the thinking."""

_CHOICES: Mapping[str, str] = {"auto": "auto", "required": "any", "none": "none"}

_TIERS: Mapping[str, str] = {"auto": "auto", "default": "standard_only"}
"""The tiers that the API has; others are omitted."""

_WITH_THINKING = ("temperature", "top_k", "top_p")
"""Parameters that are rejected while a model thinks."""

JSON_WORDS = "Answer with one JSON object, and nothing else."
"""The instruction for the format `json_object`, which the API does not have."""

UNFIT = frozenset({"bounds", "large", "logic", "names", "numbers"})
"""Groups of keywords that the API rejects in the schema of an answer; see
`to_chat_completions.schemas`.
"""

_UNCALLABLE = {"type": "object", "properties": {}}
"""The schema of a tool that was called before and is not offered any more."""


COUNTED = ("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config")
"""The parameters of a request that only counts its tokens."""


def count_request(chat: Mapping[str, Any], form: MessagesForm) -> Body:
    """Return the request that counts the tokens of a Chat request. Raises as `messages_request`."""
    body = messages_request(chat, form)
    return {name: body[name] for name in COUNTED if name in body}


def messages_request(chat: Mapping[str, Any], form: MessagesForm) -> Body:
    """Return the request that is equivalent to a Chat request.

    Raises `ClientError` (400) for content that the API does not have, and for `n` above 1.
    """
    if chat.get("n") not in (None, 1):
        raise ClientError(
            "This model's backend returns one answer: 'n' must be 1.",
            code="unsupported_value",
            param="n",
        )
    conversation = SentConversation(chat.get("messages") or (), with_thinking=form.with_thinking)
    answer_format = _format(chat.get("response_format"), form)
    if isinstance(answer_format, str):
        conversation.system.append({"type": "text", "text": answer_format})
    body: Body = {
        "model": chat.get("model"),
        "max_tokens": output_cap(chat) or form.limit,
        "messages": conversation.messages,
        "stream": chat.get("stream") is True,
    }
    if conversation.system:
        body["system"] = conversation.system
    body |= _tools(chat, conversation.called) | _parameters(chat)
    body |= _thinking(chat, form, body["max_tokens"], can_think=conversation.thinks)
    if isinstance(answer_format, dict):
        body["output_config"] = {**body.get("output_config", {}), "format": answer_format}
    if "thinking" in body and body["thinking"].get("type") != "disabled":
        for name in _WITH_THINKING:
            body.pop(name, None)
    if "cache_control" not in form.omitted:
        mark(body, chat.get("prompt_cache_retention"))
    return body


def _parameters(chat: Mapping[str, Any]) -> Body:
    """Return the parameters that are plain values."""
    body = {
        name: chat[name]
        for name in ("temperature", "top_p", "top_k", "cache_control")
        if chat.get(name) is not None
    }
    if "temperature" in body:
        body["temperature"] = min(body["temperature"], 1)
    if stop := chat.get("stop"):
        stops = [stop] if isinstance(stop, str) else stop
        body["stop_sequences"] = [one for one in stops if isinstance(one, str) and one.strip()]
    if user := chat.get("safety_identifier") or chat.get("user"):
        body["metadata"] = {"user_id": user}
    if (tier := _TIERS.get(str(chat.get("service_tier")))) is not None:
        body["service_tier"] = tier
    return body


def _tools(chat: Mapping[str, Any], called: Sequence[str]) -> Body:
    """Return the tools and the choice among them.

    A conversation with calls must have tools, so those that were called stand for absent ones.
    """
    tools = [_tool(tool) for tool in chat.get("tools") or () if isinstance(tool, dict)]
    if not tools:
        offered = [{"name": name, "input_schema": _UNCALLABLE} for name in called]
        return {"tools": offered, "tool_choice": {"type": "none"}} if offered else {}
    choice = _choice(chat.get("tool_choice"))
    if chat.get("parallel_tool_calls") is False:
        choice = choice or {"type": "auto"}
        if choice["type"] != "none":
            choice["disable_parallel_tool_use"] = True
    return {"tools": tools, "tool_choice": choice} if choice else {"tools": tools}


def _tool(tool: Mapping[str, Any]) -> Body:
    """Return a function; a tool of another type is the API's own, and stays as it is."""
    function = tool.get("function")
    if not isinstance(function, dict):
        return dict(tool)
    own: Body = {"name": function.get("name")}
    if description := function.get("description"):
        own["description"] = description
    schema = function.get("parameters") or {}
    own["input_schema"] = {"type": "object", **schema}
    for name, value in (("strict", function.get("strict")), *_marker(tool)):
        if value:
            own[name] = value
    return own


def _marker(tool: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [("cache_control", tool.get("cache_control"))]


def _choice(choice: Any) -> Body | None:
    if isinstance(choice, str):
        return {"type": _CHOICES[choice]} if choice in _CHOICES else None
    function = choice.get("function") if isinstance(choice, dict) else None
    return {"type": "tool", "name": function.get("name")} if isinstance(function, dict) else None


def _format(stated: Any, form: MessagesForm) -> Body | str | None:
    """Return the format of the answer; an instruction for one that the API does not accept."""
    if not isinstance(stated, dict):
        return None
    described = stated.get("json_schema")
    schema = described.get("schema") if isinstance(described, dict) else None
    if stated.get("type") == "json_object" or isinstance(schema, bool):
        return JSON_WORDS
    if not isinstance(schema, dict):
        return None
    if _is_open(schema) or not form.with_schema:
        return f"{JSON_WORDS} It matches this JSON Schema:\n{encode(schema).decode()}"
    return {"type": "json_schema", "schema": _closed(projected(schema, UNFIT))}


def _is_open(schema: Any) -> bool:
    """Whether an object can have members that the schema does not name."""
    if isinstance(schema, list):
        return any(map(_is_open, schema))
    if not isinstance(schema, dict):
        return False
    return schema.get("additionalProperties") not in (None, False) or any(
        map(_is_open, schema.values())
    )


def _closed(schema: Any) -> Any:
    """Return a schema in which each object excludes other members, as the API requires."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(value) for name, value in schema.items()}
    kind = closed.get("type")
    is_object = kind == "object" or (isinstance(kind, list) and "object" in kind)
    return {**closed, "additionalProperties": False} if is_object else closed


def is_described(thinking: Any) -> bool:
    """Whether a client describes the thinking as the API does: other APIs only switch it on."""
    return isinstance(thinking, dict) and thinking != {"type": "enabled"}


def _thinking(
    chat: Mapping[str, Any], form: MessagesForm, max_tokens: int, *, can_think: bool
) -> Body:
    """Return how the model thinks: as the client says, else for the effort; nothing without one."""
    own = chat.get("thinking")
    if is_described(own):
        return {"thinking": own}
    effort = str(chat.get("reasoning_effort") or ("medium" if own else None))
    if effort == "none":
        return {"thinking": {"type": "disabled"}} if form.disables else {}
    if effort not in BUDGETS:
        return {}
    if form.thinking == "adaptive":
        thinking = {"type": "adaptive"}
        if "display" not in form.omitted:
            thinking["display"] = "summarized"
        return {"thinking": thinking, "output_config": {"effort": _level(effort, form)}}
    budget = min(_budget(chat) or BUDGETS[effort], max_tokens - ANSWER)
    if budget < BUDGETS["minimal"] or not can_think:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _budget(chat: Mapping[str, Any]) -> int | None:
    """Return the tokens of thinking that the client requested itself."""
    budget = chat.get("thinking_budget")
    return budget if isinstance(budget, int) and budget >= BUDGETS["minimal"] else None


def _level(effort: str, form: MessagesForm) -> str:
    """Return the highest effort up to this one that the model accepts, else its lowest."""
    levels = [level for level in LEVELS if level in form.efforts or not form.efforts] or LEVELS
    lower = [level for level in levels if EFFORTS.index(level) <= EFFORTS.index(effort)]
    return (lower or levels[:1])[-1]
