"""Closes the open items of a background response that is ended from outside.

The worker that runs it may be on another server or dead, so everything is read from the store: open
items from the events that were logged after the resume point, and tool calls that wait behind an
open one from the checkpoint.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from antiphon.jobs.parts import JobParts
from antiphon.protocol import events
from antiphon.protocol.tool_bindings import Offer
from antiphon.recording.checkpoints import ToolCallRecord, from_bytes
from antiphon.runs.call_records import restore_done
from antiphon.runs.tool_lists import LEFT
from antiphon.storage.operations import event_log
from antiphon.storage.records.jobs import Job
from antiphon.storage.records.responses import StoredItem
from antiphon.translation.hosted_items import begin
from antiphon.translation.writer import ResponseWriter

Json = dict[str, Any]


class TextEnd(NamedTuple):
    """The end of a text with deltas: its event, that event's field, and where an item without
    parts stores it.
    """

    event: Callable[..., events.Event]
    field: str
    item_path: tuple[str, ...] = ()


TEXT_ENDS: dict[str, TextEnd] = {
    "response.output_text": TextEnd(events.ResponseTextDoneEvent, "text"),
    "response.refusal": TextEnd(events.ResponseRefusalDoneEvent, "refusal"),
    "response.reasoning_text": TextEnd(events.ResponseReasoningTextDoneEvent, "text"),
    "response.reasoning_summary_text": TextEnd(
        events.ResponseReasoningSummaryTextDoneEvent, "text"
    ),
    "response.function_call_arguments": TextEnd(
        events.ResponseFunctionCallArgumentsDoneEvent, "arguments", ("arguments",)
    ),
    "response.custom_tool_call_input": TextEnd(
        events.ResponseCustomToolCallInputDoneEvent, "input", ("input",)
    ),
    "response.mcp_call_arguments": TextEnd(
        events.ResponseMcpCallArgumentsDoneEvent, "arguments", ("arguments",)
    ),
    "response.code_interpreter_call_code": TextEnd(
        events.ResponseCodeInterpreterCallCodeDoneEvent, "code", ("code",)
    ),
    "response.apply_patch_call_operation_diff": TextEnd(
        events.ResponseApplyPatchCallOperationDiffDoneEvent, "diff", ("operation", "diff")
    ),
    "response.shell_call_command": TextEnd(
        events.ResponseShellCallCommandDoneEvent, "command", ("action", "commands")
    ),
}
"""By the type of the text's events, without their last word."""

PART_TEXTS = {
    "output_text": "response.output_text",
    "refusal": "response.refusal",
    "reasoning_text": "response.reasoning_text",
    "summary_text": "response.reasoning_summary_text",
}
"""The text of each type of part."""

PART_ENDS: dict[str, tuple[str, Callable[..., events.Event]]] = {
    "content_index": ("content", events.ResponseContentPartDoneEvent),
    "summary_index": ("summary", events.ResponseReasoningSummaryPartDoneEvent),
}
"""The field of the item that contains the parts, and the event that ends one, by their index."""

PLACE = ("output_index", "item_id", "content_index", "summary_index", "command_index")

NO_END = ("apply_patch_call",)
"""Items with one status before `completed`: `in_progress` (specification section 16)."""


@dataclass(slots=True)
class OpenText:
    """A text, or a part of content or summary, as far as it was received."""

    kind: str
    place: Json
    part: Json | None = None
    pieces: list[str] = field(default_factory=list)
    whole: str | None = None
    """The content of its `done` event."""
    logprobs: list[Any] = field(default_factory=list)
    annotations: list[Any] = field(default_factory=list)
    is_closed: bool = False

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self.pieces) if self.whole is None else self.whole

    def read(self, event: Json) -> None:
        """Process an event of it."""
        last = event["type"].rpartition(".")[2]
        if "part" in event:
            self.part = event["part"]
            self.is_closed = last == "done"
        elif "annotation" in event:
            self.annotations.append(event["annotation"])
        elif last == "delta":
            self.pieces.append(event["delta"])
            self.logprobs += event.get("logprobs", ())
        elif last == "done":
            self.whole = event[TEXT_ENDS[self.kind].field]

    def close(self, writer: ResponseWriter) -> Any:
        """Emit its end; return its part, or its text if it has no parts."""
        if self.is_closed:
            return self.part
        end = TEXT_ENDS[self.kind]
        if self.whole is None:
            extra = {"logprobs": self.logprobs} if end.event is events.ResponseTextDoneEvent else {}
            writer.emit(end.event(**self.place, **{end.field: self.text}, **extra))
        if self.part is None:
            return self.text
        part = {**self.part, end.field: self.text}
        if self.kind == "response.output_text":
            part |= {"logprobs": self.logprobs, "annotations": self.annotations}
        (end_part,) = (PART_ENDS[name][1] for name in PART_ENDS if name in self.place)
        writer.emit(end_part(**self.place, part=part))
        return part


