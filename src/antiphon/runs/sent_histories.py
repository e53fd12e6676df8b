"""The histories that clients send again with each turn: normalised, checked and translated once.

The items that such an input had in the turn before are found by their JSON (`protocol/known_inputs.py`). What they
became is kept with them, as the prefix of a log that grows (`to_chat_completions/prefix.py`), like a chain. Each of its
items is what the client sent, without anything from the store, which can be deleted meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.known_inputs import SentItems
from antiphon.runs.chain_cache import PER_BYTE
from antiphon.translation.to_chat_completions.prefix import Log, Prefix


@dataclass(frozen=True, slots=True)
class SentHistory:
    """What the items of an input have become."""

    prefix: Prefix = field(default_factory=lambda: Prefix(Log(is_sent=True)))
    parts: int = 0
    """The number of its items, including the parts of their content."""
    size: int = 0
    """Bytes of its JSON."""
    opened: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The states in its `encrypted_content`, by that."""


def sent_before(given: Sequence[InputItem] | str) -> SentHistory | None:
    """Return what is known of the items at the beginning of an input; None if the input is not kept."""
    if type(given) is not SentItems:
        return None
    known = given.known.history
    return known if isinstance(known, SentHistory) else SentHistory()


def extend(before: SentHistory, given: SentItems, new: Sequence[InputItem], parts: int) -> SentHistory:
    """Keep what the `new` items have become for the next turn, and return all of it. For a thread of the tenant.

    Whoever opens the state in an item adds it to `opened`.
    """
    size = len(given.known.json)
    prefix = before.prefix.extended(new, PER_BYTE * (size - before.size))
    history = given.known.history = SentHistory(prefix, before.parts + parts, size, {**before.opened})
    return history
