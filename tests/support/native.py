"""A Responses backend's bytes into events of ours, with ids that count and a clock that stands."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.translation.from_responses.reader import ResponsesStream
from antiphon.translation.wire import AnswerReader, Finish
from antiphon.translation.writer import ResponseWriter, View
from tests.support.replay import JSON, Answer, Script
from tests.support.translate import begin_writer, end_writer


@dataclass
class Passed:
    """What came of one backend answer: the events as plain JSON, how it ended, and who made it."""

    writer: ResponseWriter
    stream: ResponsesStream
    events: list[dict[str, Any]] = field(default_factory=list)
    ending: Finish | None = None

    @property
    def response(self) -> dict[str, Any]:
        """The response of the terminal event."""
        return self.events[-1]["response"]  # type: ignore[no-any-return]

    @property
    def output(self) -> list[dict[str, Any]]:
        """Its items."""
        return self.response["output"]  # type: ignore[no-any-return]

    @property
    def types(self) -> list[str]:
        """The types of its events."""
        return [event["type"] for event in self.events]

    @property
    def sealed(self) -> list[dict[str, Any]]:
        """What was sealed with each reasoning item that had anything to seal."""
        return [json.loads(blob) for blob in self.writer.sealed.values()]


def begin(view: View | None = None, **options: Any) -> Passed:
    """Start a response whose ids are `msg_1`, `fc_2` and so on; `options` are those of
    `ResponsesStream`.
    """
    writer = begin_writer(view)
    return Passed(writer, ResponsesStream(writer, **options))


def pass_on(parts: bytes | Iterable[bytes], *, is_json: bool = False, **options: Any) -> Passed:
    """Pass the bytes of one backend answer on, in one read or in several."""
    passed = begin(**options)
    reader = AnswerReader(passed.stream, is_json)
    for part in [parts] if isinstance(parts, bytes) else parts:
        reader.feed(part)
        if reader.is_over:
            break
    passed.ending = reader.finish()
    passed.events += end_writer(passed.writer, passed.ending)
    return passed


def pass_events(*events: dict[str, Any], **options: Any) -> Passed:
    """Pass these events on."""
    data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    return pass_on(data, **options)


def pass_plain(response: dict[str, Any], **options: Any) -> Passed:
    """Pass a plain answer on."""
    return pass_on(json.dumps(response).encode(), is_json=True, **options)


# What a Responses backend sends.

USAGE = {
    "input_tokens": 7,
    "input_tokens_details": {"cached_tokens": 3},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 12,
}


def response(*items: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    """A whole response of a backend's."""
    return {
        "id": "resp_up",
        "object": "response",
        "status": status,
        "output": list(items),
        "usage": USAGE,
        **more,
    }


def message(text: str, item_id: str = "msg_up", **more: Any) -> dict[str, Any]:
    """A message of a backend's."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "id": item_id, "type": "message", "status": "completed", "role": "assistant", "content": [part], **more  # noqa: E501 - one text, or a row of a table
    }  # fmt: skip


def call(
    name: str = "look", arguments: str = "{}", call_id: str = "call_up", **more: Any
) -> dict[str, Any]:
    """A function call of a backend's."""
    return {
        "id": f"fc_{call_id}", "type": "function_call", "status": "completed",
        "call_id": call_id, "name": name, "arguments": arguments, **more,
    }  # fmt: skip


def thought(blob: str = "", *summary: str, item_id: str = "rs_up") -> dict[str, Any]:
    """Reasoning of a backend's."""
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {
        "id": item_id,
        "type": "reasoning",
        "summary": parts,
        **({"encrypted_content": blob} if blob else {}),
    }


def frames(*events: dict[str, Any]) -> bytes:
    """Events as a backend streams them, numbered."""
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in numbered
    )


def opening() -> list[dict[str, Any]]:
    """How a stream begins."""
    begun = response(status="in_progress", usage=None)
    return [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]


def deltas(item: dict[str, Any], index: int = 0) -> list[dict[str, Any]]:
    """An item's events; a message's text comes word by word."""
    where = {"output_index": index}
    part = {**where, "item_id": item["id"], "content_index": 0}
    words: list[dict[str, Any]] = []
    added = {**item, "status": "in_progress"} if "status" in item else item
    if item["type"] == "message":
        added = {**added, "content": []}
        text = item["content"][0]["text"]
        empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        words = [
            {"type": "response.content_part.added", **part, "part": empty},
            *(
                {"type": "response.output_text.delta", **part, "delta": f"{word} "}
                for word in text.split()[:-1]
            ),
            {"type": "response.output_text.delta", **part, "delta": text.split()[-1]},
            {"type": "response.output_text.done", **part, "text": text},
            {"type": "response.content_part.done", **part, "part": item["content"][0]},
        ]
    return [
        {"type": "response.output_item.added", **where, "item": added},
        *words,
        {"type": "response.output_item.done", **where, "item": item},
    ]


def streamed(*items: dict[str, Any], **more: Any) -> bytes:
    """A whole stream of these items."""
    events = [event for index, item in enumerate(items) for event in deltas(item, index)]
    whole = response(*items, **more)
    return frames(*opening(), *events, {"type": f"response.{whole['status']}", "response": whole})


def answering(*answers: Sequence[dict[str, Any]] | Answer) -> Script:
    """A script of a Responses backend: these items in turn, streamed or plain as asked, the last
    again and again.
    """
    left = list(answers)

    def script(request: dict[str, Any]) -> Answer:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Answer):
            return answer
        if request.get("stream"):
            return Answer([streamed(*answer)])
        return Answer([json.dumps(response(*answer)).encode()], JSON)

    return script
