"""Translates a Responses request into the body of a Chat Completions request.

`PARAMETERS` says for each optional Chat parameter which field of the request it comes from and what
happens if the backend does not accept it: a hint is omitted, a field that the client would miss is
rejected. Defaults are never sent. `store` and `metadata` are never sent either: they concern our
response, not the backend's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as replace_dialect
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.ids import NewId
from antiphon.protocol.items.calls import CustomToolCallOutput
from antiphon.protocol.items.content import InputText, OutputText
from antiphon.protocol.items.messages import (
    ID_PREFIXES,
    Compaction,
    ConfigurationUpdate,
    FunctionCall,
    FunctionCallOutput,
    InputItem,
    ItemList,
    Message,
    SentCompaction,
)
from antiphon.protocol.requests import (
    CreateResponse,
    LocalRequest,
    PromptedRequest,
    ReasoningConfig,
    TextConfig,
)
from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.dialects.dialect import EFFORTS, Dialect
from antiphon.translation.dialects.profile import EffortForm
from antiphon.translation.files import ReadFiles
from antiphon.translation.to_chat_completions.adjustments import CHOICE, EFFORT, FORMAT, OMITTED
from antiphon.translation.to_chat_completions.answer_format import instruction, response_format
from antiphon.translation.to_chat_completions.marks import Token, token_of_this_process
from antiphon.translation.to_chat_completions.messages import to_messages
from antiphon.translation.to_chat_completions.prefix import Functions, ModelConversation
from antiphon.translation.to_chat_completions.reasoning import Unseal, nothing
from antiphon.translation.tool_mapping.choice import chat_tools, demand, tool_choice
from antiphon.translation.tool_mapping.offering import Toolbox, toolbox_of

_WITH_STATUS = frozenset[type]({Message, FunctionCall, FunctionCallOutput})
WITHOUT_STATE = frozenset[type]({Message, FunctionCallOutput, CustomToolCallOutput})
"""Items that are the request's own if they need no change: what the store knows of others is added
to copies.
"""


def normalise_input(
    input: str | Sequence[InputItem] | Any,
    new_id: NewId,
    shared: frozenset[type] = WITHOUT_STATE,
) -> list[InputItem]:
    """Return `input` as items; the items passed are not changed, and those of the types in `shared` are not copied if
    they need no change.

    A string is one user message, an absent input no items. An item without an id gets a new one, a message's string
    content becomes one part, and a message, call or call output without a status is `completed`.

    >>> from antiphon.translation import normalise_input
    >>> from antiphon.ids import new_id
    >>> [message] = normalise_input("Hi", new_id)
    >>> message.role, message.content[0].text
    ('user', 'Hi')
    """  # noqa: E501 - a table, a diagram or an example
    if input is UNSET:
        return []
    if isinstance(input, str):
        text = InputText(text=input)
        return [
            Message(
                id=new_id(ID_PREFIXES[Message]), status="completed", role="user", content=[text]
            )
        ]
    items: list[InputItem] = []
    for each in input:
        item: Any = as_sent(each) if type(each) is Compaction else each
        kind = type(item)
        changes: dict[str, Any] = {}
        if not item.id and (prefix := ID_PREFIXES.get(kind)):
            changes["id"] = new_id(prefix)
        if kind in _WITH_STATUS and not item.status:
            changes["status"] = "completed"
        if kind is Message and isinstance(item.content, str):
            part = OutputText if item.role == "assistant" else InputText
            changes["content"] = [part(text=item.content)]
        items.append(replace(item, **changes) if changes or kind not in shared else item)
    return items


def as_sent(item: InputItem) -> InputItem:
    """Return an item of the request's own input, in which a compaction replaces nothing."""
    if type(item) is not Compaction:
        return item
    return SentCompaction(
        id=item.id, encrypted_content=item.encrypted_content, created_by=item.created_by
    )


def configured(request: CreateResponse, items: Sequence[InputItem]) -> CreateResponse:
    """Return the request with the values of its conversation's newest updates for fields that it
    does not set.
    """
    updates = [item for item in items if type(item) is ConfigurationUpdate]
    if not updates:
        return request
    changes: dict[str, Any] = {}
    efforts = [
        update.reasoning.effort
        for update in updates
        if update.reasoning and update.reasoning.effort
    ]
    formats = [update.text.format for update in updates if update.text and update.text.format]
    reasoning = request.reasoning or ReasoningConfig()
    if efforts and reasoning.effort is None:
        changes["reasoning"] = replace(reasoning, effort=efforts[-1])
    text = request.text or TextConfig()
    if formats and text.format is None:
        changes["text"] = replace(text, format=formats[-1])
    return replace(request, **changes)


