"""The parts of a conversation that a chat model receives, and their groups.

Theory of operation.

The Responses API is a flat list of items. Chat has one assistant message for an answer, with its
reasoning, text and parallel calls, and directly after it one tool message per call. Two passes turn
the list into such groups, and `messages.py` writes each group for a dialect.

1. `visible` decides what the model receives, and in which form. Each result keeps the index of the
   item that it comes from, for errors and for translating only what is new.

   - Messages, reasoning, and calls with their outputs are shown as they are; nothing else has a place in Chat.
   - A compaction replaces the items before it, except user and system messages, which stay word for word
     (specification section 11). A compaction that the client sends adds its summary and replaces nothing, because
     OpenAI reads the items before it too.
   - A call that a server has executed is one item with its result; it becomes a call and an output. If the next call
     is of the same answer, the output waits (`behind`), so that parallel calls stay together.
   - A tool search without a call id is joined with its output by an id that is made up here.
   - A call that can be answered later (`async`), and is not yet, gets a note as its output, because Chat demands one.

2. `group` puts answers together. An answer is open while items of the model follow each other; any
   other item closes it. Text and reasoning after text begin another answer, but not after a call:
   nothing may come between a call and its outputs. So an output moves up to its call, wherever it
   was; everything else keeps its order.

What holds always:

- Each shown item is in exactly one group. An output without its call is in an answer of its own.
- What the items of a turn become does not depend on later turns, except for the few kinds that
  `INDEPENDENT` in `prefix.py` excludes. So the messages of earlier turns stay valid when a chain
  grows.
"""  # noqa: E501 - a table, a diagram or an example

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from antiphon.protocol.items.calls import ShellCallOutput, ToolSearchCall, ToolSearchOutput
from antiphon.protocol.items.content import InputText, Refusal
from antiphon.protocol.items.messages import (
    Compaction,
    FunctionCallOutput,
    InputItem,
    Message,
    Reasoning,
    kinds_of,
)
from antiphon.protocol.validation.call_rules import CALLS, OUTPUTS, Call, Output, tie
from antiphon.translation.to_chat_completions.hosted import (
    RETOLD,
    ServerCall,
    approvals_in,
    rendered_call,
    shell_output,
)
from antiphon.translation.to_chat_completions.reasoning import Unseal, recount
from antiphon.translation.tool_mapping.calls import output_of

Placed = tuple[int, InputItem]
"""An item, and the index of the item in the conversation from which it was derived."""

DISPLAYED = frozenset[type]({Message, Reasoning})
"""Items that are shown unchanged."""

_PLAIN_OUTPUTS = frozenset[type]({*OUTPUTS}).difference([ToolSearchOutput, ShellCallOutput])
"""Outputs that are shown unchanged if they name their call."""

LATE = "[The output is not there yet. It will come later.]"


def visible(
    items: Sequence[InputItem], unseal: Unseal, *, sees_images: bool = False
) -> list[Placed]:
    """Return the shown items, in order.

    Calls of one answer are adjacent, followed by their outputs.

    `sees_images` says that the model is known to see images.
    """
    approvals = approvals_in(items)
    behind: list[Placed] = []
    answered: set[str] | None = None
    search = ""
    displayed: list[Placed] = []
    for index, item in remembered(items):
        kind = type(item)
        # Calls that a server has executed: the item contains the output as well.
        server = (
            rendered_call(item, unseal, approvals, sees_images=sees_images)
            if kind in RETOLD
            else None
        )
        # Something that the model did not say ends its answer: the outputs that waited
        # come before it.
        if behind and server is None and not _is_model_output(item):
            displayed += behind
            behind = []
        is_plain = kind in DISPLAYED or (kind in _PLAIN_OUTPUTS and item.call_id)  # type: ignore[union-attr]
        if is_plain:
            displayed.append((index, item))
        elif kind in CALLS and (kind is not ToolSearchCall or tie(item)):
            displayed.append((index, item))
            if getattr(item, "async_", None):
                # Collected once, and only if a conversation has such calls.
                answered = _answered(items) if answered is None else answered
                if tie(item) not in answered:
                    displayed.append((index, FunctionCallOutput(call_id=tie(item), output=LATE)))
        elif isinstance(item, ToolSearchCall):
            search = f"call_{item.id}"
            displayed.append((index, replace(item, call_id=search)))
        elif isinstance(item, Compaction):
            displayed.append((index, summary(recount(item, unseal))))
        elif isinstance(item, ToolSearchOutput) and not item.call_id:
            # Without its search, which a compaction can have replaced, the output has no place.
            displayed += [(index, replace(item, call_id=search))] if search else []
        elif isinstance(item, ShellCallOutput):
            displayed.append((index, shell_output(item, unseal)))
        elif kind in OUTPUTS:
            # Without a call id it belongs to no call, and would be rejected as a tool message.
            displayed.append((index, item if tie(item) else _nameless(item)))
        elif server is not None:
            displayed.append((index, server.call))
            # Of parallel calls, only the last one is followed by the outputs of all.
            behind.append((index, server.output))
            if not server.joins_next:
                displayed += behind
                behind = []
    return displayed + behind


