"""The histories that clients send again with each turn: normalised, checked and translated once.

The items that such an input had in the turn before are found by their JSON
(`protocol/known_inputs.py`). What they became is kept with them, as the prefix of a log that grows
(`to_chat_completions/prefix.py`), like a chain. Each of its items is what the client sent, without
anything from the store, which can be deleted meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from antiphon.history.chain_cache import PER_BYTE
from antiphon.ids import NewId
from antiphon.protocol.items.messages import ID_PREFIXES, InputItem, Reasoning
from antiphon.protocol.known_inputs import KINDS, SentItems
from antiphon.protocol.validation.call_rules import check_calls
from antiphon.translation.signed_calls import SIGNABLE, SIGNED_CALL
from antiphon.translation.to_chat_completions.prefix import ChainLog, Prefix
from antiphon.translation.to_chat_completions.request import WITHOUT_STATE, normalise_input

_WITH_CONTENT = frozenset[type](kind for kind in ID_PREFIXES if "content" in kind.__struct_fields__)


@dataclass(frozen=True, slots=True)
class SentHistory:
    """What the items of an input have become."""

    prefix: Prefix = field(default_factory=lambda: Prefix(ChainLog(is_sent=True)))
    parts: int = 0
    """The number of its items, including the parts of their content."""
    size: int = 0
    """Bytes of its JSON."""
    opened: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The states in its `encrypted_content`, by that. An `Unsealer` adds what it opens."""


def read_sent(
    provided: SentItems, new_id: NewId, *, is_stored: bool
) -> tuple[SentHistory | None, list[InputItem], int]:
    """Return what the items of an input that is kept for the next turn have become, the items, and
    their number as `normalised` counts it.

    It is None, and nothing is checked, if the store can have what the client omits of an item. If
    the response `is_stored`, an item without an id has another one in each response. For a thread
    of the tenant. Raises as `check_calls`.
    """
    known = provided.known.history
    before = known if isinstance(known, SentHistory) else SentHistory()
    length = before.prefix.length
    added = provided[length:]
    needs_store = _needs_store(added)
    new, parts = normalised(added, new_id, WITHOUT_STATE if needs_store else KINDS)
    items = _renamed(provided, before.prefix.items, new_id) if is_stored else before.prefix.items
    items += new
    parts += before.parts
    if needs_store:
        return None, items, parts
    size = len(provided.known.json)
    prefix = before.prefix.extended(new, PER_BYTE * (size - before.size))
    if prefix.open or not prefix.is_sound:
        check_calls(items)
    history = provided.known.history = SentHistory(prefix, parts, size, {**before.opened})
    return history, items, parts


def _renamed(
    provided: Sequence[InputItem], items: list[InputItem], new_id: NewId
) -> list[InputItem]:
    """Return the items with new ids where the client gave none."""
    return [
        item if sent.id else replace(item, id=new_id(ID_PREFIXES[type(item)]))
        for sent, item in zip(provided, items, strict=False)
    ]


def normalised(
    provided: Sequence[InputItem] | str,
    new_id: NewId,
    shared: frozenset[type] = WITHOUT_STATE,
) -> tuple[list[InputItem], int]:
    """Return the items of an input, and their number including the parts of their content.

    `shared`: see `normalise_input`.
    """
    items = normalise_input(provided, new_id, shared)
    contents: list[Any] = [item.content for item in items if type(item) in _WITH_CONTENT]  # type: ignore[union-attr]
    return items, len(items) + sum(
        [len(content) - 1 for content in contents if type(content) is list and content]
    )


def _needs_store(items: Sequence[InputItem]) -> bool:
    """Return whether a reasoning lacks its sealed state, or a call names an item that can have its
    signature.
    """
    for item in items:
        if type(item) is Reasoning:
            if not item.encrypted_content:
                return True
        elif type(item) in SIGNABLE and item.call_id.startswith(SIGNED_CALL):  # type: ignore[union-attr]
            return True
    return False