Body = dict[str, Any]


class Parameter(Struct, frozen=True):
    """One optional Chat parameter."""

    chat: str
    """Its name in the Chat request."""
    name: str
    """The request's field, as errors name it."""
    convert: Callable[[Any], Any] | None = None
    """Computes its value from the field's if it differs; None if it has no effect."""
    needed: bool = False
    """Whether the client would miss it: then it is rejected if the backend does not accept it,
    otherwise omitted.
    """
    field: str = ""
    """The field itself, if errors name a part of it or another."""


def to_chat(
    request: CreateResponse,
    items: Sequence[InputItem],
    dialect: Dialect,
    dropped: frozenset[str] = frozenset(),
    *,
    toolbox: Toolbox | None = None,
    unseal: Unseal = nothing,
    history: int = 0,
    files: ReadFiles | None = None,
    token: Token = token_of_this_process,
    adjusted: list[str] | None = None,
) -> Body:
    """Return the body of the Chat Completions request for `request` and the conversation `items`.

    `items` is the whole conversation; its first `history` items precede this request's input. `dropped` are parameters
    that this backend has rejected before, and other lessons (`learned.refused_parameter`). `toolbox` is the result of
    `toolbox_of` for the same request, if the caller has it. `unseal` decrypts the state that a client stores
    (`encrypted_content`). `files` are the files that were read for the request. `token` marks system messages that the
    backend does not accept where they are (`marks.py`). `adjusted` receives the names of what the backend is sent
    differently than the client wrote it (`adjustments.py`). The body always has `stream`.

    Raises `ClientError`, which names the field of the request, if the backend cannot do it, and `UnreadFile` for a file
    that has to be read first.

    >>> from antiphon.translation import decode_request, normalise_input, find_dialect, to_chat
    >>> from antiphon.ids import new_id
    >>> request = decode_request(b'{"model": "m", "input": "Hi", "max_output_tokens": 16}')
    >>> generic = find_dialect("", owned_by=set(), server="", configured="generic")
    >>> to_chat(request, normalise_input(request.input, new_id), generic)["messages"]
    [{'role': 'user', 'content': 'Hi'}]
    """  # noqa: E501 - a table, a diagram or an example
    if dropped:
        dialect = dialect.taught(dropped)
    if adjusted is None:
        adjusted = []
    opening = len(request.opening) if isinstance(request, PromptedRequest) else 0
    if isinstance(request, PromptedRequest) and opening:
        items = ModelConversation([*request.opening, *items])
        history = history + opening
    elif not isinstance(items, ItemList):
        items = ModelConversation(items)
    if ConfigurationUpdate in items.kinds:
        request = configured(request, items)
    toolbox = toolbox or toolbox_of(request, items, dialect)
    context = request.reasoning.context if request.reasoning else None
    has_tools = bool(toolbox.offers) or request.tool_choice is not None
    in_prompt = dialect.tools != "native"
    instructions = request.instructions
    text = request.text
    text_dialect = dialect
    if has_tools or text is not None:
        instructions, text, text_dialect = _in_words(request, toolbox, dialect, adjusted)
    message_dialect = dialect
    if not (toolbox.offers or dialect.calls_without_tools or in_prompt):
        message_dialect = replace_dialect(dialect, tools="prompt")
    body: Body = {
        "model": request.model,
        "messages": to_messages(
            items,
            instructions,
            message_dialect,
            context,
            toolbox=toolbox,
            unseal=unseal,
            history=history,
            files=files,
            opening=opening,
            token=token,
        ),
    }
    if has_tools and not in_prompt:
        body |= _tools(request, toolbox, dialect, adjusted)
    if text is not None and (formatted := response_format(text, text_dialect)):
        body["response_format"] = formatted
    _add_parameters(body, request, dialect, dropped, adjusted)
    if not dialect.forced_thinking and body.get("tool_choice") not in UNFORCED:
        _stop_thinking(body, dialect)
        adjusted.append(EFFORT)
    return body


