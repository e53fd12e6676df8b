"""Making a history shorter from its beginning (specification section 10.6, `truncation: auto`)."""

from collections.abc import Sequence

from antiphon.protocol.calls import awaited
from antiphon.protocol.items import InputItem, Message


def drop_oldest(items: Sequence[InputItem]) -> list[InputItem] | None:
    """Return the items without the older half of their turns, None where one turn is all there is.

    A turn begins with a user's message and ends before the next, but not while the output of a call is still to come:
    so a call stays with its output, and reasoning with what follows it. System and developer messages are kept: they
    are instructions, not history.
    """
    waits = awaited(items)
    starts = [place for place, item in enumerate(items) if _is_by(item, "user") and not waits[place]]
    if starts and not any(_is_droppable(item) for item in items[: starts[0]]):
        del starts[0]  # nothing stands before it
    if not starts:
        return None
    cut = starts[len(starts) // 2]
    return [item for item in items[:cut] if not _is_droppable(item)] + list(items[cut:])


def _is_by(item: InputItem, *roles: str) -> bool:
    return isinstance(item, Message) and item.role in roles


def _is_droppable(item: InputItem) -> bool:
    return not _is_by(item, "system", "developer")
