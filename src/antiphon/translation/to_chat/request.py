"""A Responses request becomes the body of a Chat Completions request.

`PARAMETERS` says for each optional Chat parameter which field of the request it comes from and what happens where
the backend does not take it: a hint is left out, what the client would miss is refused. Defaults are never sent.
`store` and `metadata` are never sent either: they are about our response, not about the backend's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.errors import ClientError
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.translation.dialects import EFFORTS, Dialect
from antiphon.translation.to_chat.configuration import configured
from antiphon.translation.to_chat.formats import instruction, response_format
from antiphon.translation.to_chat.messages import to_messages
from antiphon.translation.to_chat.sealed import Unseal, nothing
from antiphon.translation.tool_mapping.offering import Toolbox, toolbox_of
from antiphon.translation.tool_mapping.toolbox import chat_tools, tool_choice

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One optional Chat parameter."""

    chat: str
    """Its name in the Chat request."""
    name: str
    """The request's field, as errors name it."""
    value: Callable[[CreateResponse], Any]
    """Its value, None where the client did not set it."""
    needed: bool = False
    """Whether the client would miss it: then it is refused where the backend does not take it, else left out."""


def to_chat(
    request: CreateResponse,
    items: Sequence[InputItem],
    dialect: Dialect,
    dropped: frozenset[str] = frozenset(),
    *,
    toolbox: Toolbox | None = None,
    unseal: Unseal = nothing,
    history: int = 0,
) -> Body:
    """Return the body of the Chat request that asks for what `request` asks, about the conversation `items`.

    `items` is the whole conversation, of which the first `history` came before this request's input. `dropped` holds
    what this backend's errors taught before (`learn.refused_parameter`). `toolbox` is what `toolbox_of` makes of the
    same, where the caller has it; `unseal` opens the state that a client keeps for us. The body streams where the
    request does.

    Raises `ClientError` naming the request's field where the backend cannot do what is asked.
    """
    dialect = dialect.taught(dropped)
    request = configured(request, items)
    toolbox = toolbox or toolbox_of(request, items, dialect)
    context = request.reasoning.context if request.reasoning else None
    instructions = "\n\n".join(filter(None, (request.instructions, instruction(request.text, dialect))))
    body: Body = {
        "model": request.model,
        "messages": to_messages(items, instructions, dialect, context, toolbox=toolbox, unseal=unseal, history=history),
    }
    body |= _tools(request, toolbox, dialect)
    body |= _optional(request, dialect)
    body |= _output_cap(request, dialect)
    body |= _effort(request, dialect)
    return body | _streaming(request, dialect)


def _optional(request: CreateResponse, dialect: Dialect) -> Body:
    body: Body = {}
    for parameter in PARAMETERS:
        value = parameter.value(request)
        if value is None:
            continue
        if parameter.chat in dialect.accepts:
            body[parameter.chat] = value
        elif parameter.needed:
            raise unsupported(parameter.name)
    formatted = response_format(request.text, dialect)
    return body | ({"response_format": formatted} if formatted else {})


def _tools(request: CreateResponse, toolbox: Toolbox, dialect: Dialect) -> Body:
    if toolbox.offers and "tools" not in dialect.accepts:
        raise unsupported("tools")
    offers, choice = tool_choice(toolbox, request.tool_choice, dialect)
    if not offers:
        return {}
    body: Body = {"tools": chat_tools(offers)}
    if choice is not None:
        body["tool_choice"] = choice
    if request.parallel_tool_calls is not None and "parallel_tool_calls" in dialect.accepts:
        body["parallel_tool_calls"] = request.parallel_tool_calls
    return body


def _output_cap(request: CreateResponse, dialect: Dialect) -> Body:
    if request.max_output_tokens is None:
        return {}
    if not dialect.max_tokens:
        raise unsupported("max_output_tokens")
    return {dialect.max_tokens: request.max_output_tokens}


def output_cap(body: Body) -> int | None:
    """Return how many tokens a Chat request allows, None where it does not say."""
    cap: int | None = body.get("max_completion_tokens", body.get("max_tokens"))
    return cap


