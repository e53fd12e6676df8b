"""Chunks that only add text are read and written together: byte for byte as if each had been read
alone.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from antiphon.protocol.chat import ChatChoice, ChatChunk, Delta
from antiphon.protocol.events import Event
from antiphon.protocol.items.messages import Message
from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.from_chat import reader
from antiphon.translation.from_chat.decode import NARROWED, decode_chunk, decode_text
from antiphon.translation.from_chat.reader import ChatStream
from antiphon.translation.wire import AnswerReader, conclude, encode
from antiphon.translation.writer import GrowingText, View
from tests.support.cases import each
from tests.support.chance import examples
from tests.support.chunks import anything, chunks, last_chunks, odd_texts, some, wire
from tests.support.profiled import calls_in
from tests.support.recordings import MISSING
from tests.support.replay import delta, sse, text
from tests.support.translate import (
    at,
    at_random,
    begin,
    begin_writer,
    bytewise,
    end,
    translate,
    whole,
)
from tests.unit.translation.from_chat.test_recordings import STREAMS, options, recorded_cuts
from tests.unit.translation.from_chat.text_calls.samples import OFFERS as CALLABLE
from tests.unit.translation.from_chat.text_calls.test_properties import cut_texts

thorough = examples(100)
OFFERS = {name: Offer(name, name=name) for name in ("tide", "tide_at")}
OBFUSCATED = View(obfuscation=True)


class OneByOne(ChatStream):
    """Reads every chunk alone, whatever it is."""

    def read_run(self, events: Sequence[bytes], start: int) -> int:
        self.read(events[start])
        return 1


def reported(
    parts: Iterable[bytes],
    kind: type[ChatStream] = ChatStream,
    view: View = OBFUSCATED,
    **more: Any,
) -> bytes:
    """What a client is sent: of the one kind together, of the other event by event."""
    writer = begin_writer(view)
    answer = AnswerReader(kind(writer, **more))
    events: list[Event] = []
    for part in parts:
        answer.feed(part)
        events += writer.take()
        if answer.is_over:
            break
    conclude(writer, answer.finish())
    writer.end()
    events += writer.take()
    return b"".join(encode([event]) for event in events) if kind is OneByOne else encode(events)


# The two paths.


@pytest.mark.skipif(not STREAMS, reason=MISSING)
@each("path", STREAMS, ids=lambda path: path.stem)
def test_a_recorded_stream_is_emitted_as_if_each_chunk_was_read_alone(path: Path) -> None:
    data = path.read_bytes()
    alone = reported([data], OneByOne, **options(path))
    for cut in (whole, at(*recorded_cuts(path)), at_random(path.name)):
        assert reported(cut(data), **options(path)) == alone


texts = odd_texts.map(lambda content: {"choices": [{"index": 0, "delta": {"content": content}}]})
usual = odd_texts.map(
    lambda content: delta(role="assistant", content=content, refusal=None, tool_calls=None)
)
runs = st.lists(st.one_of(texts, usual), max_size=6)
views = st.builds(View, obfuscation=st.booleans(), logprobs=st.booleans(), summary=st.booleans())


@pytest.mark.wide
@thorough
@given(
    st.lists(st.one_of(runs, chunks.map(lambda chunk: [chunk])), max_size=6),
    last_chunks,
    views,
    st.booleans(),
)
def test_any_stream_is_emitted_as_if_each_chunk_was_read_alone(
    stream: list[list[Any]], last: Any, view: View, preopened: bool
) -> None:
    data = wire([*chain(*stream), last]) + b"data: [DONE]\n\n"
    more: dict[str, Any] = {
        "offers": OFFERS,
        "preopened": preopened,
        "sources": {"https://tides.example": "tide"},
    }
    for abandoned in ({}, {"sources": None}, {"sources": None, "text_calls": "any"}):
        alone = reported([data], OneByOne, view, **more | abandoned)
        for cut in (whole, bytewise, at_random(len(data))):
            assert reported(cut(data), view=view, **more | abandoned) == alone


@pytest.mark.wide
@thorough
@given(cut_texts())
def test_texts_with_calls_are_emitted_as_if_each_chunk_was_read_alone(parts: list[str]) -> None:
    data = text(*parts)
    alone = reported([data], OneByOne, offers=CALLABLE, text_calls="any")
    for cut in (whole, at_random(len(data))):
        assert reported(cut(data), offers=CALLABLE, text_calls="any") == alone


MIXED = sse(
    delta(role="assistant", content=""),
    *(
        delta(content=word)
        for word in ("High ", "water", "\n", '"é"', " at", " <b>", "noon", "</think>")
    ),
    delta(content=" 🌊", reasoning="Moon."),
    *(delta(content=word) for word in ("and", " low\t", "at six")),
    delta(
        content=".",
        annotations=[{"type": "url_citation", "url": "https://a.example", "end_index": 60}],
    ),
    *(delta(content=word) for word in (" It", " is", " so.")),
    delta("stop"),
)


@pytest.mark.wide
def test_a_stream_cut_at_any_byte_is_emitted_as_if_each_chunk_was_read_alone() -> None:
    alone = reported([MIXED], OneByOne)
    for place in range(len(MIXED)):
        assert reported(at(place)(MIXED)) == alone


@pytest.mark.parametrize("line_end", [b"\r\n", b"\r"])
@pytest.mark.parametrize(
    "between", [b"", b": comment\n\n", b"event: message\n", b"\n", b"data:\n\n"]
)
def test_a_stream_in_another_form_emits_the_same_events(line_end: bytes, between: bytes) -> None:
    data = MIXED.replace(b"data: ", between + b"data: ").replace(b"\n", line_end)
    alone = reported([MIXED], OneByOne)
    for cut in (whole, bytewise, at_random(between)):
        assert reported(cut(data)) == alone


# What a text chunk is.


@pytest.mark.parametrize("general", NARROWED)
def test_what_is_only_text_has_every_field_of_a_chunk(general: type[msgspec.Struct]) -> None:
    for narrowed in NARROWED[general]:
        assert set(narrowed.__struct_fields__) == set(general.__struct_fields__)


fields = {"role": st.just("assistant"), **dict.fromkeys(Delta.__struct_fields__, anything)}
almost_texts = st.one_of(
    texts, usual, some(**fields).map(lambda extra: delta(**{"content": "x"} | extra))
)


def text_in(data: bytes) -> str:
    try:
        return decode_text(data).choices[0].delta.content
    except (ValueError, RecursionError):
        return ""


@thorough
@given(
    almost_texts,
    st.dictionaries(st.sampled_from([*ChatChoice.__struct_fields__, "odd"]), anything, max_size=1),
)
def test_a_text_chunk_has_only_text(chunk: dict[str, Any], more: dict[str, Any]) -> None:
    choice = {**chunk["choices"][0], **more}
    data = json.dumps({**chunk, "choices": [choice]}).encode()
    if stated := text_in(data):
        found = decode_chunk(data)
        delta = found.choices[0].delta
        silent = {
            name: None for name in Delta.__struct_fields__ if getattr(delta, name) == []
        }  # an empty list too
        found.choices[0].delta = replace(delta, **silent)
        assert found == ChatChunk(choices=[ChatChoice(delta=Delta(content=stated))])


@pytest.mark.parametrize(("thought", "runs"), [("Hm.", [3, 1]), ("", [1, 1, 1, 1])])
def test_texts_are_read_together_up_to_possible_and_impossible_tags(
    thought: str, runs: list[int]
) -> None:
    """Where the model thought in a field of its own, no text is a tag."""
    first = delta(content="first", reasoning_content=thought)
    words = [
        json.dumps(chunk).encode()
        for chunk in (first, *(delta(content=word) for word in ("a", "<b", "c", "")))
    ]
    translation = begin()
    place = translation.chat.read_run(words, 0)
    found = []
    while place < len(words):
        found.append(translation.chat.read_run(words, place))
        place += found[-1]
    assert found == runs
    assert end(translation, translation.chat.finish(done=True)).text == "firsta<bc"


# What is written together.


@pytest.mark.parametrize("distance", [1, 2, 63, 64, 65, 300])
def test_signs_of_calls_have_few_texts_decoded_twice(
    distance: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[bytes] = []

    def noted(event: bytes) -> Any:
        decoded.append(event)
        return decode_text(event)

    monkeypatch.setattr(reader, "decode_text", noted)
    words = ["a <" if place % distance == 0 else "word" for place in range(4_000)]

    assert reported([text("Hello", *words)], offers=CALLABLE, text_calls="any")
    assert len(decoded) < 6 * len(words)


@pytest.mark.parametrize(
    "more", [{}, {"offers": OFFERS, "text_calls": "any"}], ids=["no tools", "tools"]
)
def test_a_burst_is_read_with_few_calls(more: dict[str, Any]) -> None:
    burst = text(*(f" word{number}\n" for number in range(256)))
    assert calls_of(burst, **more) - calls_of(text(" word"), **more) < 20


def calls_of(data: bytes, **more: Any) -> int:
    reported([data], **more)  # the first answer with tools loads what searches it
    return calls_in(lambda: reported([data], **more))


def test_without_obfuscation_no_delta_is_padded() -> None:
    deltas = [
        event
        for event in translate(text("a", "b")).events
        if event["type"] == "response.output_text.delta"
    ]
    assert [event.get("obfuscation", UNSET) for event in deltas] == [UNSET, UNSET]


def test_events_of_an_earlier_attempt_are_not_emitted_again() -> None:
    writer = begin_writer(OBFUSCATED)
    stored = Message(id="msg_1", status="completed", role="assistant", content=[])
    writer.resume([stored], 7)
    writer.take()
    GrowingText(writer, 0, "msg_1", 0).add(["a", "b"])
    GrowingText(writer, 1, "msg_2", 0).add(["c", "d"])
    assert [(event.output_index, event.sequence_number) for event in writer.take()] == [
        (1, 7),
        (1, 8),
    ]


def test_what_stands_behind_a_gate_waits_for_it() -> None:
    writer = begin_writer(OBFUSCATED)
    writer.take()
    call, message = (
        Message(id=f"msg_{place}", status="completed", role="assistant", content=[])
        for place in (0, 1)
    )
    writer.hold(writer.open_item(call))
    behind = writer.open_item(message)
    GrowingText(writer, behind, "msg_1", 0).add(["a", "b"])
    writer.take()
    writer.close_item(0, call)
    assert [(event.type.rpartition(".")[2], event.sequence_number) for event in writer.take()] == [
        ("done", 3),
        ("added", 4),
        ("delta", 5),
        ("delta", 6),
    ]
