"""Shortens a history from its beginning (specification section 10.6, `truncation: auto`).

A backend caches the prompt of a turn and processes the next prompt from the first difference on, so
the start of the history should rarely move. `Turns.within` therefore cuts only at multiples of half
the limit, counted in tokens from the first turn of the conversation. The cut depends on the
conversation alone, and moves when another half is full. If a rejection leads to half the limit, the
cuts of both limits agree.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from antiphon.protocol.items.calls import AdditionalTools
from antiphon.protocol.items.hosted import McpListTools
from antiphon.protocol.items.messages import (
    Compaction,
    ConfigurationUpdate,
    FunctionCallOutput,
    InputItem,
    Message,
    Reasoning,
)
from antiphon.protocol.validation.call_rules import Output, awaited, tie
from antiphon.translation.to_chat_completions.history import remembered
from antiphon.translation.to_chat_completions.tokens import (
    MEDIA,
    MEDIUM,
    MEDIUM_DATA,
    MESSAGE,
    UNSEEN,
    by_size,
)
from antiphon.translation.tool_mapping.calls import output_of

RETAINED = (AdditionalTools, ConfigurationUpdate, Compaction, McpListTools)

INSTRUCTING = ("system", "developer")

BRIEF = 400
"""Characters of a shortened output."""

MORE = " […]"

UNREAD = UNSEEN | {"call_id", "status", "phase"}
"""Fields of an item that the model does not read."""


class Turns:
    """The turns of a conversation; the oldest ones can be dropped.

    A turn begins with a user's message and ends before the next one, but not while the output of a
    call is missing: so a call stays with its output, and reasoning with the item after it. System
    and developer messages, tools and settings are always retained: they are instructions, not
    history. So is a summary.
    """

    def __init__(self, items: Sequence[InputItem], *, with_reasoning: bool = True) -> None:
        self._items = items
        self._starts: list[int] = []
        self._before: list[int] = []
        """The tokens before each start."""
        self.tokens = 0
        """The estimated tokens that the model reads of all turns."""
        self.retained_tokens = 0
        """The tokens of the items that are always retained; instructions are not counted."""
        read = {place for place, _ in remembered(items)}
        waits = awaited(items)
        for place, item in enumerate(items):
            if _is_by(item, "user") and not waits[place]:
                self._starts.append(place)
                self._before.append(self.tokens)
            tokens = (
                tokens_of(item)
                if place in read and (with_reasoning or not isinstance(item, Reasoning))
                else 0
            )
            if _is_droppable(item):
                self.tokens += tokens
            elif isinstance(item, Compaction):
                self.retained_tokens += tokens

    def within(self, limit: int) -> list[InputItem] | None:
        """Return the items without the oldest turns, so that at most `limit` tokens remain; None if
        nothing is dropped.

        The newest turn always remains, regardless of its length.
        """
        excess = self.tokens - limit
        step = max(1, limit // 2)
        if excess <= 0 or not self._starts:
            return None
        start = bisect_left(self._before, -(-excess // step) * step, hi=len(self._starts) - 1)
        cut = self._starts[start]
        stored = [item for item in self._items[:cut] if not _is_droppable(item)]
        return [*stored, *self._items[cut:]] if len(stored) < cut else None


def has_older_turns(items: Sequence[InputItem]) -> bool:
    """Whether `Turns.within` can drop any of these items."""
    waits = awaited(items)
    starts = [
        place for place, item in enumerate(items) if _is_by(item, "user") and not waits[place]
    ]
    return bool(starts) and any(_is_droppable(item) for item in items[: starts[-1]])


def thin_out(items: Sequence[InputItem]) -> list[InputItem] | None:
    """Return the items with the older half of the long call outputs shortened, None if none is
    long.
    """
    long = [place for place, item in enumerate(items) if len(_printed(item)) > BRIEF]
    cut = set(long[: (len(long) + 1) // 2])
    if not cut:
        return None
    return [_cut_short(item) if place in cut else item for place, item in enumerate(items)]


def _printed(item: InputItem) -> str:
    return str(output_of(item)) if isinstance(item, Output) and tie(item) else ""


def _cut_short(item: InputItem) -> FunctionCallOutput:
    """A summary does not need the kind of an output."""
    return FunctionCallOutput(call_id=tie(item), output=_printed(item)[: BRIEF - len(MORE)] + MORE)


def tokens_of(item: InputItem) -> int:
    """Return the tokens of an item.

    A compaction counts by its sealed text: nothing else of it is readable.
    """
    if isinstance(item, Compaction):
        return by_size(item.encrypted_content)
    return MESSAGE + _read(item)


def _read(value: Any) -> int:
    """Return the tokens that a model reads of a value."""
    if isinstance(value, str):
        return by_size(value)
    if isinstance(value, Struct):
        return sum(
            _read_field(name, one)
            for name in _read_of(type(value))
            if (one := getattr(value, name))
        )
    if isinstance(value, dict):
        return sum(
            _read_field(name, one) for name, one in value.items() if one and name not in UNREAD
        )
    return sum(map(_read, value)) if isinstance(value, list | tuple) else 0


def _read_field(name: str, value: Any) -> int:
    if name == "file_data":
        return MEDIUM * -(-len(value) // MEDIUM_DATA)
    is_figure = name == "url" and isinstance(value, str) and value.startswith("data:")
    return MEDIUM if name in MEDIA or is_figure else _read(value)


@cache
def _read_of(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if name not in UNREAD)


def _is_by(item: InputItem, *roles: str) -> bool:
    return isinstance(item, Message) and item.role in roles


def _is_droppable(item: InputItem) -> bool:
    return not (_is_by(item, *INSTRUCTING) or isinstance(item, RETAINED))
