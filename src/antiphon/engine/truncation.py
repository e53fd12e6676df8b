"""Making a history shorter from its beginning (specification section 10.6, `truncation: auto`)."""

from collections.abc import Sequence

from antiphon.protocol.items import InputItem, Message


def drop_oldest(items: Sequence[InputItem]) -> list[InputItem] | None:
    """Return the items without the older half of their exchanges, None where one exchange is all there is.

    An exchange begins with a user's message and ends before the next, so a call stays with its output and reasoning
    with what follows it. System and developer messages are kept: they are instructions, not history.
    """
    starts = [index for index, item in enumerate(items) if isinstance(item, Message) and item.role == "user"]
    if len(starts) < 2:
        return None
    cut = starts[(len(starts) + 1) // 2]
    kept = [item for item in items[:cut] if isinstance(item, Message) and item.role in {"system", "developer"}]
    return kept + list(items[cut:])
