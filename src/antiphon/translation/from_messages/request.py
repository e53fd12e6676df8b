"""A request of the Messages API as a request for a response, and as the view by which its answer is
written.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from antiphon.errors import ClientError
from antiphon.protocol.formats import Effort, JsonSchemaFormat
from antiphon.protocol.items.messages import CompactionTrigger
from antiphon.protocol.messages.blocks import ContainerUpload
from antiphon.protocol.messages.requests import (
    AdaptiveThinking,
    AnyChoice,
    AutoChoice,
    Conversation,
    CreateMessage,
    EnabledThinking,
    NamedChoice,
)
from antiphon.protocol.messages.wording import not_supported, refusal, reworded
from antiphon.protocol.requests import (
    Include,
    ReasoningConfig,
    TextConfig,
    TranslatedRequest,
)
from antiphon.protocol.tools import (
    CodeInterpreterChoice,
    FunctionChoice,
    HostedChoice,
    ShellChoice,
    ShellTool,
    ToolChoice,
)
from antiphon.protocol.validation.schema_rules import check_text_schema
from antiphon.translation.from_messages.catalogue import Catalogue, is_valid
from antiphon.translation.from_messages.context_edits import NO_EDITS, read_edits
from antiphon.translation.from_messages.conversation import ConversationReader
from antiphon.translation.from_messages.view import Call, MessagesView, chain_of, digest

LOW_BUDGET, MEDIUM_BUDGET = 4096, 16_384
"""Tokens of thinking below which the effort is low, and medium."""

FORMAT_NAME = "answer"
"""The name of the schema of an answer: this API has none."""

INCLUDED: list[Include] = [
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "web_search_call.results",
    "code_interpreter_call.outputs",
]
"""What the blocks of an answer show."""

_TIERS: Mapping[str, Any] = {"standard_only": "default", "auto": "auto"}


class Translated(Struct, frozen=True):
    """A request for a response, and how its answer is written."""

    request: TranslatedRequest
    view: MessagesView


def read_request(body: Conversation, call: Call, tokens: int = 0) -> Translated:
    """Return a request of the Messages API as a request for a response that is not stored.

    `tokens` is the estimated size of its prompt, by which old results of calls are removed.

    Raises `ClientError` (400) in the words of that API for what this server does not support. A
    body that only asks for a count can be any part of a conversation.
    """
    is_counted = not isinstance(body, CreateMessage)
    _check_unsupported(body)
    view = MessagesView(
        call=call,
        display=_display(body),
    )
    catalogue = Catalogue(body, _uploads(body))
    edits = NO_EDITS if body.context_management is None else read_edits(body)
    reader = ConversationReader(
        catalogue, body.messages, is_lenient=is_counted, thinking_turns=edits.thinking_turns
    )
    instructions = reader.add_system(body.system)
    reader.add_messages()
    placed = reader.placed
    choice = _choice(body, catalogue)
    tools, view.tool_places = catalogue.tools()
    if not placed.items and not is_counted:
        raise refusal("messages", "text content blocks must be non-empty", "empty_array")
    if body.compaction is not None:
        placed.add(len(body.messages) - 1, 0, CompactionTrigger())
    view.places = placed.places
    view.dropped = reader.answers.dropped
    view.is_warming = isinstance(body, CreateMessage) and body.max_tokens == 0
    if body.context_management is not None:
        view.edits = edits
        edits.note_thinking(reader.cleared)
        edits.clear_tool_uses(placed.items, tokens)
    if body.diagnostics is not None:
        view.diagnoses = True
        view.previous_message = _previous(body.diagnostics)
        view.has_system = bool(body.system)
    view.search_tool = catalogue.search_name or view.search_tool
    user_id = body.metadata.user_id if body.metadata else None
    request = TranslatedRequest(
        model=body.model,
        input=placed.items,
        instructions=instructions,
        include=list(INCLUDED),
        tools=tools or None,
        tool_choice=_tool_choice(choice, catalogue, tools) if choice is not None else None,
        parallel_tool_calls=False
        if choice is not None and choice.disable_parallel_tool_use
        else None,
        text=_text(body),
        temperature=body.temperature,
        top_p=body.top_p,
        stream=body.stream,
        max_output_tokens=(body.max_tokens or None) if isinstance(body, CreateMessage) else None,
        max_tool_calls=catalogue.calls_at_most,
        reasoning=_reasoning(body, reader.effort),
        safety_identifier=digest(user_id) if user_id else None,
        prompt_cache_key=chain_of(call, user_id),
        prompt_cache_options={"prewarm": True} if view.is_warming else None,
        store=False,
        service_tier="priority" if body.speed == "fast" else _TIERS.get(body.service_tier or ""),
        context_management=edits.compaction,
        stop=list(filter(None, body.stop_sequences or ())),
        optional=_optional(body),
        is_compared=view.diagnoses,
        is_prefilled=reader.is_prefilled and not is_counted,
        is_part=is_counted,
    )
    return Translated(request, view)


def _check_unsupported(body: Conversation) -> None:
    """Reject what changes the meaning of a request, and what this server does not do."""
    if body.thread is not None:
        raise refusal(
            "thread", "Threads on the server are not supported here.", "unsupported_parameter"
        )
    if body.compaction is not None and body.compaction.get("type", "summarize") != "summarize":
        raise not_supported("compaction.type", body.compaction.get("type"))


def _previous(diagnostics: Mapping[str, Any]) -> str | None:
    """Return the id of the message to compare with, None for the first one."""
    found = diagnostics.get("previous_message_id")
    if found is not None and not isinstance(found, str):
        raise refusal("diagnostics.previous_message_id", "Input should be a valid string")
    return found


def _uploads(body: Conversation) -> list[str]:
    """Return the files of all messages for the container, each once, in order."""
    blocks = (
        block
        for message in body.messages
        if isinstance(message.content, list)
        for block in message.content
    )
    return list(
        dict.fromkeys(block.file_id for block in blocks if isinstance(block, ContainerUpload))
    )


# Thinking and effort.


def _display(body: Conversation) -> Any:
    """Return how thinking is shown.

    A client that asks for none often expects text as the first block. So if its model thinks
    nevertheless, it receives only what the model needs back in later turns, which is nothing
    without tools.
    """
    thinking = body.thinking
    if not isinstance(thinking, EnabledThinking | AdaptiveThinking):
        return "omitted" if body.tools or body.mcp_servers else "hidden"
    display = thinking.display
    if display is None:
        return "summarized" if isinstance(thinking, EnabledThinking) else "omitted"
    return "omitted" if display == "omitted" else "summarized"


def _reasoning(body: Conversation, effort: Effort | None) -> ReasoningConfig | None:
    """Return the reasoning. A request that says nothing of thinking does not switch it on."""
    thinking = body.thinking
    wanted: Effort | None = effort or (body.output_config.effort if body.output_config else None)
    if thinking is None:
        return None
    if isinstance(thinking, EnabledThinking):
        wanted = wanted or _effort_of(thinking.budget_tokens)
    elif not isinstance(thinking, AdaptiveThinking):
        return ReasoningConfig(effort="none")
    return ReasoningConfig(
        effort=wanted, summary="auto" if _display(body) == "summarized" else None
    )


def _effort_of(budget: int) -> Effort:
    return "low" if budget < LOW_BUDGET else "medium" if budget < MEDIUM_BUDGET else "high"


def _optional(body: Conversation) -> dict[str, Any]:
    """Return parameters that some backends take, and that others can do without."""
    budget = body.thinking.budget_tokens if isinstance(body.thinking, EnabledThinking) else None
    parameters = {"top_k": body.top_k, "thinking_budget": budget}
    return {name: value for name, value in parameters.items() if value is not None}


def _text(body: Conversation) -> TextConfig | None:
    """Return the format of the answer, by its present or its older name."""
    found = body.output_config.format if body.output_config else None
    path = "output_config.format" if found is not None else "output_format"
    found = found or body.output_format
    if found is None:
        return None
    strict = JsonSchemaFormat(name=FORMAT_NAME, schema=found.schema, strict=True)
    if is_valid(check_text_schema, strict):
        return TextConfig(format=strict)
    loose = replace(strict, strict=None)
    try:
        check_text_schema(loose)
    except ClientError as error:
        raise reworded(error, lambda param: f"{path}.schema") from None
    return TextConfig(format=loose)


# The choice among tools.


def _choice(body: Conversation, catalogue: Catalogue) -> Any:
    """Return the client's choice; a deferred tool that it names is loaded."""
    choice = body.tool_choice
    if isinstance(choice, NamedChoice) and catalogue.has(choice.name):
        catalogue.load(choice.name, "tool_choice.name")
    return choice


def _tool_choice(choice: Any, catalogue: Catalogue, tools: Sequence[Any]) -> ToolChoice:
    if isinstance(choice, AutoChoice):
        return "auto"
    if isinstance(choice, AnyChoice):
        if not tools:
            raise refusal(
                "tool_choice", "`tool_choice` may only be specified while providing `tools`."
            )
        return "required"
    if not isinstance(choice, NamedChoice):
        return "none"
    if catalogue.has(choice.name):
        return FunctionChoice(name=choice.name)
    hosted = catalogue.is_hosted(choice.name)
    if hosted == "web":
        return HostedChoice()
    if hosted == "code":
        return (
            ShellChoice()
            if any(isinstance(tool, ShellTool) for tool in tools)
            else CodeInterpreterChoice()
        )
    if hosted == "search":
        return "required"
    raise refusal("tool_choice.name", f"Tool '{choice.name[:128]}' not found in provided tools")
