"""Making a history shorter from its beginning (specification section 10.6, `truncation: auto`)."""

from collections.abc import Sequence

from antiphon.protocol.items.calls import AdditionalTools
from antiphon.protocol.items.hosted import McpListTools
from antiphon.protocol.items.messages import (
    Compaction,
    ConfigurationUpdate,
    FunctionCallOutput,
    InputItem,
    Message,
)
from antiphon.protocol.validation.call_rules import Output, awaited, tie
from antiphon.translation.tool_mapping.calls import output_of

KEPT = (AdditionalTools, ConfigurationUpdate, Compaction, McpListTools)

BRIEF = 400
"""Characters of an output that was cut short."""

MORE = " […]"


def drop_oldest(items: Sequence[InputItem]) -> list[InputItem] | None:
    """Return the items without the older half of their turns, None where one turn is all there is.

    A turn begins with a user's message and ends before the next, but not while the output of a call is still to come:
    so a call stays with its output, and reasoning with what follows it. System and developer messages, tools and
    settings are kept: they are instructions, not history. So is a summary.
    """
    waits = awaited(items)
    starts = [place for place, item in enumerate(items) if _is_by(item, "user") and not waits[place]]
    if starts and not any(_is_droppable(item) for item in items[: starts[0]]):
        del starts[0]  # nothing stands before it
    if not starts:
        return None
    cut = starts[len(starts) // 2]
    return [item for item in items[:cut] if not _is_droppable(item)] + list(items[cut:])


def thin_out(items: Sequence[InputItem]) -> list[InputItem] | None:
    """Return the items with the older half of the long outputs of calls cut short, None where none is long."""
    long = [place for place, item in enumerate(items) if len(_printed(item)) > BRIEF]
    cut = set(long[: (len(long) + 1) // 2])
    if not cut:
        return None
    return [_cut_short(item) if place in cut else item for place, item in enumerate(items)]


def _printed(item: InputItem) -> str:
    return str(output_of(item)) if isinstance(item, Output) and tie(item) else ""


def _cut_short(item: InputItem) -> FunctionCallOutput:
    """A summary is not particular about the kind of an output."""
    return FunctionCallOutput(call_id=tie(item), output=_printed(item)[: BRIEF - len(MORE)] + MORE)


def _is_by(item: InputItem, *roles: str) -> bool:
    return isinstance(item, Message) and item.role in roles


def _is_droppable(item: InputItem) -> bool:
    return not (_is_by(item, "system", "developer") or isinstance(item, KEPT))
