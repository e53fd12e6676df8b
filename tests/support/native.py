"""A Responses backend's bytes into events of ours, with ids that count and a clock that stands."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from antiphon.native.stream import ResponsesStream
from antiphon.stream.answer import AnswerReader
from antiphon.stream.chat import Ending
from antiphon.stream.writer import ResponseWriter, View
from tests.support.translate import begin_writer, end_writer


@dataclass
class Passed:
    """What came of one backend answer: the events as plain JSON, how it ended, and who made it."""

    writer: ResponseWriter
    stream: ResponsesStream
    events: list[dict[str, Any]] = field(default_factory=list)
    ending: Ending | None = None

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
    """Start a response whose ids are `msg_1`, `fc_2` and so on; `options` are those of `ResponsesStream`."""
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