def _effort(request: CreateResponse, dialect: Dialect) -> Body:
    effort = request.reasoning.effort if request.reasoning else None
    if effort is None or not dialect.effort:
        return {}
    return _EFFORT_FORMS[dialect.effort](_nearest(effort, dialect.efforts))


def _nearest(effort: str, efforts: frozenset[str]) -> str:
    """Return the effort among `efforts` that is nearest to `effort`, the lesser one of two."""
    place = EFFORTS.index(effort)
    return min(sorted(efforts, key=EFFORTS.index), key=lambda each: abs(EFFORTS.index(each) - place))


def _thinking(effort: str) -> Body:
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled"}, "reasoning_effort": effort}


_EFFORT_FORMS: dict[str, Callable[[str], Body]] = {
    "reasoning_effort": lambda effort: {"reasoning_effort": effort},
    "reasoning": lambda effort: {"reasoning": {"effort": effort}},
    "thinking": _thinking,
    "enable_thinking": lambda effort: {"enable_thinking": effort != "none"},
}


def _streaming(request: CreateResponse, dialect: Dialect) -> Body:
    if not request.stream:
        return {}
    usage = {"stream_options": {"include_usage": True}} if "stream_options" in dialect.accepts else {}
    return {"stream": True} | usage


def _wants_logprobs(request: CreateResponse) -> bool | None:
    return ("message.output_text.logprobs" in (request.include or []) or bool(request.top_logprobs)) or None


def _service_tier(request: CreateResponse) -> str | None:
    return _TIERS.get(request.service_tier or "", request.service_tier)


_TIERS = {"fast": "priority", "ultrafast": "priority"}
"""`fast` is echoed as `priority` (specification section 2); Chat has no `ultrafast`."""

PARAMETERS = (
    Parameter("temperature", "temperature", lambda request: request.temperature),
    Parameter("top_p", "top_p", lambda request: request.top_p),
    Parameter("presence_penalty", "presence_penalty", lambda request: request.presence_penalty),
    Parameter("frequency_penalty", "frequency_penalty", lambda request: request.frequency_penalty),
    Parameter("top_logprobs", "top_logprobs", lambda request: request.top_logprobs or None, needed=True),
    Parameter("logprobs", "include", _wants_logprobs, needed=True),
    Parameter("verbosity", "text.verbosity", lambda request: request.text.verbosity if request.text else None),
    Parameter("user", "user", lambda request: request.user),
    Parameter("safety_identifier", "safety_identifier", lambda request: request.safety_identifier),
    Parameter("prompt_cache_key", "prompt_cache_key", lambda request: request.prompt_cache_key),
    Parameter("prompt_cache_options", "prompt_cache_options", lambda request: request.prompt_cache_options),
    Parameter(
        "prompt_cache_retention",
        "prompt_cache_retention",
        lambda request: (request.prompt_cache_retention or "").replace("in-memory", "in_memory") or None,
    ),
    Parameter("service_tier", "service_tier", _service_tier),
)
"""Every optional parameter that is a value and nothing more."""

CHAT_PARAMETERS: Mapping[str, str] = {
    "model": "model",
    "messages": "input",
    "tools": "tools",
    "tool_choice": "tool_choice",
    "parallel_tool_calls": "parallel_tool_calls",
    "response_format": "text.format",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "reasoning": "reasoning.effort",
    "thinking": "reasoning.effort",
    "enable_thinking": "reasoning.effort",
    "stream": "stream",
    "stream_options": "stream",
} | {parameter.chat: parameter.name for parameter in PARAMETERS}
"""Chat parameter -> the request's field: what a backend complains of, as `param` names it to the client."""


def responses_parameter(chat: str) -> str | None:
    """Return the request's field that a backend means by `chat`, a Chat parameter or a path into one."""
    name = re.split(r"[.\[]", chat.removeprefix("body."), maxsplit=1)[0]
    return CHAT_PARAMETERS.get(name)


def unsupported(name: str) -> ClientError:
    """Return the refusal of a field that the backend cannot honour (specification section 13)."""
    return ClientError(
        f"Unsupported parameter: '{name}' is not supported with this model.", code="unsupported_parameter", param=name
    )
