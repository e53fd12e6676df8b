"""The only place that assigns numbers.

A `ResponseWriter` lives as long as one response, however many backend calls that response takes.
Sequence numbers, output indexes and the final `output` are created here and nowhere else, so they
cannot disagree: `fold(events) == terminal response == stored response == GET == plain reply`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from antiphon.errors import AntiphonError, ClientError
from antiphon.ids import Clock, NewId
from antiphon.protocol import events
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.hosted import ImageGenerationCall, WebSearchCall
from antiphon.protocol.response import IncompleteDetails, Response, ResponseError, Usage, tool_usage
from antiphon.protocol.tool_bindings import Kind
from antiphon.translation.stop_sequences import StopSequences

PADDING = "kV3xQm8ZtR1wLp5N"
PADDINGS = [PADDING[size:] for size in range(len(PADDING))]

_encode = msgspec.json.Encoder().encode


def padding(delta: str) -> str:
    """Return the padding that fills a delta to a multiple of 16 written bytes (specification
    section 4, `obfuscation`).

    An observer of the network sees bytes, and a line break, a quote or a non-ASCII letter takes
    more of them.
    """
    return PADDINGS[len(_encode(delta)) - len('""') & 15]


COUNTED = frozenset({WebSearchCall, ImageGenerationCall})
"""Items of the tools in usage counts."""

Seal = Callable[[dict[str, Any]], str]
"""Creates an `encrypted_content` from the data that a backend expects back on the next turn."""


CiteFiles = Callable[[str], Sequence[dict[str, Any]]]
"""Returns the annotations of a whole text."""

Moment = tuple[int, type[Any] | None, float]
"""When an item was opened, with its output index and its type, or closed, without a type."""

Note = tuple[str, str]
"""What was wrong in an answer (`arguments`, `text`, `custom_input`, `loop`), and what was done
about it.
"""


class View(Struct, frozen=True):
    """The optional parts of a response that its client requested (specification sections 2 and
    10.5).
    """

    summary: bool = False
    """Whether raw reasoning is sent as summary parts."""
    encrypted: bool = False
    """Whether reasoning items have their `encrypted_content`."""
    signed_ids: bool = False
    """Whether the id of a call contains its signature: nothing is stored, and the client did not
    include encrypted reasoning, so that the call itself may be all that it sends back.
    """
    sources: bool = False
    """Whether web searches have the pages that they found."""
    results: bool = False
    """Whether web searches have their results."""
    file_results: bool = False
    """Whether file searches have their results."""
    code_outputs: bool = False
    """Whether code interpreter calls have their outputs."""
    logprobs: bool = True
    rivals: int = 20
    """How many alternatives to each token; llama-cpp-python sends one more than requested."""
    obfuscation: bool = False
    """Whether deltas are padded, so that their size reveals little of their text."""


class ResponseWriter(Struct):
    """Writes one response's events.

    Call `start` (or `queue`, and `begin` later), then open and close items through `stream.items`, then one of
    `complete`, `stop_short`, `fail` and `cancel`, then `end`. `take` drains the events emitted since the last call;
    `response` is its current state; `error` is the reason for a failure.

    >>> from antiphon.translation import ResponseWriter
    >>> from antiphon.types import Response
    >>> from antiphon.ids import new_id, now
    >>> writer = ResponseWriter(Response(id="resp_1", created_at=0, model="m"), new_id, now, seal=lambda state: "")
    >>> writer.start()
    >>> [event.type for event in writer.take()]
    ['response.created', 'response.in_progress']
    """  # noqa: E501 - a table, a diagram or an example

    response: Response
    new_id: NewId
    now: Clock
    seal: Seal
    view: View = View()
    sealed: dict[str, str] = field(default_factory=dict)
    """What is sealed with items, by their ids: the `encrypted_content` of reasoning, shown to the
    client or not, and the signature of a call.
    """
    error: AntiphonError | None = None
    has_reader: bool = True
    """Whether the events are taken. If not, none are kept, and a text creates none."""
    newest: int = -1
    """The output index of the item opened last, -1 before the first."""
    reports_error: bool = True
    """Whether an `error` precedes `response.failed`."""
    applied: dict[str, Any] = field(default_factory=dict)
    """The fields in which the finished response differs from the request
    (`to_chat_completions.adjustments`).
    """
    notes: list[Note] = field(default_factory=list)
    """What was corrected in the model's output."""
    moments: list[Moment] | None = None
    """When items were opened and closed, by the clock `now`; None if no observer needs it."""
    waiting: dict[int, Callable[[], None]] = field(default_factory=dict)
    """Closes an item that waits for more than its answer, by its output index: for a response that
    ends earlier.
    """
    _gate: int | None = None
    """The item that is held open: events of later ones wait until it closes (specification section
    16).
    """
    _behind: dict[int, list[events.Event]] = field(default_factory=dict)
    """Events that wait behind the gate, by output index."""
    _output: list[Item | None] = field(default_factory=list)
    next_number: int = 0
    """The number of the next event."""
    _saved: int = 0
    """How many items an earlier attempt had closed."""
    _again: int = 0
    """How many of those this attempt has repeated, without emitting them."""
    loads_later: bool = False
    """Whether an item that needs a module which is not loaded is held, because a server loads
    modules outside its event loop.
    """
    containers: Mapping[Kind, str] = {}
    """The container in which calls run, by the kind of their tool; empty if the request has no such
    tool.
    """
    cite_files: CiteFiles | None = None
    """Returns the citations of files that code created, if there are any."""
    pending: list[events.Event] = field(default_factory=list)
    """The events to take."""
    stops: StopSequences | None = None
    """What ends the text of an answer; None for nothing."""
    stopped_by: str | None = None
    """The stop sequence before which the text ended: the answer is over."""

    def aside(self) -> "ResponseWriter":
        """Return a writer for events that the client of this one does not see."""
        view = View(logprobs=False)
        return ResponseWriter(
            self.response, self.new_id, self.now, lambda state: "", view, has_reader=False
        )

    def emit(self, event: events.Event) -> None:
        """Number an event and queue it, if events are taken."""
        if not self.has_reader:
            return
        if self._saved and getattr(event, "output_index", self._saved) < self._saved:
            return
        if (
            self._gate is not None
            and (index := getattr(event, "output_index", self._gate)) > self._gate
        ):
            self._behind.setdefault(index, []).append(event)
            return
        event.sequence_number = self.next_number
        self.next_number += 1
        self.pending.append(event)

    def take(self) -> list[events.Event]:
        """Return the events emitted since the last call."""
        pending = self.pending
        self.pending = []
        return pending

    def continue_at(self, number: int) -> None:
        """Give the next event this number: events that had it were never sent."""
        self.next_number = number

    def resume(self, stored: Sequence[Item], number: int, settled: int = 0) -> None:
        """Continue where an earlier attempt ended: these items remain, and the next event
        receives this number.

        The first `settled` of them are not repeated: the response continues after them. For the
        others the model is called again, so it repeats them. An item of the same kind as the one in
        its position is not emitted; new items begin with the first that differs, or that comes
        after the last.
        """
        self._output = list(stored)
        self._saved = len(stored)
        self.newest = self._saved - 1
        self._again = settled
        self.next_number = number

    # The life of an item.

    def open_item(self, item: Item) -> int:
        """Announce an item and return its output index."""
        if self._again < self._saved:
            if _is_alike(self._output[self._again], item):
                self._again += 1
                return self._again - 1
            self._again = self._saved
        output_index = self.newest = len(self._output)
        self._output.append(None)
        if self.moments is not None:
            self.moments.append((output_index, type(item), self.now()))
        if self.has_reader:
            self.emit(events.ResponseOutputItemAddedEvent(output_index=output_index, item=item))
        return output_index

    def add_item(self, item: Item) -> None:
        """Emit an item that arrived whole."""
        if self.has_reader or self._saved:
            self.close_item(self.open_item(item), item)
            return
        self.newest = len(self._output)
        self._output.append(item)

    def hold(self, output_index: int) -> None:
        """Make later items wait until this one closes: it stays open while its tool runs, and items
        are emitted in order.
        """
        if self._gate is None:
            self._gate = output_index

    def close_item(self, output_index: int, item: Item) -> None:
        """Close an item in its final form, which is the one in the response's `output`."""
        self.waiting.pop(output_index, None)
        if output_index >= self._saved:
            self._output[output_index] = item
            if self.moments is not None:
                self.moments.append((output_index, None, self.now()))
        if self.has_reader:
            self.emit(events.ResponseOutputItemDoneEvent(output_index=output_index, item=item))
        if output_index == self._gate:
            self._open_gate()

    def _open_gate(self) -> None:
        """Emit the waiting events, item by item, up to the first item that is not closed: it is the
        next gate.
        """
        self._gate = None
        for index in sorted(self._behind):
            for event in self._behind.pop(index):
                self.emit(event)
            if self._output[index] is None:
                self._gate = index
                return

    def since(self, output_index: int) -> list[tuple[int, Item | None]]:
        """The items from a position on; None for one that is open."""
        return list(enumerate(self._output))[output_index:]

    @property
    def output(self) -> list[Item]:
        """The items closed so far, in the order of their opening."""
        return list(filter(None, self._output))

    def between(self, before: int, newest: int) -> list[Item]:
        """Return the closed items that were opened after `before`, up to `newest`, as `newest`
        counts them.
        """
        return list(filter(None, self._output[before + 1 : newest + 1]))

    @property
    def created(self) -> list[Item]:
        """The closed items that this attempt has created."""
        return self.output[: self._again] if self._again < self._saved else self.output

    # The life of the response.

    def start(self) -> None:
        """Emit `response.created` and `response.in_progress`."""
        self.emit(events.ResponseCreatedEvent(response=self.response))
        self.begin()

    def queue(self) -> None:
        """Emit `response.created` and `response.queued`: the work waits."""
        self.emit(events.ResponseCreatedEvent(response=self.response))
        self.emit(events.ResponseQueuedEvent(response=self.response))

    def begin(self) -> None:
        """Emit `response.in_progress`."""
        self.emit(events.ResponseInProgressEvent(response=self.response))

    def keepalive(self) -> None:
        """Emit a `keepalive`: the backend is idle, the stream is alive."""
        self.emit(events.Keepalive())

    # How it ended is decided first, and emitted by `end` once it is durable.

    def complete(self, usage: Usage | None) -> None:
        """Complete the response.

        Without a count from the backend the usage is zero: clients break on null.
        """
        self._finish("completed", usage or Usage(), completed_at=int(self.now()))

    def stop_short(self, reason: Any, usage: Usage | None) -> None:
        """End the response early, for a reason of `IncompleteDetails`."""
        self._finish(
            "incomplete", usage or Usage(), incomplete_details=IncompleteDetails(reason=reason)
        )

    def fail(self, error: AntiphonError, usage: Usage | None = None) -> None:
        """Fail the response."""
        self.error = error
        response_error = ResponseError(code=_failure_code(error), message=error.message)
        self._finish("failed", usage, error=response_error)

    def cancel(self, usage: Usage | None = None) -> None:
        """Cancel the response: no client receives it any more."""
        self._finish("cancelled", usage)

    def end(self) -> None:
        """Emit the terminal event; before `response.failed` the `error`, nested and with the flat
        fields.
        """
        if not self.has_reader:
            return
        if self.error is not None and self.reports_error:
            body = {**self.error.body(), "code": _failure_code(self.error)}
            flat = {name: body[name] for name in ("code", "message", "param")}
            self.emit(events.ResponseErrorEvent(error=body, **flat))
        self.emit(TERMINAL[self.response.status](response=self.response))

    def _finish(
        self,
        status: Any,
        usage: Usage | None,
        *,
        completed_at: int | None = None,
        incomplete_details: IncompleteDetails | None = None,
        error: ResponseError | None = None,
    ) -> None:
        if self.waiting:
            for _, close in sorted(self.waiting.items()):
                close()
        output = list(filter(None, self._output))
        used = None if COUNTED.isdisjoint(map(type, output)) else tool_usage(output)
        self.response = replace(
            self.response,
            status=status,
            output=output,
            usage=usage,
            completed_at=completed_at,
            incomplete_details=incomplete_details,
            error=error,
            tool_usage=used or self.response.tool_usage,
            **self.applied,
        )


