"""Messages and reasoning of a backend: items that consist of parts."""

from typing import Any

from msgspec import UNSET

from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import Message, Reasoning
from antiphon.translation.from_responses.item import PassedItem, Value
from antiphon.translation.from_responses.parts import (
    PartPlace,
    PassedPart,
    StoppingPart,
    SummaryPart,
)
from antiphon.translation.from_responses.values import dicts, text

PHASES = ("commentary", "final_answer")


class PassedMessage(PassedItem):
    """An assistant's message."""

    def _opened(self, item: Item) -> Item:
        self._parts: dict[Any, PassedPart] = {}
        return Message(
            id=self.id, status="in_progress", role="assistant", content=[], phase=self._phase()
        )

    def _phase(self) -> Any:
        phase = self.value.get("phase")
        return phase if phase in PHASES else UNSET

    def _grow(self, stem: str, word: str, event: Value) -> None:
        kind = stem.removeprefix("response.")
        index = event.get("content_index")
        if kind == "output_text.annotation":
            self._part(index, "output_text").annotate(event.get("annotation"))
        elif kind in ("output_text", "refusal"):
            part = self._part(index, kind)
            if word == "delta":
                part.add(text(event.get("delta")), event.get("logprobs"))
            elif word == "done":
                part.settle(event | {"type": kind, "annotations": None})

    def _part(self, index: Any, kind: str) -> PassedPart:
        part = self._parts.get(index) if isinstance(index, int) else None
        if part is None or part.kind != kind:
            place = PartPlace(self.output_index, self.id, len(self._parts))
            stops = self.writer.stops
            part = (
                PassedPart(self.writer, place, kind)
                if stops is None or kind != "output_text"
                else StoppingPart(self.writer, place, stops)
            )
            key = (
                index
                if isinstance(index, int) and index not in self._parts
                else ("more", place.index)
            )
            self._parts[key] = part
            part.open()
        return part

    def _settle(self) -> None:
        whole = self.value.get("content")
        if isinstance(whole, str):  # an easy message, for which the API has parts
            whole = [{"type": "output_text", "text": whole}]
        stated = [part for part in dicts(whole) if part.get("type") in ("output_text", "refusal")]
        known = list(self._parts.values())
        for place, part in enumerate(stated):
            mine = known[place] if place < len(known) else self._part(("new", place), part["type"])
            mine.settle(part)

    def _finish(self) -> None:
        for part in self._parts.values():
            part.close()

    def _closed(self) -> Item:
        content: list[Any] = [part.whole() for part in self._parts.values()]
        return Message(
            id=self.id, status="completed", role="assistant", content=content, phase=self._phase()
        )


class PassedReasoning(PassedItem):
    """The model's reasoning: a summary in parts, raw text, or nothing readable."""

    def _opened(self, item: Item) -> Item:
        self._parts: dict[tuple[str, Any], PassedPart] = {}
        """By the list that contains them at the backend, and the index there."""
        return Reasoning(id=self.id, status="in_progress", summary=[], content=[])

    def _grow(self, stem: str, word: str, event: Value) -> None:
        where = {
            "response.reasoning_text": "content",
            "response.reasoning_summary_text": "summary",
        }.get(stem)
        if where is None:
            return
        part = self._part(where, event.get(f"{where}_index"))
        if word == "delta":
            part.add(text(event.get("delta")))
        elif word == "done":
            part.settle({"text": event.get("text")})

    def _part(self, where: str, index: Any) -> PassedPart:
        key = (where, index if isinstance(index, int) else 0)
        if key not in self._parts:
            is_summary = where == "summary" or self.writer.view.summary
            place = PartPlace(self.output_index, self.id, len(self._displayed(is_summary)))
            kind = SummaryPart if is_summary else PassedPart
            self._parts[key] = kind(
                self.writer, place, "summary_text" if where == "summary" else "reasoning_text"
            )
            self._parts[key].open()
        return self._parts[key]

    def _displayed(self, is_summary: bool) -> list[PassedPart]:
        return [
            part for part in self._parts.values() if isinstance(part, SummaryPart) is is_summary
        ]

    def _settle(self) -> None:
        for where in ("summary", "content"):
            known = [part for key, part in self._parts.items() if key[0] == where]
            for place, part in enumerate(dicts(self.value.get(where))):
                if "text" in part:
                    mine = known[place] if place < len(known) else self._part(where, place)
                    mine.settle({"text": part["text"]})

    def _finish(self) -> None:
        for part in self._parts.values():
            part.close()

    def _closed(self) -> Item:
        item = Reasoning(
            id=self.id,
            status="completed",
            summary=[part.whole() for part in self._displayed(is_summary=True)],
            content=[part.whole() for part in self._displayed(is_summary=False)],
        )
        self._seal(item)
        return item

    def _seal(self, item: Reasoning) -> None:
        """Store what the backend expects back, and raw text that is not shown as such, for its next
        turn.
        """
        blob = text(self.value.get("encrypted_content"))
        raw = "\n\n".join(part.text for key, part in self._parts.items() if key[0] == "content")
        view = self.writer.view
        if not (blob or view.encrypted or view.summary):
            return
        state: Value = {"reasoning": {"think": raw} if raw else {}}
        if blob:
            state["native"] = {"id": self.key, "encrypted_content": blob}
        self.writer.sealed[self.id] = sealed = self.writer.seal(state)
        if view.encrypted:
            item.encrypted_content = sealed
