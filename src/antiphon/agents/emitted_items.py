"""Emits the items of a model's answer in the output of the agent that called it."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from antiphon.agents.output import AgentOutput
from antiphon.protocol.events import (
    Event,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
)
from antiphon.protocol.items.calls import CustomToolCall
from antiphon.protocol.items.messages import FunctionCall, Message

Emit = Literal["nothing", "text", "items"]
"""Which items of a call the agent's response has: none, its messages, or all but calls of
functions, which the agent answers itself.
"""

OWN = (FunctionCall, CustomToolCall)


class EmittedItems:
    """The items of one call, with its step under `key`. `note_progress` updates that step in the
    journal; it is stored together with an item.
    """

    def __init__(
        self, output: AgentOutput, emit: Emit, key: str, note_progress: Callable[[], None]
    ) -> None:
        self._output = output
        self._emit = emit
        self._key = key
        self._note_progress = note_progress
        self._places: dict[int, int] = {}
        """The output indexes of open items in the agent's response, by those in the call's."""

    async def catch_up(self, items: Sequence[Any], sealed: Sequence[str | None]) -> None:
        """Emit the items of earlier attempts that these did not emit themselves."""
        for index, item in enumerate(items):
            if self._is_emitted(item):
                await self._output.emit_whole(item, self._key_of(index), sealed[index])

    async def open(self, event: ResponseOutputItemAddedEvent) -> None:
        """Open an item."""
        item: Any = event.item
        if self._is_emitted(item):
            self._places[event.output_index] = await self._output.open_item(item)

    async def pass_on(self, event: Event, index: int) -> None:
        """Emit an event of an item."""
        if index in self._places:
            await self._output.pass_on(event, self._places[index])

    def close(self, event: ResponseOutputItemDoneEvent, sealed: str | None) -> None:
        """Close an item."""
        place = self._places.pop(event.output_index, None)
        if place is not None:
            key = self._key_of(event.output_index)
            item: Any = event.item
            self._note_progress()
            self._output.close_item(place, item, key, sealed, self._key)

    def _is_emitted(self, item: Any) -> bool:
        if self._emit == "items":
            return not isinstance(item, OWN)
        return self._emit == "text" and isinstance(item, Message)

    def _key_of(self, index: int) -> str:
        return f"{self._key}/item/{index}"