_ALWAYS = frozenset[type]({*CALLS, *OUTPUTS, *RETOLD, ServerCall, Compaction})
"""Items that become a message on their own, with rare exceptions, which `visible` knows."""


def becomes_message(item: InputItem) -> bool:
    """Whether an item of these kinds becomes a message on its own.

    Reasoning and an empty answer do so only together with the text or the calls next to them.
    """
    if not isinstance(item, Message):
        return type(item) in _ALWAYS
    if item.role != "assistant" or isinstance(item.content, str):
        return item.role != "assistant" or bool(item.content)
    return any(
        getattr(part, "refusal" if isinstance(part, Refusal) else "text", True)
        for part in item.content
    )


def _is_model_output(item: InputItem) -> bool:
    """Whether it can be between two calls of one answer."""
    is_answer = isinstance(item, Message) and item.role == "assistant"
    return is_answer or type(item) in CALLS or isinstance(item, Reasoning)


def _answered(items: Sequence[InputItem]) -> set[str]:
    return {tie(item) for item in items if type(item) in OUTPUTS}


def remembered(items: Sequence[InputItem]) -> Iterable[Placed]:
    """Return the newest compaction and the items that it does not replace. One in the request's own
    input replaces nothing.
    """
    return enumerate(items) if Compaction not in kinds_of(items) else _not_replaced(items)


def _not_replaced(items: Sequence[InputItem]) -> Iterator[Placed]:
    newest = max((index for index, item in enumerate(items) if type(item) is Compaction), default=0)
    for index, item in enumerate(items):
        if index >= newest or (isinstance(item, Message) and item.role != "assistant"):
            yield index, item


def summary(text: str) -> Message:
    """Return the message with the text of a compaction."""
    stated = (
        "[What happened so far, in short. The messages before this one are kept "
        f"as they were.]\n{text}"
    )
    return Message(role="user", content=stated)


def _nameless(output: InputItem) -> Message:
    """An output without a call arrives late: it becomes a message."""
    name = getattr(output, "name", None) or "a tool"
    content = output_of(output)  # type: ignore[arg-type]
    words = f"[Output of {name}]"
    if isinstance(content, str):
        return Message(role="user", content=f"{words}\n{content}")
    return Message(role="user", content=[InputText(text=words), *content])


# In groups.

_CALLS = frozenset({*CALLS, ServerCall})


class AssistantDraft(Struct):
    """One assistant message that is being built, and the outputs of its calls as (index in the
    items, output).
    """

    turn: int
    reasoning: list[Reasoning] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    outputs: list[tuple[int, Output]] = field(default_factory=list)


Content = tuple[int, Message]
"""A user or system message, with its index in the items."""


class Exchanges(Struct):
    """The conversation; `turn` counts the user messages so far, and `tool_turns` are those with
    calls.
    """

    groups: list[AssistantDraft | Content] = field(default_factory=list)
    tool_turns: set[int] = field(default_factory=set)
    turn: int = 0


def group(items: Sequence[Placed]) -> Exchanges:
    """Group the shown items.

    An output without its call becomes an answer of its own, without a call.
    """
    exchanges = Exchanges()
    # All outputs first, because an output can be far behind its call.
    outputs: dict[str, list[tuple[int, Output]]] = {}
    for index, item in items:
        if type(item) in OUTPUTS:
            call_id = item.call_id or tie(item)  # type: ignore[union-attr]
            outputs.setdefault(call_id, []).append((index, item))  # type: ignore[arg-type]
    answer: AssistantDraft | None = None
    for index, item in items:
        kind = type(item)
        is_call = kind in _CALLS
        is_spoken = type(item) is Message and item.role == "assistant"
        if is_call or is_spoken or kind is Reasoning:
            # Text and reasoning after text begin another answer, unless calls are open: nothing may
            # come between those and their outputs.
            if answer is None or (answer.messages and not answer.calls and not is_call):
                answer = AssistantDraft(exchanges.turn)
                exchanges.groups.append(answer)
            if type(item) is Reasoning:
                answer.reasoning.append(item)
            elif type(item) is Message:
                answer.messages.append(item)
            else:
                answer.calls.append(item)  # type: ignore[arg-type]
                call_id = item.call_id or tie(item)  # type: ignore[union-attr]
                answer.outputs += outputs.pop(call_id, ())
                exchanges.tool_turns.add(answer.turn)
            continue
        # Anything else ends the answer.
        answer = None
        if type(item) is Message:
            exchanges.turn += item.role == "user"
            exchanges.groups.append((index, item))
        # Still there, so no call has taken it: its call is not shown.
        elif kind in OUTPUTS and tie(item) in outputs:
            exchanges.groups.append(AssistantDraft(exchanges.turn, outputs=outputs.pop(tie(item))))
    return exchanges