def _in_words(
    request: CreateResponse, toolbox: Toolbox, dialect: Dialect, adjusted: list[str]
) -> tuple[str | None, TextConfig | None, Dialect]:
    """Return the instructions with what the backend has no parameter for, then `text` and the
    dialect for the rest.
    """
    instructions = request.instructions
    text = request.text
    text_dialect = dialect
    has_tools = bool(toolbox.offers) or request.tool_choice is not None
    in_prompt = dialect.tools != "native"
    if has_tools and in_prompt:
        from antiphon.translation.to_chat_completions.prompt_tools import prompt_tools  # noqa: PLC0415 - few backends need it

        instructions, text = prompt_tools(request, toolbox, dialect)
    if text is not None and toolbox.offers and not (in_prompt or dialect.formats_with_tools):
        text_dialect = replace_dialect(dialect, json_formats=frozenset())
    if text is not None and (words := instruction(text, text_dialect)):
        instructions = f"{instructions}\n\n{words}" if instructions else words
        adjusted.append(FORMAT)
    if has_tools and not dialect.forces_calls and (words := demand(toolbox, request.tool_choice)):
        instructions = f"{instructions}\n\n{words}" if instructions else words
        adjusted.append(CHOICE)
    return instructions, text, text_dialect


def _add_parameters(
    body: Body,
    request: CreateResponse,
    dialect: Dialect,
    dropped: frozenset[str],
    adjusted: list[str],
) -> None:
    for parameter in PARAMETERS:
        value = getattr(request, parameter.field or parameter.name)
        if value is not None and parameter.convert is not None:
            value = parameter.convert(value)
        if value is None:
            continue
        if parameter.chat in dialect.accepts:
            body[parameter.chat] = value
        elif parameter.needed:
            raise unsupported(parameter.name)
        elif parameter.chat in OMITTED:
            adjusted.append(OMITTED[parameter.chat])
    if not dialect.both_samplings and "temperature" in body and body.pop("top_p", None) is not None:
        adjusted.append(OMITTED["top_p"])
    if request.max_output_tokens is not None:
        if not dialect.max_tokens:
            raise unsupported("max_output_tokens")
        body[dialect.max_tokens] = request.max_output_tokens
    if request.reasoning is not None and (effort := request.reasoning.effort):
        if dialect.effort:
            body |= _EFFORT_FORMS[dialect.effort](_nearest(effort, dialect.efforts))
        if not dialect.effort or effort not in dialect.efforts:
            adjusted.append(EFFORT)
    if isinstance(request, LocalRequest):
        _add_local(body, request, dropped)
    # Always present: some gateways stream if it is absent (nenya#17).
    body["stream"] = is_stream = request.stream is True or dialect.always_streams
    if is_stream and "stream_options" in dialect.accepts:
        body["stream_options"] = {"include_usage": True}


def _add_local(body: Body, request: LocalRequest, dropped: frozenset[str]) -> None:
    """Add the parameters that the client wrote for the backend; they take precedence over those of
    the effort.
    """
    refused = next((name for name in request.parameters if name in dropped), None)
    if refused is not None:
        raise unsupported(refused)
    _merge(body, request.parameters)


