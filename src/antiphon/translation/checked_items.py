"""Items of models that can violate the requested format: checked when they end, and corrected or
held if they are wrong.

An item that is wrong and cannot be repaired is requested once more (`runs/corrections.py`): it is
held until then, and `settle` ends it. What the client has received is final, so a correction counts
only if it begins with that.
"""

import sys
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.errors import BackendError
from antiphon.protocol.items.content import Item, OutputText, Status
from antiphon.protocol.items.messages import FunctionCall, Message
from antiphon.protocol.schemas import JUDGE, misfit
from antiphon.protocol.sources import Sources
from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.broken_json import REPAIRER, continued, repaired
from antiphon.translation.items import StreamingMessage
from antiphon.translation.json_guard import JsonGuard
from antiphon.translation.stop_sequences import StopWatch
from antiphon.translation.tool_items import StreamingCall, read_object
from antiphon.translation.writer import GrowingText, ResponseWriter

REPAIRING = (REPAIRER, JUDGE)
"""The modules that a repair needs."""

NO_OBJECT = "The arguments are not a JSON object."
BREAKS_SCHEMA = "The model's answer does not fit the schema of 'text.format'."
TWICE = " A second attempt did not fit it either."


def can_repair() -> bool:
    """Whether the modules that a repair needs are loaded."""
    return all(sys.modules.get(name) for name in REPAIRING)


class CheckedCall(StreamingCall):
    """A function call with arguments that can be malformed: they stream as far as they are valid.

    If the backend enforces a weaker schema than the tool has, the arguments are held until they
    end.
    """

    kind = "arguments"
    complaint = "The arguments of a call are not a JSON object that fits the schema of its tool."
    failure: BackendError | None = None
    is_reported = False

    def __init__(
        self, writer: ResponseWriter, call_id: str, offer: Offer, item_id: str = ""
    ) -> None:
        self._sent: list[str] = []
        self._guard = JsonGuard() if writer.has_reader and offer.check == "json" else None
        self.misfit = ""
        """What is wrong with the arguments of a held call."""
        super().__init__(writer, call_id, offer, item_id)

    @property
    def text(self) -> str:
        """The arguments so far."""
        return self.arguments

    @property
    def sent(self) -> str:
        """The arguments that the client has received."""
        return "".join(self._sent)

    def close(self, status: Status) -> StreamingCall | None:
        """See `StreamingCall.close`."""
        if status == "completed" and not self.arguments.strip():
            self.add("{}")
        elif status == "completed":
            self.misfit = self._misfit()
            if self.misfit:
                text = None if self.writer.loads_later and not can_repair() else self.repaired()
                if text is None:
                    self.writer.waiting[self._output_index] = lambda: self.settle(self.text)
                    return self
                self.writer.notes.append((self.kind, "repaired"))
                self.settle(text)
                return None
        self._send(self.arguments[len(self.sent) :])
        return super().close(status)

    def fitting(self, items: Sequence[Item]) -> str | None:
        """Return arguments of another answer that can replace these, None if it has none."""
        calls = [
            one for one in items if isinstance(one, FunctionCall) and one.name == self.offer.name
        ]
        value = (
            read_object(calls[0].arguments) if calls and calls[0].status == "completed" else None
        )
        if value is None or self._breaks_schema(value):
            return None
        return continued(self.sent, value) if self._sent else calls[0].arguments

    def settle(self, text: str) -> None:
        """End the call with these arguments, which begin with the text already sent."""
        self._send(text[len(self.sent) :])
        self._arguments = [text]
        super().close("completed")

    def _grow(self, delta: str) -> None:
        if self._guard is not None:
            self._send(self._guard.feed(delta))

    def _send(self, text: str) -> None:
        if text:
            self._sent.append(text)
            super()._grow(text)

    def _misfit(self) -> str:
        """Return what is wrong. A loose schema that is sent unchanged concerns only the backend and
        the tool.
        """
        if not self.is_whole():
            return NO_OBJECT
        return misfit(self.offer.parameters, self.arguments) if self.offer.check == "schema" else ""

    def repaired(self) -> str | None:
        """Return the arguments that these certainly mean, None if they are ambiguous."""
        value = repaired(self.arguments) if self.misfit == NO_OBJECT else None
        if value is None or misfit(self.offer.parameters, msgspec.json.encode(value).decode()):
            return None
        return continued(self.sent, value)

    def _breaks_schema(self, value: dict[str, Any]) -> bool:
        return self.offer.check == "schema" and bool(
            misfit(self.offer.parameters, msgspec.json.encode(value).decode())
        )


class TextCheck(Struct, frozen=True):
    """The schema that the text of an answer must match."""

    schema: dict[str, Any]
    is_strict: bool
    """Whether a text that never matches fails the response; otherwise it is sent as it is."""
    holds: bool
    """Whether the text is held until its end, so that another can replace it."""

    def misfit(self, text: str) -> str:
        """Return in words why a text does not match, empty if it does."""
        return misfit(self.schema, text)

    def repaired(self, text: str) -> str | None:
        """Return the matching text that this one certainly means, None if there is no such text."""
        value = repaired(text)
        fixed = None if value is None else msgspec.json.encode(value).decode()
        return None if fixed is None or self.misfit(fixed) else fixed


