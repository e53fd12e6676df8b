"""The ids of objects: which kind of object an id names, and when it was created."""

import re
from typing import Literal

from antiphon.protocol.items.messages import ID_PREFIXES

Kind = Literal["response", "conversation", "file", "vector_store", "container", "item"]

KINDS: dict[str, Kind] = {
    "resp": "response",
    "req": "response",
    "conv": "conversation",
    "file": "file",
    "vs": "vector_store",
    "cntr": "container",
}
"""Prefixes of ids of objects. Every other prefix is that of an item or of a call."""

CALL_PREFIXES = frozenset({"call", "toolu"})
"""Prefixes of ids that models give to calls. They are in the body of an item, not its id."""

ITEM_PREFIXES = CALL_PREFIXES.union(ID_PREFIXES.values())

_ID = re.compile(r"([a-z]+)[_-](?=[A-Za-z]*[0-9])[0-9A-Za-z]{8,}")
_DATED = re.compile(r"[a-z]+_([0-9a-f]{12})[0-9a-f]{36}")

EARLIEST, LATEST = 1_577_836_800_000, 4_102_444_800_000
"""Times between which a time in an id is believed, in milliseconds: 2020 to 2100."""


def is_id(word: str) -> bool:
    """Whether a word looks like the id of an object or item, rather than like text."""
    found = _ID.fullmatch(word)
    return found is not None and (found[1] in KINDS or found[1] in ITEM_PREFIXES)


def kind_of(id_: str) -> Kind:
    """Return what an id names. The id of a request names the response that it created."""
    return KINDS.get(prefix_of(id_), "item")


def prefix_of(id_: str) -> str:
    """Return the part of an id before the first `_` or `-`."""
    return re.split("[_-]", id_, maxsplit=1)[0]


def created_ms(id_: str) -> int | None:
    """Return when an id was created, in milliseconds since the epoch; None if it does not say."""
    found = _DATED.fullmatch(id_)
    when = int(found[1], 16) if found else 0
    return when if EARLIEST <= when < LATEST else None
