"""What of a conversation a chat model is shown: messages, reasoning, and calls with their outputs, nothing else.

A compaction stands for what came before it, users' and system messages excepted, which stay word for word
(specification section 11). What another server's tools did is told as calls.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from antiphon.protocol.items.calls import ToolSearchCall, ToolSearchOutput
from antiphon.protocol.items.content import InputText
from antiphon.protocol.items.messages import (
    Compaction,
    FunctionCallOutput,
    InputItem,
    Message,
    Reasoning,
    kinds_of,
)
from antiphon.protocol.validation.call_rules import CALLS, OUTPUTS, tie
from antiphon.translation.to_chat.hosted import RETOLD, approvals_in, retold
from antiphon.translation.to_chat.reasoning import Unseal, recount
from antiphon.translation.tool_mapping.calls import output_of

Placed = tuple[int, InputItem]
"""An item, and the index of the one in the conversation that it comes from."""

SHOWN = frozenset[type]({Message, Reasoning})
"""Items that are shown as they stand."""

LATE = "[The output is not there yet. It will come later.]"


def visible(items: Sequence[InputItem], unseal: Unseal) -> list[Placed]:
    """Return what is shown, in its order. Calls of one answer stand together, their outputs behind them."""
    approvals = approvals_in(items)
    behind: list[Placed] = []
    answered = {tie(item) for item in items if type(item) in OUTPUTS}
    search = ""
    shown: list[Placed] = []
    for index, item in remembered(items):
        served = retold(item, unseal, approvals) if type(item) in RETOLD else None
        if behind and served is None and not _is_said_by_model(item):
            shown += behind
            behind = []
        if isinstance(item, Message | Reasoning):
            shown.append((index, item))
        elif type(item) is Compaction:
            shown.append((index, summary(recount(item, unseal))))
        elif type(item) is ToolSearchCall and not item.call_id:
            search = f"call_{item.id}"
            shown.append((index, replace(item, call_id=search)))
        elif type(item) is ToolSearchOutput and not item.call_id:
            shown += [(index, replace(item, call_id=search))] if search else []
        elif type(item) in CALLS:
            shown.append((index, item))
            if getattr(item, "async_", None) and tie(item) not in answered:
                shown.append((index, FunctionCallOutput(call_id=tie(item), output=LATE)))
        elif type(item) in OUTPUTS:
            shown.append((index, item if tie(item) else _nameless(item)))
        elif served is not None:
            shown.append((index, served.call))
            behind.append((index, served.output))
            if not served.joins_next:
                shown += behind
                behind = []
    return shown + behind


def _is_said_by_model(item: InputItem) -> bool:
    """Whether it may stand between two calls of one answer."""
    is_answer = isinstance(item, Message) and item.role == "assistant"
    return is_answer or type(item) in CALLS or isinstance(item, Reasoning)


def remembered(items: Sequence[InputItem]) -> Iterator[Placed]:
    """Give what the newest compaction does not stand for, and itself."""
    if Compaction not in kinds_of(items):
        yield from enumerate(items)
        return
    newest = max((index for index, item in enumerate(items) if isinstance(item, Compaction)), default=0)
    for index, item in enumerate(items):
        if index >= newest or (isinstance(item, Message) and item.role != "assistant"):
            yield index, item


def summary(text: str) -> Message:
    """Return the message that tells what a compaction stands for."""
    said = f"[What happened so far, in short. The messages before this one are kept as they were.]\n{text}"
    return Message(role="user", content=said)


def _nameless(output: InputItem) -> Message:
    """An output that names no call comes late: it is told like a message."""
    name = getattr(output, "name", None) or "a tool"
    said = output_of(output)  # type: ignore[arg-type]
    words = f"[Output of {name}]"
    if isinstance(said, str):
        return Message(role="user", content=f"{words}\n{said}")
    return Message(role="user", content=[InputText(text=words), *said])
