"""A backend's Responses events in, ours out. No I/O.

Theory of operation. The backend's numbering is not trusted: an event belongs to an item by that
item's id, or by its `output_index`, and the item writes its content through the response's writer,
which alone numbers. An item that the backend ended is closed at the next event, because only then
it is known whether the answer was truncated in it. The backend's final response is compared with
what was emitted, and supplies what is missing; a non-streamed answer is a final response without
earlier events.
"""

from collections.abc import Collection, Sequence
from typing import Any

from antiphon.errors import BackendError
from antiphon.protocol.chat import read_error
from antiphon.protocol.items.content import MAX_CALL_ID
from antiphon.protocol.validation.call_rules import CALLS
from antiphon.translation.from_chat.text_filters import repaired
from antiphon.translation.from_responses.item import PassedItem
from antiphon.translation.from_responses.items import pass_on
from antiphon.translation.from_responses.values import KINDS, dicts, read_usage, text
from antiphon.translation.json_events import decode_event
from antiphon.translation.wire import Finish, FinishReason
from antiphon.translation.writer import ResponseWriter

TERMINAL = (
    "response.completed",
    "response.incomplete",
    "response.failed",
    "response.cancelled",
    "response.done",
)

REASONS: dict[str, FinishReason] = {"content_filter": "content_filter"}
"""Why an answer was truncated; every other reason is some limit."""

UNFINISHED = ("failed", "cancelled", "in_progress", "queued")
"""Statuses of a response that is not an answer. Any other response is."""

STARTERS = {
    "response.output_text": "message",
    "response.refusal": "message",
    "response.reasoning_text": "reasoning",
    "response.reasoning_summary_text": "reasoning",
}
"""Events with everything that is needed to open their item, if the backend did not."""

CLIENTS = ("function_call", "custom_tool_call")
"""Calls that the client answers, and can request one at a time."""

_TIES = ("call_id", "caller")
"""Fields of an item that are kept from its opening to its end."""

_CALL_TYPES = frozenset(str(kind.__struct_config__.tag) for kind in CALLS)


