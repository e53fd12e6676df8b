"""Answers of the Messages API: what recordings do not show."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import BackendError
from antiphon.testing import check_event_stream, fold
from antiphon.translation.from_messages_api.answer import MessagesAnswer
from tests.support.chance import examples
from tests.support.messages_backend import (
    events_of,
    frames,
    message,
    opening,
    read,
    read_plain,
    streamed,
    text,
    thinking,
    tool_use,
)

PAGE = {
    "type": "web_search_result_location",
    "url": "https://example.com/a",
    "title": "A",
    "cited_text": "Rain",
    "encrypted_index": "x",
}


def translated(stream: bytes, **options: Any) -> list[dict[str, Any]]:
    """The chunks of a stream."""
    answer = MessagesAnswer("chatcmpl-1", 0, **options)
    data = b"".join([*answer.feed(stream), *answer.finish()])
    lines = [line.removeprefix(b"data: ") for line in data.split(b"\n\n") if line]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def annotations(translation: Any) -> list[dict[str, Any]]:
    return [
        annotation
        for item in translation.output
        if item["type"] == "message"
        for part in item["content"]
        for annotation in part["annotations"]
    ]


def test_citations_are_annotations_of_the_text_of_their_block() -> None:
    blocks = (text("It "), text("rains", citations=[PAGE]), text("."))

    for translation in (read(streamed(*blocks)), read_plain(message(*blocks))):
        assert translation.text == "It rains."
        (annotation,) = annotations(translation)
        assert annotation["url"] == PAGE["url"]
        assert (annotation["start_index"], annotation["end_index"]) == (3, 8)


def test_texts_around_a_tool_of_the_backend_are_paragraphs() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    blocks = (text("Searching."), search, text("rains", citations=[PAGE]))

    for translation in (read(streamed(*blocks)), read_plain(message(*blocks))):
        assert translation.text == "Searching.\n\nrains"
        (annotation,) = annotations(translation)
        assert (annotation["start_index"], annotation["end_index"]) == (12, 17)


def test_a_refusal_has_its_explanation() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "This is not allowed."}

    for translation in (
        read(streamed(stop="refusal", stop_details=details)),
        read_plain(message(stop="refusal", stop_details=details)),
    ):
        assert translation.refusal == "This is not allowed."
        assert translation.response["incomplete_details"] == {"reason": "content_filter"}


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_an_answer_at_its_limit_is_incomplete(stop: str) -> None:
    translation = read(streamed(text("It"), stop=stop))

    assert translation.response["incomplete_details"] == {"reason": "max_output_tokens"}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("overloaded_error", "server_is_overloaded"),
        ("rate_limit_error", "rate_limit_exceeded"),
        ("api_error", "server_error"),
    ],
)
def test_an_error_in_a_stream_ends_it(kind: str, code: str) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "No."}}
    begun = events_of(text("Hello there"))[:4]

    translation = read(frames(*begun, error, *events_of(text("More"))))

    assert translation.text == "Hello"
    assert translation.response["status"] == "failed"
    assert translation.response["error"]["code"] == code


def test_an_error_instead_of_a_plain_answer_is_one() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    assert read_plain(error).response["error"]["code"] == "server_is_overloaded"


def test_arguments_at_the_opening_of_a_call_count() -> None:
    """Some gateways send them there, and no delta."""
    call = tool_use("look", place="A")
    start = {"type": "content_block_start", "index": 0, "content_block": call}
    stop = {"type": "content_block_stop", "index": 0}
    end = events_of(stop="tool_use")[-2:]

    translation = read(frames(opening(), start, stop, *end), names=["look"])

    assert translation.calls == [("look", '{"place":"A"}')]


def test_a_call_without_arguments_has_an_empty_object() -> None:
    assert read(streamed(tool_use("look"), stop="tool_use"), names=["look"]).calls == [
        ("look", "{}")
    ]


def test_usage_is_sent_only_if_it_was_requested() -> None:
    stream = streamed(text("Hello"))

    assert translated(stream)[-1]["usage"]["prompt_tokens"] == 127
    assert {"usage" in chunk for chunk in translated(stream, with_usage=False)} == {False}


def test_counts_of_the_prompt_that_end_in_zeros_are_those_of_the_beginning() -> None:
    events = events_of(text("Hello"))
    events[-2]["usage"] = {"input_tokens": 0, "output_tokens": 9}

    usage = translated(frames(*events))[-1]["usage"]

    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (127, 9)


def test_chat_clients_receive_thinking_with_its_signature() -> None:
    deltas = [
        one["choices"][0]["delta"] for one in translated(streamed(thinking("So it is.")))[:-1]
    ]

    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "So it is."
    signed = [block for delta in deltas for block in delta.get("thinking_blocks", ())][-1]
    assert signed["signature"] == "sig-1"


@pytest.mark.parametrize(
    "event",
    [
        {"type": "new_event", "index": 0},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta"}},
        {"type": "content_block_delta", "index": 0, "delta": None},
        {"type": "content_block_stop", "index": 9},
    ],
)
def test_unknown_events_are_passed_by(event: dict[str, Any]) -> None:
    events = events_of(text("Hello there"))

    assert read(frames(*events[:4], event, *events[4:])).text == "Hello there"


@pytest.mark.parametrize("data", [b"data: {\n\n", b"data: []\n\n"])
def test_data_that_is_no_object_is_an_error(data: bytes) -> None:
    with pytest.raises(BackendError):
        next(MessagesAnswer("chatcmpl-1", 0).feed(data))


def test_the_events_before_one_that_cannot_be_read_are_passed_on() -> None:
    before = frames(*events_of(text("Hello"))[:-2])
    chunks: list[bytes] = []

    with pytest.raises(BackendError):
        chunks.extend(MessagesAnswer("chatcmpl-1", 0).feed(before + b"data: {\n\n"))

    assert chunks == [*MessagesAnswer("chatcmpl-1", 0).feed(before)] != []


def test_halves_of_a_character_are_joined() -> None:
    """Gateways in JavaScript cut texts between them."""
    events = events_of(text("ab"))
    stream = frames(*events).replace(b'"a"', rb'"a\ud83d"').replace(b'"b"', rb'"\ude00b"')

    assert read(stream).text == "a😀b"


JUNK: list[Any] = [None, 7, "", "x", [], {}, [None], {"type": "x"}, {"type": "error"}]

BLOCKS = [
    text("It rains.", citations=[PAGE]),
    thinking("So it is."),
    {"type": "redacted_thinking", "data": "d"},
    tool_use("look", place="A"),
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
]


@st.composite
def mangled(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A stream with events left out, sent twice, moved, and with fields of any other kind."""
    stop = draw(st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal", "new"]))
    events = events_of(*draw(st.lists(st.sampled_from(BLOCKS), max_size=4)), stop=stop)
    events = [event for event in events for _ in range(draw(st.sampled_from([1, 1, 1, 1, 0, 2])))]
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, max(len(events) - 1, 0)))
        if events:
            field = draw(st.sampled_from([*events[place], "delta", "content_block", "message"]))
            events[place] = {**events[place], field: draw(st.sampled_from(JUNK))}
    return draw(st.permutations(events)) if draw(st.booleans()) else events


@pytest.mark.wide
@examples(300)
@given(mangled())
def test_whatever_comes_the_stream_is_sound(events: list[dict[str, Any]]) -> None:
    data = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events)

    translation = read(data, names=["look"])

    assert [one for one in check_event_stream(translation.events) if one.level == "must"] == []
    assert fold(translation.events) == translation.response


@st.composite
def mangled_message(draw: st.DrawFn) -> dict[str, Any]:
    """A message with fields of any other kind, also in its blocks."""
    blocks = [{**block} for block in draw(st.lists(st.sampled_from(BLOCKS), max_size=4))]
    whole = message(*blocks)
    for one in draw(st.lists(st.sampled_from([whole, *blocks]), max_size=4)):
        one[draw(st.sampled_from([*one]))] = draw(st.sampled_from(JUNK))
    return whole


@pytest.mark.wide
@examples(200)
@given(mangled_message())
def test_whatever_a_message_has_the_response_is_sound(whole: dict[str, Any]) -> None:
    translation = read_plain(whole, names=["look"])

    assert [one for one in check_event_stream(translation.events) if one.level == "must"] == []
    assert fold(translation.events) == translation.response