class GrowingText(Struct):
    """The text of one content part while it grows: every piece of it is a delta, numbered and
    queued by the writer.
    """

    writer: ResponseWriter
    output_index: int
    item_id: str
    content_index: int
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    """Characters so far."""
    logprobs: list[dict[str, Any]] = field(default_factory=list)
    """The log probabilities of its tokens so far."""

    def add(self, deltas: Sequence[str], logprobs: list[dict[str, Any]] | None = None) -> None:
        """Append texts that arrived together, each as its own delta; the log probabilities are
        those of all of them.
        """
        self.pieces += deltas
        self.length += sum(map(len, deltas))
        if logprobs:
            self.logprobs += logprobs
        writer = self.writer
        if not writer.has_reader:
            return
        pads = writer.view.obfuscation
        quotes = len('""')
        stated = logprobs or []
        run: list[events.Event] = []
        for number, delta in enumerate(deltas, writer.next_number):
            event = events.ResponseTextDeltaEvent(
                sequence_number=number,
                output_index=self.output_index,
                item_id=self.item_id,
                content_index=self.content_index,
                delta=delta,
                logprobs=stated,
                obfuscation=PADDINGS[len(_encode(delta)) - quotes & 15] if pads else UNSET,
            )
            run.append(event)
        if writer._saved or writer._gate is not None:
            for each in run:
                writer.emit(each)
            return
        writer.next_number += len(run)
        writer.pending += run


def _is_alike(stored: Item | None, item: Item) -> bool:
    return type(stored) is type(item) and getattr(stored, "name", None) == getattr(
        item, "name", None
    )


def _failure_code(error: AntiphonError) -> str:
    """A response's error always has a code; `invalid_prompt` makes Codex stop retrying."""
    return error.code or ("invalid_prompt" if isinstance(error, ClientError) else "server_error")


TERMINAL: dict[str, Any] = {
    "completed": events.ResponseCompletedEvent,
    "incomplete": events.ResponseIncompleteEvent,
    "failed": events.ResponseFailedEvent,
    # The API has no event for it: clients that know `incomplete` stop there, and the response has
    # the actual status.
    "cancelled": events.ResponseIncompleteEvent,
}


def output_text(response: Response) -> str:
    """Return the text of all messages of a response, joined."""
    output: Sequence[Any] = response.output
    texts = [
        part.text
        for item in output
        if getattr(item, "role", None) == "assistant"
        for part in item.content
        if hasattr(part, "text")
    ]
    return "".join(texts)
