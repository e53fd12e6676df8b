"""Answers as they are kept: told again they say what they said, whoever said it."""

import itertools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antiphon.cache.cached_answer import KeptAnswer, Origin, from_bytes, noted, replay_answer, to_bytes
from antiphon.protocol.events import ResponseOutputItemAddedEvent, ResponseOutputItemDoneEvent
from antiphon.protocol.items.hosted import WebSearchCall
from antiphon.protocol.response import Response, Usage
from antiphon.testing import assert_event_stream
from antiphon.translation.wire import AnswerReader, Finish, conclude
from antiphon.translation.writer import ResponseWriter, View
from tests.support.cases import each
from tests.support.parts import said
from tests.support.recordings import MISSING, recorded
from tests.support.replay import sse
from tests.support.translate import begin

ORIGIN = Origin("a", "http://127.0.0.1:1/v1", "m")
STREAMS = recorded("*.sse")


def hear(data: bytes, view: View | None = None) -> tuple[KeptAnswer | None, Finish, list[dict[str, Any]]]:
    """Note an answer; return it with how it ended and the output that it made."""
    translation = begin(view, names=["look"])
    reader = AnswerReader(translation.chat)
    reader.feed(data)
    ending = reader.finish()
    events = translation.writer.take()
    conclude(translation.writer, ending)
    kept = noted(events, ORIGIN, ending.usage, translation.writer.sealed)
    return kept, ending, json.loads(msgspec.json.encode(translation.writer.response.output))


def tell(kept: KeptAnswer, view: View | None = None, ending: Finish | None = None) -> list[dict[str, Any]]:
    """Tell an answer to another client; return all events."""
    numbers = itertools.count(1)
    response = Response(id="resp_9", created_at=1, model="m")
    writer = ResponseWriter(response, lambda prefix: f"{prefix}_new{next(numbers)}", lambda: 2.0, str, view or View())
    writer.start()
    replay_answer(kept, writer)
    conclude(writer, ending or Finish("completed", kept.usage))
    writer.end()
    told: list[dict[str, Any]] = json.loads(msgspec.json.encode(writer.take()))
    return told


def bare(output: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in item.items() if name != "id"} for item in output]


@pytest.mark.skipif(not STREAMS, reason=MISSING)
@each("path", STREAMS, ids=lambda path: path.stem)
def test_what_a_real_backend_said_is_told_again_word_for_word(path: Path) -> None:
    kept, ending, output = hear(path.read_bytes())
    if kept is None:
        assert not output
        return
    again = from_bytes(to_bytes(kept))
    assert again is not None
    events = tell(again, ending=ending)
    assert_event_stream(events)
    assert bare(events[-1]["response"]["output"]) == bare(output)
    assert all("new" in item["id"] for item in events[-1]["response"]["output"])


def test_the_deltas_of_a_part_become_one() -> None:
    kept, *_ = hear(sse(*said("Hel", "lo", ", you")))
    assert kept is not None
    deltas = [event["delta"] for event in tell(kept) if event["type"] == "response.output_text.delta"]
    assert deltas == ["Hello, you"]


@pytest.mark.parametrize("pads", [True, False])
def test_deltas_are_padded_for_those_who_want_that_and_for_nobody_else(pads: bool) -> None:
    kept, *_ = hear(sse(*said("Hello")), View(obfuscation=not pads))
    assert kept is not None
    paddings = [event["obfuscation"] for event in tell(kept, View(obfuscation=pads)) if "obfuscation" in event]
    assert [len(padding) % 16 for padding in paddings] == ([11] if pads else [])


def test_an_answer_with_what_a_server_ran_is_not_the_models_alone() -> None:
    item = WebSearchCall(id="ws_1", status="completed", action={"type": "search", "query": "q"})
    told = [
        ResponseOutputItemAddedEvent(output_index=0, item=item),
        ResponseOutputItemDoneEvent(output_index=0, item=item),
    ]
    assert noted(told, ORIGIN, Usage(), {}) is None


def test_no_items_are_no_answer() -> None:
    assert noted([], ORIGIN, Usage(), {}) is None


@pytest.mark.parametrize("body", [b"", b"not compressed", to_bytes.__doc__.encode()])  # type: ignore[union-attr]
def test_what_another_version_kept_is_no_answer(body: bytes) -> None:
    assert from_bytes(body) is None
