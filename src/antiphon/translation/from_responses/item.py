"""A backend's item while it arrives, as an item of ours: opened empty, grown by deltas, closed
once.

It is fed the backend's events about it, in whatever order and number, then the final item of the
backend. Content that the final item has and no delta had is emitted before the end; so a backend
can omit any of its events. In addition to the streamed content, a tool that the backend runs goes
through its steps (`protocol.events.STEPS`).
"""

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.protocol import events
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import ID_PREFIXES
from antiphon.translation.from_responses.values import FINAL, has_status, optional, read_item, text
from antiphon.translation.writer import ResponseWriter, padding

Value = dict[str, Any]

CUT = {"apply_patch_call": "in_progress", "image_generation_call": "failed"}
"""Statuses of an item in which an answer was truncated, if the API has no `incomplete` for it."""

LATER: dict[str, dict[str, Any]] = {
    "mcp_list_tools": {"tools": [], "error": UNSET},
    "mcp_call": {"output": None, "error": None},
}
"""Fields that an item has only when it is done, and their initial values."""


class PassedItem:
    """Any item, and all of it if nothing streams.

    `end` it once the backend has, then `close` it.
    """

    def __init__(self, writer: ResponseWriter, provided: Value, item: Item) -> None:
        self.writer = writer
        self.kind = str(provided["type"])
        self.key = text(provided.get("id"))
        """Its id at the backend."""
        self.id = writer.new_id(ID_PREFIXES[type(item)])
        self.is_ended = False
        self.is_closed = False
        self.is_settled = False
        """Whether the backend's final response was compared with it."""
        self.value = self._provided = provided
        self._item = item
        self._reached = -1
        self._images = 0
        item = replace(item, id=self.id, **LATER.get(self.kind, {}))
        if has_status(item) and not self.kind.endswith("_output"):
            item = replace(item, status="in_progress")
        self.output_index = writer.open_item(self._opened(item))

    def feed(self, stem: str, word: str, event: Value) -> None:
        """Process an event of the backend about this item: of `response.refusal.delta` the word is
        `delta`.
        """
        if self.is_ended:
            return
        if stem == f"response.{self.kind}":
            self._step(word, event)
        else:
            self._grow(stem, word, event)

    def end(self, value: Value) -> None:
        """Process the final item of the backend."""
        if self.is_ended:
            return
        self.value = self.value | {
            key: provided
            for key, provided in value.items()
            if provided is not None or key not in self.value
        }
        self.is_ended = True
        self._settle()
        self._finish()

    def close(self, status: str | None) -> None:
        """Close it: with the backend's status, or with the `status` of an item in which the answer
        was truncated.
        """
        if self.is_closed:
            return
        self.is_closed = True
        if not self.is_ended:
            self._finish()
            self._lose()
        item = self._closed()
        if has_status(item):
            item = replace(item, status=self._final(status, item.status))  # type: ignore[attr-defined]
        self._end_steps(item)
        self.writer.close_item(self.output_index, item)

    # Specific to each kind.

    def _opened(self, item: Item) -> Item:
        return item

    def _grow(self, stem: str, word: str, event: Value) -> None:
        """Add a piece of the streamed content."""

    def _settle(self) -> None:
        """Emit the part of `value` that was not emitted yet."""

    def _finish(self) -> None:
        """End the streamed content."""

    def _closed(self) -> Item:
        return self._read()

    # Common to all kinds.

    def _lose(self) -> None:
        """Whether the backend never sent how it ended."""
        if self.kind == "mcp_list_tools":  # it has no status to report it
            self.value = self.value | {
                "tools": [],
                "error": "The backend's answer ended before it was finished.",
            }

    def _read(self, **changes: Any) -> Item:
        """Return the item as it is now; if the backend's final item was invalid, as it was when it
        opened.
        """
        item = read_item(self.value | changes) or read_item(self._provided | changes) or self._item
        return replace(item, id=self.id)

    def _final(self, cut: str | None, stated: Any) -> Any:
        if cut is not None:
            return CUT.get(self.kind, cut)
        caller = self.value.get("caller")
        if isinstance(caller, dict) and caller.get("type") == "program" and stated == "in_progress":
            return stated
        return "failed" if stated == "failed" else "completed"

    def _padded(self, event: Any, delta: str) -> None:
        if self.writer.view.obfuscation:
            event.obfuscation = padding(delta)
        self.writer.emit(event)

    def _where(self) -> Value:
        return {"output_index": self.output_index, "item_id": self.id}

    # The steps of a tool that the backend runs. How it ended is emitted at the end.

    def _step(self, word: str, event: Value) -> None:
        if word == "partial_image":
            self._show(event)
        elif word not in FINAL:
            self._reach(word)

    def _reach(self, word: str) -> None:
        steps = events.STEPS.get(self.kind, ())
        if word not in steps:
            return
        for place in range(self._reached + 1, steps.index(word) + 1):
            self._emit_step(steps[place])
            self._reached = place

    def _emit_step(self, step: str) -> None:
        self.writer.emit(events.STEP_EVENTS[self.kind, step](**self._where()))

    def _end_steps(self, item: Item) -> None:
        if self.kind not in events.STEPS:
            return
        error = getattr(item, "error", None)
        end = getattr(item, "status", "failed" if error not in (None, UNSET) else "completed")
        if end == "completed":
            self._reach("completed")
        elif (self.kind, end) in events.STEP_EVENTS:
            self._reach("in_progress")
            self._emit_step(end)

    def _show(self, event: Value) -> None:
        image = event.get("partial_image_b64")
        if not isinstance(image, str):
            return
        self._reach("generating")
        more = {
            name: optional(event.get(name))
            for name in ("background", "output_format", "quality", "size")
        }
        index = self._images
        self._images = self._images + 1
        self.writer.emit(
            events.ResponseImageGenCallPartialImageEvent(
                **self._where(), partial_image_index=index, partial_image_b64=image, **more
            )
        )