def _merge(body: Body, parameters: Mapping[str, Any]) -> None:
    """Add parameters; those that are objects keep what they have besides."""
    for name, value in parameters.items():
        before = body.get(name)
        body[name] = (
            {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
        )


def _tools(
    request: CreateResponse, toolbox: Toolbox, dialect: Dialect, adjusted: list[str]
) -> Body:
    if toolbox.offers and "tools" not in dialect.accepts:
        raise unsupported("tools")
    offers, choice = tool_choice(toolbox, request.tool_choice, dialect)
    if not offers:
        return {}
    body: Body = {"tools": _functions(toolbox, offers, dialect, adjusted)}
    if choice is not None:
        body["tool_choice"] = choice
    if request.parallel_tool_calls is not None and "parallel_tool_calls" in dialect.accepts:
        body["parallel_tool_calls"] = request.parallel_tool_calls
    return body


def _functions(
    toolbox: Toolbox, offers: list[Offer], dialect: Dialect, adjusted: list[str]
) -> list[dict[str, Any]]:
    """Return the tools that are sent.

    All requests with the same tools share them: they are not changed.
    """
    if toolbox.source is None or len(offers) < len(toolbox.offers):
        return chat_tools(offers, dialect, adjusted)
    functions, what = toolbox.source.fact(
        "functions", (toolbox.offers, dialect), lambda: _shared(offers, dialect)
    )
    adjusted += what if not adjusted else [name for name in what if name not in adjusted]
    return functions


def _shared(offers: list[Offer], dialect: Dialect) -> tuple[Functions, list[str]]:
    adjusted: list[str] = []
    return Functions(chat_tools(offers, dialect, adjusted)), adjusted


# Parameters.


def output_cap(body: Mapping[str, Any]) -> int | None:
    """Return how many tokens a Chat request allows, None without a limit."""
    cap: int | None = body.get("max_completion_tokens", body.get("max_tokens"))
    return cap


def _nearest(effort: str, efforts: frozenset[str]) -> str:
    """Return the effort among `efforts` that is nearest to `effort`, the lower one of two."""
    place = EFFORTS.index(effort)
    return min(
        sorted(efforts, key=EFFORTS.index), key=lambda each: abs(EFFORTS.index(each) - place)
    )


def _thinking(effort: str) -> Body:
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled"}, "reasoning_effort": effort}


_EFFORT_FORMS: dict[str, Callable[[str], Body]] = {
    "reasoning_effort": lambda effort: {"reasoning_effort": effort},
    "reasoning": lambda effort: {"reasoning": {"effort": effort}},
    "thinking": _thinking,
    "enable_thinking": lambda effort: {"enable_thinking": effort != "none"},
    "chat_template_kwargs": lambda effort: {
        "reasoning_effort": effort,
        "chat_template_kwargs": {"enable_thinking": effort != "none"},
    },
}


def _stop_thinking(body: Body, dialect: Dialect) -> None:
    """Switch thinking off by the family's own switch, instead of the effort that the client
    chose.
    """
    own = body.get("chat_template_kwargs")
    for name in EFFORT_PARAMETERS:
        body.pop(name, None)
    if isinstance(own, dict) and (
        settings := {name: own[name] for name in own if name != "enable_thinking"}
    ):
        body["chat_template_kwargs"] = settings
    _merge(body, effort_parameters(dialect.thinking_switch or dialect.effort, "none"))


def effort_parameters(form: EffortForm, effort: str) -> Body:
    """Return the Chat parameters for an effort in this form; none for the empty form."""
    return _EFFORT_FORMS[form](effort) if form else {}


_TIERS = {"fast": "priority", "ultrafast": "priority"}
"""`fast` is echoed as `priority` (specification section 2); Chat has no `ultrafast`."""

PARAMETERS = (
    Parameter("temperature", "temperature"),
    Parameter("top_p", "top_p"),
    Parameter("presence_penalty", "presence_penalty"),
    Parameter("frequency_penalty", "frequency_penalty"),
    Parameter("top_logprobs", "top_logprobs", lambda count: count or None, needed=True),
    Parameter(
        "logprobs",
        "include",
        lambda include: ("message.output_text.logprobs" in include) or None,
        needed=True,
    ),
    Parameter(
        "logprobs", "include", lambda count: bool(count) or None, needed=True, field="top_logprobs"
    ),
    Parameter("verbosity", "text.verbosity", lambda text: text.verbosity, field="text"),
    Parameter("user", "user"),
    Parameter("safety_identifier", "safety_identifier"),
    Parameter("prompt_cache_key", "prompt_cache_key"),
    Parameter("prompt_cache_options", "prompt_cache_options"),
    Parameter(
        "prompt_cache_retention",
        "prompt_cache_retention",
        lambda wanted: wanted.replace("in-memory", "in_memory"),
    ),
    Parameter("service_tier", "service_tier", lambda tier: _TIERS.get(tier, tier)),
)
"""Every optional parameter that is a plain value."""

UNFORCED = (None, "auto", "none")
"""Values of `tool_choice` with which the model need not call a tool."""

EFFORT_PARAMETERS = frozenset(
    {"reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs"}
)
"""Chat parameters for the effort, in one dialect or another."""

CHAT_PARAMETERS: Mapping[str, str] = {
    "model": "model",
    "messages": "input",
    "tools": "tools",
    "tool_choice": "tool_choice",
    "parallel_tool_calls": "parallel_tool_calls",
    "response_format": "text.format",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    **dict.fromkeys(EFFORT_PARAMETERS, "reasoning.effort"),
    "stream": "stream",
    "stream_options": "stream",
} | {parameter.chat: parameter.name for parameter in PARAMETERS}
"""Chat parameter -> the request's field, which `param` names to the client in errors about it."""

RESERVED = (
    frozenset(CreateResponse.__struct_encode_fields__)
    | (CHAT_PARAMETERS.keys() - EFFORT_PARAMETERS)
    | {"n", "functions", "function_call", "opening"}
)
"""Parameters that are never forwarded unchanged: the Responses API has them, or the translation
sets them.
"""


def responses_parameter(chat: str) -> str | None:
    """Return the request's field that a backend means by `chat`, a Chat parameter or a path into
    one.
    """
    name = re.split(r"[.\[]", chat.removeprefix("body."), maxsplit=1)[0]
    return CHAT_PARAMETERS.get(name)


def unsupported(name: str) -> ClientError:
    """Return the error for a field that the backend cannot honour (specification section 13)."""
    return ClientError(
        f"Unsupported parameter: '{name}' is not supported with this model.",
        code="unsupported_parameter",
        param=name,
    )
