"""Answers as they are kept: told again they say what they said, whoever said it."""

import itertools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antiphon.cache.cached_answer import (
    AnswerOrigin,
    CachedAnswer,
    from_bytes,
    noted,
    replay_answer,
    to_bytes,
)
from antiphon.protocol.events import ResponseOutputItemAddedEvent, ResponseOutputItemDoneEvent
from antiphon.protocol.items.hosted import WebSearchCall
from antiphon.protocol.response import Response, Usage
from antiphon.testing import assert_event_stream
from antiphon.translation.wire import AnswerReader, Finish, conclude
from antiphon.translation.writer import ResponseWriter, View
from tests.support.cases import each
from tests.support.parts import stated
from tests.support.recordings import MISSING, recorded
from tests.support.replay import sse
from tests.support.translate import begin

ORIGIN = AnswerOrigin("a", "http://127.0.0.1:1/v1", "m")
STREAMS = recorded("*.sse")


def receive(
    data: bytes, view: View | None = None
) -> tuple[CachedAnswer | None, Finish, list[dict[str, Any]]]:
    """Note an answer; return it with how it ended and the output that it made."""
    translation = begin(view, names=["look"])
    reader = AnswerReader(translation.chat)
    reader.feed(data)
    ending = reader.finish()
    events = translation.writer.take()
    conclude(translation.writer, ending)
    stored = noted(events, ORIGIN, ending.usage, translation.writer.sealed)
    return stored, ending, json.loads(msgspec.json.encode(translation.writer.response.output))


def report(
    stored: CachedAnswer, view: View | None = None, ending: Finish | None = None
) -> list[dict[str, Any]]:
    """Tell an answer to another client; return all events."""
    numbers = itertools.count(1)
    response = Response(id="resp_9", created_at=1, model="m")
    writer = ResponseWriter(
        response, lambda prefix: f"{prefix}_new{next(numbers)}", lambda: 2.0, str, view or View()
    )
    writer.start()
    replay_answer(stored, writer)
    conclude(writer, ending or Finish("completed", stored.usage))
    writer.end()
    reported: list[dict[str, Any]] = json.loads(msgspec.json.encode(writer.take()))
    return reported


def bare(output: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in item.items() if name != "id"} for item in output]


@pytest.mark.skipif(not STREAMS, reason=MISSING)
@each("path", STREAMS, ids=lambda path: path.stem)
def test_a_real_backends_answer_is_emitted_word_for_word(path: Path) -> None:
    stored, ending, output = receive(path.read_bytes())
    if stored is None:
        assert not output
        return
    again = from_bytes(to_bytes(stored))
    assert again is not None
    events = report(again, ending=ending)
    assert_event_stream(events)
    assert bare(events[-1]["response"]["output"]) == bare(output)
    assert all("new" in item["id"] for item in events[-1]["response"]["output"])


def test_the_deltas_of_a_part_become_one() -> None:
    stored, *_ = receive(sse(*stated("Hel", "lo", ", you")))
    assert stored is not None
    deltas = [
        event["delta"] for event in report(stored) if event["type"] == "response.output_text.delta"
    ]
    assert deltas == ["Hello, you"]


@pytest.mark.parametrize("pads", [True, False])
def test_deltas_are_padded_only_on_request(pads: bool) -> None:
    stored, *_ = receive(sse(*stated("Hello")), View(obfuscation=not pads))
    assert stored is not None
    paddings = [
        event["obfuscation"]
        for event in report(stored, View(obfuscation=pads))
        if "obfuscation" in event
    ]
    assert [len(padding) % 16 for padding in paddings] == ([11] if pads else [])


def test_an_answer_with_what_a_server_ran_is_not_the_models_alone() -> None:
    item = WebSearchCall(id="ws_1", status="completed", action={"type": "search", "query": "q"})
    reported = [
        ResponseOutputItemAddedEvent(output_index=0, item=item),
        ResponseOutputItemDoneEvent(output_index=0, item=item),
    ]
    assert noted(reported, ORIGIN, Usage(), {}) is None


def test_no_items_are_no_answer() -> None:
    assert noted([], ORIGIN, Usage(), {}) is None


@pytest.mark.parametrize("body", [b"", b"not compressed", to_bytes.__doc__.encode()])  # type: ignore[union-attr]
def test_data_stored_by_another_version_is_not_an_answer(body: bytes) -> None:
    assert from_bytes(body) is None