class ResponsesStream:
    """Passes one backend answer on as events of a response, through the response's writer.

    `read` the data of every event, or the one object of a non-streamed answer, then `finish` it.
    `call_ids` are those used in the conversation; `only_one` accepts one call and no more.
    """

    def __init__(
        self, writer: ResponseWriter, *, call_ids: Collection[str] = (), only_one: bool = False
    ) -> None:
        self._writer = writer
        self._only_one = only_one
        self._taken = set(call_ids)
        self._renamed: dict[str, str] = {}
        self._items: list[PassedItem] = []
        self._by_key: dict[str, PassedItem] = {}
        self._by_index: dict[int, PassedItem] = {}
        self._ended: PassedItem | None = None
        """The item that waits to be closed."""
        self._muted: set[str] = set()
        """Items that are dropped, by their ids at the backend."""
        self._is_unread = False
        """The backend began something that the API does not have, such as a call of a new kind of
        its own tools.
        """
        self._dropped: list[str] = []
        """The types of items that could not be read."""
        self._response: dict[str, Any] | None = None
        self.error: BackendError | None = None

    @property
    def is_over(self) -> bool:
        """Whether the backend reported how its answer ended."""
        return (
            self.error is not None
            or self._response is not None
            or self._writer.stopped_by is not None
        )

    @property
    def has_calls(self) -> bool:
        """Whether a call began."""
        return any(item.kind in _CALL_TYPES for item in self._items)

    @property
    def preopened(self) -> bool:
        """Tags are Chat's: a backend that implements Responses separates reasoning from text."""
        return False

    def read(self, data: bytes) -> None:
        """Read the data of one event, or a non-streamed answer. Raises `BackendError` for anything
        but a JSON object.
        """
        self.feed(decode_event(data, repaired))

    def read_run(self, events: Sequence[bytes], start: int) -> int:
        """Read one event; return that it is one.

        Raises `BackendError` for anything but a JSON object.
        """
        self.read(events[start])
        return 1

    def take_text(self, data: bytes) -> Finish | None:
        """Return None: an answer is passed on item by item."""

    def feed(self, event: dict[str, Any]) -> None:
        """Process one event, or a non-streamed answer.

        Anything after the end of an answer is ignored, except its usage after a stop sequence.
        """
        if self.error is not None or self._response is not None:
            return
        name = event.get("type")
        stem, _, word = name.rpartition(".") if isinstance(name, str) else ("", "", "")
        if word == "delta":
            self._pass(stem, word, event)
        elif name in TERMINAL and isinstance(event.get("response"), dict):
            self._conclude(event["response"])
        elif "output" in event and not stem:
            self._conclude(event)
        elif name == "error" or event.get("error"):
            self.error = self._read_error(event.get("error") or event)
        elif stem == "response.output_item":
            self._turn(word, event)
        else:
            self._pass(stem, word, event)

    def finish(self, done: bool = False) -> Finish:
        """End the answer; close open items, return how it ended."""
        error = self.error or self._failure()
        outcome = self._outcome()
        is_cut = error is not None or outcome != "completed"
        self._close_ended(is_last=outcome != "completed")
        last = self._items[-1] if self._items else None
        for item in self._items:
            item.close("incomplete" if is_cut and (item is last or not item.is_ended) else None)
        response = self._response or {}
        usage = read_usage(response.get("usage")) if response else None
        return Finish(outcome, usage, error, removed=dicts(response.get("input_transformations")))

    # The life of an item.

    def _turn(self, word: str, event: dict[str, Any]) -> None:
        value = event.get("item")
        if not isinstance(value, dict):
            return
        known = self._by_key.get(text(value.get("id")))
        is_same = known is not None and known.kind == value.get("type")
        is_ended = known is not None and known.is_ended
        if word == "added" and (is_ended or not is_same):
            self._open(value, event.get("output_index"))
        elif word == "done" and not (is_ended and is_same):
            self._done(value, event)

    def _done(self, value: dict[str, Any], event: dict[str, Any]) -> None:
        item = self._find(event | {"item_id": value.get("id")})
        if item is None or item.kind != value.get("type") or item.is_ended:
            item = self._open(value, event.get("output_index"))
        if item is not None:
            self._end(item, value)

    def _open(self, value: dict[str, Any], index: Any) -> PassedItem | None:
        if self._writer.stopped_by is not None:
            return None
        self._close_ended()
        kind = value.get("type")
        key = text(value.get("id"))
        if key in self._muted:
            return None
        if self._only_one and kind in CLIENTS and any(item.kind in CLIENTS for item in self._items):
            self._muted |= {key} - {""}
            return None
        item = pass_on(self._writer, self._renumbered(value))
        if item is not None:
            self._items.append(item)
            if key:
                self._by_key[key] = item
            if isinstance(index, int):
                self._by_index[index] = item
        else:
            self._is_unread = True
            self._dropped.append(str(kind)[:64])
            if str(kind) not in KINDS:
                self._muted |= {key} - {""}  # it would be reported at each of its events
        return item

    def _end(self, item: PassedItem, value: dict[str, Any]) -> None:
        self._close_ended()
        # OpenAI was recorded sending one call with two ids: the first one was emitted.
        item.end(value | {key: item.value[key] for key in _TIES if key in item.value})
        self._ended = item

    def _close_ended(self, *, is_last: bool = False) -> None:
        item = self._ended
        self._ended = None
        if item is not None and not (is_last and item is self._items[-1]):
            item.close(None)

    def _renumbered(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return an item with the call id that the client sees."""
        provided = value.get("call_id")
        kind = str(value.get("type"))
        if kind in _CALL_TYPES and (provided or kind != "tool_search_call"):
            value = value | {"call_id": self._call_id(text(provided))}
        elif isinstance(provided, str):
            value = value | {"call_id": self._renamed.get(provided, provided)}
        caller = value.get("caller")
        if isinstance(caller, dict) and (
            renamed := self._renamed.get(text(caller.get("caller_id")))
        ):
            value = value | {"caller": caller | {"caller_id": renamed}}
        return value

    def _call_id(self, text: str) -> str:
        """Return the backend's id if it is free, the same for the same call."""
        if text not in self._renamed:
            is_free = 0 < len(text) <= MAX_CALL_ID and text not in self._taken
            self._renamed[text] = text if is_free else self._writer.new_id("call")
            self._taken.add(self._renamed[text])
        return self._renamed[text]

    # The content of an item.

    def _pass(self, stem: str, word: str, event: dict[str, Any]) -> None:
        item = self._find(event)
        if item is None and word == "delta" and stem in STARTERS and "output_index" in event:
            item = self._open(
                {"type": STARTERS[stem], "id": event.get("item_id")}, event["output_index"]
            )
        if item is not None:
            item.feed(stem, word, event)
        elif stem.startswith("response."):
            self._is_unread = True

    def _find(self, event: dict[str, Any]) -> PassedItem | None:
        key = text(event.get("item_id"))
        index = event.get("output_index")
        if key in self._muted:
            return None
        item = self._by_key.get(key)
        if item is None and isinstance(index, int):
            item = self._by_index.get(index)
        return item

    # How it ended.

    def _conclude(self, response: dict[str, Any]) -> None:
        self._response = response
        for value in dicts(response.get("output")):
            self._compare(value)

    def _compare(self, value: dict[str, Any]) -> None:
        """Emit the part of an item of the final response that was not emitted yet."""
        item = self._by_key.get(text(value.get("id")))
        if self._writer.stopped_by is not None:
            return
        if item is None or item.is_settled or item.kind != value.get("type"):
            alike = (
                one for one in self._items if one.kind == value.get("type") and not one.is_settled
            )
            item = next(alike, None) or self._open(value, None)
        if item is not None:
            item.is_settled = True
            if not item.is_ended:
                self._end(item, value)

    def _outcome(self) -> FinishReason:
        if self._writer.stopped_by is not None:
            return "completed"
        response = self._response or {}
        if response.get("status") != "incomplete":
            return "completed"
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        return REASONS.get(str(reason), "max_output_tokens")

    def _read_error(self, value: Any) -> BackendError:
        if self._items or self._is_unread:
            return read_error(value)
        from antiphon.protocol.refused_answers import read_refusal  # noqa: PLC0415 - few answers are refusals

        return read_refusal(value)

    def _failure(self) -> BackendError | None:
        if self._writer.stopped_by is not None:
            return None
        if self._response is None:
            return BackendError("The backend's answer ended before it was finished.")
        if self._response.get("error"):
            return self._read_error(self._response["error"])
        if (status := self._response.get("status")) in UNFINISHED:
            return BackendError(f"The backend reports the status '{status}' for its answer.")
        if self._dropped and not self._items and status != "incomplete":
            return BackendError(
                f"The backend's answer has nothing but an item of the type '{self._dropped[0]}', "
                "which is not known here or not valid."
            )
        return None