@dataclass(slots=True)
class UnfinishedItem:
    """An item since it was added."""

    item: Json
    is_done: bool = False
    texts: dict[tuple[str, int | None], OpenText] = field(default_factory=dict)
    """The kind of its index and the index; empty and None if the item has one text."""

    def read(self, event: Json) -> None:
        """Process an event of the item."""
        if event["type"] == "response.output_item.done":
            self.item = event["item"]
            self.is_done = True
            return
        kind = (
            PART_TEXTS.get(event["part"]["type"], "")
            if "part" in event
            else event["type"].rpartition(".")[0]
        )
        by = next((name for name in PLACE[2:] if name in event), "")
        key = by, event.get(by)
        text = self.texts.get(key)
        if text is None and kind in TEXT_ENDS:
            place = {name: event[name] for name in PLACE if name in event}
            text = self.texts[key] = OpenText(kind, place)
        if text is not None:
            text.read(event)

    def close(self, writer: ResponseWriter, output_index: int) -> Json:
        """Emit the item's end, as incomplete; return the item."""
        if self.is_done:
            return self.item
        item: Any = dict(self.item)
        for (by, _), text in sorted(self.texts.items()):
            _put(item, text, by, text.close(writer))
        if item["type"] == "mcp_list_tools":
            item["error"] = LEFT
            step = events.STEP_EVENTS["mcp_list_tools", "failed"]
            writer.emit(step(output_index=output_index, item_id=str(item["id"])))
        elif item.get("status") and item["type"] not in NO_END:
            item["status"] = "incomplete"
        writer.emit(events.ResponseOutputItemDoneEvent(output_index=output_index, item=item))
        closed: Json = item
        return closed


def _put(item: Json, text: OpenText, by: str, whole: Any) -> None:
    """Put the final text where its item stores it."""
    if by in PART_ENDS:
        path: Sequence[str] = (PART_ENDS[by][0],)
    else:
        path = TEXT_ENDS[text.kind].item_path
    *outer, last = path
    for name in outer:
        item[name] = item = dict(item.get(name) or {})
    item[last] = whole if not by else [*(item.get(last) or ()), whole]


async def close_unfinished(parts: JobParts, job: Job, writer: ResponseWriter) -> list[StoredItem]:
    """Emit the end of all open items of a job, and pass the output to its writer; return the
    output to store.

    The caller writes with the job's version, so an event that its worker logs meanwhile makes
    that write fail.
    """
    stored = job.response
    first = len(stored.output)
    items = await _read_log(parts, job, first)
    created = [items[index].close(writer, index) for index in sorted(items)]
    saved = [msgspec.json.decode(item.body) for item in stored.output]
    whole: list[Any] = [*saved, *created]
    writer.resume(whole, writer.next_number, settled=len(whole))
    for record in from_bytes(job.checkpoint).calls:
        if record.index >= len(whole):
            _close_recorded(writer, record)
    behind = [_plain(item) for _, item in writer.since(len(whole)) if item is not None]
    return [*stored.output, *(_stored(item, writer.sealed) for item in (*created, *behind))]


async def _read_log(parts: JobParts, job: Job, first: int) -> dict[int, UnfinishedItem]:
    """Return the items after the stored ones, by output index; reads the log page by page."""
    items: dict[int, UnfinishedItem] = {}
    after = job.resume_number - 1
    stored = job.response
    store = parts.store
    while (
        tail := await store.read(event_log.tail, stored.tenant, stored.id, after)
    ) is not None and tail.frames:
        for frames in tail.frames:
            for event in _events(frames.body):
                if event["sequence_number"] > after and event.get("output_index", -1) >= first:
                    _read(items, event)
            after = frames.last
    return items


def _events(body: bytes) -> list[Json]:
    return [
        msgspec.json.decode(each.partition(b"data: ")[2]) for each in body.split(b"\n\n") if each
    ]


def _read(items: dict[int, UnfinishedItem], event: Json) -> None:
    index = event["output_index"]
    if event["type"] == "response.output_item.added":
        items[index] = UnfinishedItem(event["item"])
    elif index in items:
        items[index].read(event)


def _close_recorded(writer: ResponseWriter, record: ToolCallRecord) -> None:
    """Emit a call that no client saw: with its result if it has one, else as incomplete."""
    if record.is_done:
        restore_done(writer, record)
        return
    offer = Offer(
        "",
        record.kind,
        record.name,
        namespace=record.namespace,
        is_hosted=True,
        approval_request_id=record.approval_request_id,
        container_id=record.container_id,
    )
    begin(writer, record.call_id, offer, record.arguments).drop()


def _plain(item: Any) -> Json:
    value: Json = msgspec.to_builtins(item)
    return value


def _stored(item: Json, sealed: Mapping[str, str]) -> StoredItem:
    """Return an item as it is stored, with its `encrypted_content` separate,
    except for a compaction.
    """
    blob = sealed.get(str(item.get("id")))
    if item["type"] != "compaction" and item.get("encrypted_content"):
        item = dict(item)
        blob = item.pop("encrypted_content")
    return StoredItem(str(item.get("id")), msgspec.json.encode(item), blob)