class CheckedMessage(StreamingMessage):
    """The message of an answer that must match a schema.

    A refusal, or text next to calls, is not checked; nor is text that a stop sequence has cut,
    because that can be anywhere in it.
    """

    kind = "text"
    complaint = "The text of an answer does not fit its schema."

    def __init__(self, writer: ResponseWriter, sources: Sources | None, check: TextCheck) -> None:
        super().__init__(writer, sources)
        self._check: TextCheck | None = check
        self._watch = StopWatch(writer.stops) if writer.stops is not None else None
        self._retained: list[str] = []
        self._buffered_logprobs: list[dict[str, Any]] = []
        self.is_reported = not check.holds
        """Whether the client has received the text unchanged."""
        self.misfit = ""
        """What is wrong with the text."""
        self.text = ""
        """The text, once it has ended."""

    @property
    def failure(self) -> BackendError | None:
        """Return the error of the response with such a text."""
        if self._check is None or not self._check.is_strict:
            return None
        text = f"{BREAKS_SCHEMA} {self.misfit}{TWICE if self._check.holds else ''}"
        return BackendError(text, gist=self.complaint, headers={"x-should-retry": "false"})

    def add_text(self, delta: str, logprobs: list[dict[str, Any]] | None = None) -> None:
        """See `StreamingMessage.add_text`."""
        if self._watch is None:
            self._add(delta, logprobs)
            return
        if text := self._watch.feed(delta):
            self._add(text)
        if self._watch.found is not None:
            self._writer.stopped_by = self._watch.found
            self._check = None

    def _add(self, text: str, logprobs: list[dict[str, Any]] | None = None) -> None:
        if self.is_reported:
            super().add_text(text, logprobs)
            if self._watch is not None:
                self.steady = None
        else:
            self._retained.append(text)
            self._buffered_logprobs += logprobs or []

    def _release_rest(self) -> None:
        """Add the text that could have been the beginning of a stop sequence."""
        if self._watch is not None and (rest := self._watch.flush()):
            self._add(rest)

    def _emit_annotations(self, text: GrowingText, *, is_over: bool = False) -> None:
        super()._emit_annotations(text, is_over=is_over)
        if self._watch is not None:
            self.steady = None

    @property
    def pieces(self) -> list[str]:
        """See `StreamingMessage.pieces`."""
        return super().pieces if self.is_reported else self._retained

    def add_refusal(self, delta: str) -> None:
        """See `StreamingMessage.add_refusal`."""
        self._release_rest()
        self.release()
        super().add_refusal(delta)

    def annotate(self, annotation: dict[str, Any]) -> None:
        """See `StreamingMessage.annotate`."""
        self._emit_text("".join(self._retained), self._buffered_logprobs)
        super().annotate(annotation)

    def release(self) -> None:
        """Mark the text as not being the structured answer: it is sent as it arrives, unchecked."""
        self._check = None
        self._emit_text("".join(self._retained), self._buffered_logprobs)

    def close(self, status: Status) -> "StreamingMessage | None":
        """See `StreamingMessage.close`."""
        self._release_rest()
        text = self.text = "".join(self._retained or (self._text.pieces if self._text else ()))
        self.misfit = (
            self._check.misfit(text) if self._check is not None and status == "completed" else ""
        )
        if not self.misfit or self._check is None:
            self._end(text, status)
        elif self.is_reported:
            self._end(text, status)
            return self
        elif (
            fixed := None if self._writer.loads_later and not can_repair() else self.repaired()
        ) is not None:
            self._writer.notes.append((self.kind, "repaired"))
            self._end(fixed, status)
        else:
            self._writer.waiting[self._output_index] = lambda: self.settle(text)
            return self
        return None

    def fitting(self, items: Sequence[Item]) -> str | None:
        """Return the text of another answer that can replace this one, None if it has none."""
        content = [part for one in items if isinstance(one, Message) for part in one.content]
        text = "".join(part.text for part in content if isinstance(part, OutputText)).strip()
        if not text or self._check is None:
            return None
        return text if not self._check.misfit(text) else self._check.repaired(text)

    def repaired(self) -> str | None:
        """Return the matching text that this one certainly means, None if there is no such text."""
        return self._check.repaired(self.text) if self._check is not None else None

    def settle(self, text: str) -> None:
        """End the message with this text, unless the client has already received another."""
        if not self.is_reported:
            self._end(text, "completed")

    def _end(self, text: str, status: Status) -> None:
        self._emit_text(text, self._buffered_logprobs if text == "".join(self._retained) else [])
        super().close(status)

    def _emit_text(self, text: str, logprobs: list[dict[str, Any]]) -> None:
        if not self.is_reported:
            self.is_reported = True
            self._retained = []
            if text:
                super().add_text(text, logprobs)


Checked = CheckedCall | CheckedMessage
