import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import BackendError
from antiphon.protocol.events import Keepalive, ResponseFunctionCallArgumentsDeltaEvent
from antiphon.translation import wire
from antiphon.translation.wire import AnswerReader, EventDecoder, encode
from tests.support.replay import completion, delta, sse, text
from tests.support.translate import Cut, at_random, begin, bytewise, end, translate, whole

LINE_ENDS = [b"\n", b"\r\n", b"\r"]


def decode(*parts: bytes) -> list[bytes]:
    decoder = EventDecoder()
    return [data for part in parts for data in decoder.feed(part)] + decoder.finish()


def test_an_event_is_complete_at_its_empty_line() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b"data: high") == []
    assert decoder.feed(b" water\n") == []
    assert decoder.feed(b"\ndata: low") == [b"high water"]


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_an_event_is_complete_as_soon_as_its_empty_line_came(line_end: bytes) -> None:
    assert EventDecoder().feed(b"data: tide" + 2 * line_end) == [b"tide"]


@pytest.mark.parametrize(
    ("wire", "data"),
    [
        (b"data:tide\n\n", [b"tide"]),
        (b"data:  tide\n\n", [b" tide"]),
        (b"data: high\ndata:water\n\n", [b"high\nwater"]),
        (b"event: message\nid: 7\nretry: 10\ndata: tide\n\n", [b"tide"]),
        (b": a comment\n\n: another\ndata: tide\n\n", [b"tide"]),
        (b"event: ping\n\ndata: tide\n\n", [b"tide"]),
        (b"data:\n\ndata: \n\ndata: tide\n\n", [b"tide"]),
        (b"\n\n\ndata: high\n\n\n\ndata: low\n\n", [b"high", b"low"]),
        (b"\xef\xbb\xbfdata: tide\n\n", [b"tide"]),
        (b"database: none\nxdata: none\n data: none\ndata: tide\n\n", [b"tide"]),
        (b"data: high\r\n\r\ndata: low\n\n", [b"high", b"low"]),
        ("data: h\u2028w\x85\u2029\n\n".encode(), ["h\u2028w\x85\u2029".encode()]),
        (b"data: [DONE]", [b"[DONE]"]),
        (b"", []),
    ],
)
def test_dialects_of_the_format_are_understood(wire: bytes, data: list[bytes]) -> None:
    assert decode(wire) == data
    assert decode(*bytewise(wire)) == data


lines = st.binary(max_size=8).filter(lambda line: not set(line) & set(b"\r\n"))
fillers = st.sampled_from([b": comment", b"event: message", b"id: 3", b":"])


@given(
    st.lists(
        st.tuples(st.lists(lines, min_size=1, max_size=3), st.lists(fillers, max_size=2)),
        max_size=5,
    ),
    st.sampled_from(LINE_ENDS),
    st.booleans(),
    st.integers(),
)
def test_any_cut_and_any_line_end_give_the_same_data(
    reported: list[tuple[list[bytes], list[bytes]]], line_end: bytes, marked: bool, seed: int
) -> None:
    wire = b"\xef\xbb\xbf" if marked else b""
    for data, rest in reported:
        written = [*rest, *(b"data: " + line for line in data), b""]
        wire += b"".join(line + line_end for line in written)
    expected = [b"\n".join(data) for data, _ in reported]
    assert decode(*at_random(seed, 8)(wire)) == [data for data in expected if data]


def test_an_event_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_EVENT", 1000)
    for piece in (b"x" * 100, b"\ndata: " + b"x" * 100):
        decoder = EventDecoder()
        decoder.feed(b"data: ")
        with pytest.raises(BackendError, match="more than 1000 bytes"):
            for _ in range(20):
                decoder.feed(piece)


def test_an_event_that_is_too_long_is_refused_in_one_read_as_in_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "MAX_EVENT", 1000)
    with pytest.raises(BackendError):
        EventDecoder().feed(b"data: " + b"x" * 1000 + b"\n\n")


def test_many_short_events_in_one_read_are_no_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_EVENT", 1000)
    decoder = EventDecoder()
    for _ in range(3):
        assert len(decoder.feed(b"data: tide\n\n" * 200)) == 200


def test_comments_do_not_add_up_to_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_EVENT", 1000)
    decoder = EventDecoder()
    for _ in range(200):
        assert decoder.feed(b": keep-alive\n\n") == []


def test_events_are_written_with_their_type_and_one_line_of_json() -> None:
    events = [
        Keepalive(sequence_number=4),
        ResponseFunctionCallArgumentsDeltaEvent(
            output_index=0, item_id="fc_1", delta="{\n", sequence_number=5
        ),
    ]
    first, second, rest = encode(events).split(b"\n\n")
    assert first == b'event: keepalive\ndata: {"type":"keepalive","sequence_number":4}'
    head, data = second.split(b"\n")
    assert head == b"event: response.function_call_arguments.delta"
    assert json.loads(data.removeprefix(b"data: "))["delta"] == "{\n"
    assert rest == b""


def test_what_is_written_can_be_read() -> None:
    events = [Keepalive(sequence_number=number) for number in range(3)]
    assert [json.loads(data)["sequence_number"] for data in decode(encode(events))] == [0, 1, 2]


# A backend's answer.


def test_a_stream_is_over_at_done_and_what_follows_is_not_read() -> None:
    translation = begin()
    reader = AnswerReader(translation.chat)
    reader.feed(text("High", " water.") + sse(delta(content=" No more.")))
    assert reader.is_over
    assert end(translation, reader.finish()).text == "High water."


def test_a_stream_that_only_lacks_done_is_whole() -> None:
    assert (
        translate(sse(delta("stop", content="Tide."), done=False)).response["status"] == "completed"
    )


def test_the_last_event_may_lack_its_empty_line() -> None:
    data = sse(delta(content="Tide."), delta("stop"), done=False)
    assert translate(data.removesuffix(b"\n\n")).response["status"] == "completed"


@pytest.mark.parametrize("place", [1, 20, 60, 90, 120])
def test_a_stream_cut_anywhere_fails_and_keeps_its_output(place: int) -> None:
    data = sse(delta(content="High water at noon."), delta(content=" Low at six."), done=False)
    cut = translate(data[: len(data) - place])
    assert cut.response["status"] == "failed"
    assert cut.response["error"]["code"] == "server_error"
    assert "High water at noon. Low at six.".startswith(cut.text)


def test_an_error_on_the_way_ends_the_answer() -> None:
    translation = begin()
    reader = AnswerReader(translation.chat)
    reader.feed(sse(delta(content="High"), done=False))
    reader.fail(BackendError("The connection broke."))
    assert reader.is_over
    assert end(translation, reader.finish()).response["error"]["message"] == "The connection broke."


def test_the_first_error_is_the_one_that_counts() -> None:
    translation = begin()
    reader = AnswerReader(translation.chat)
    reader.feed(sse({"error": {"message": "Out of memory."}}, done=False))
    reader.fail(BackendError("The connection broke."))
    assert (
        end(translation, reader.finish()).response["error"]["message"]
        == "The backend failed: Out of memory."
    )


def test_a_plain_answer_may_come_in_pieces() -> None:
    assert translate(bytewise(completion("High water.")), is_json=True).text == "High water."


@pytest.mark.parametrize("data", [b"", b"<html>", b"[]", b'{"choices":[{"message":{"content":"Ti'])
def test_a_plain_answer_that_cannot_be_read_fails(data: bytes) -> None:
    assert translate(data, is_json=True).response["status"] == "failed"


def test_a_plain_answer_without_end_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_PLAIN_ANSWER", 100)
    endless = translate([b" " * 60, b" " * 60, completion()], is_json=True)
    assert endless.response["error"]["message"].endswith(" larger than 100 bytes.")


def test_a_plain_answer_needs_no_finish_reason() -> None:
    plain = {"choices": [{"message": {"content": "Tide."}}]}
    assert translate(json.dumps(plain).encode(), is_json=True).response["status"] == "completed"


def test_a_plain_answer_without_content_and_reason_fails() -> None:
    plain = {"choices": [{"message": {"content": ""}}]}
    assert translate(json.dumps(plain).encode(), is_json=True).response["status"] == "failed"


DONE_AFTER = [b"data: [DONE]", b"\ndata: [DONE]\n\n", b"\r\n\r\ndata:[DONE]\r\n\r\n", b"\n[DONE]\n"]
BEFORE_IT = [b"", b"\n\n", b"\xef\xbb\xbf", b" \r\n"]


@pytest.mark.parametrize("end_of_it", [b"", *DONE_AFTER])
@pytest.mark.parametrize("begin_of_it", BEFORE_IT)
@pytest.mark.parametrize("is_json", [False, True])
@pytest.mark.parametrize("pieces", [whole, bytewise])
def test_json_is_recognised_by_its_first_byte(
    begin_of_it: bytes, end_of_it: bytes, is_json: bool, pieces: Cut
) -> None:
    data = begin_of_it + completion("It ends with [DONE]") + end_of_it
    translation = translate(pieces(data), is_json=is_json)
    assert translation.response["status"] == "completed"
    assert translation.text == "It ends with [DONE]"


STREAMS_BEGIN = [
    b"",
    b"\n",
    b": processing\n\n",
    b"event: message\n",
    b"id: 1\n",
    b"retry: 10\n",
    b"\xef\xbb\xbf",
]


@pytest.mark.parametrize("begin_of_it", STREAMS_BEGIN)
@pytest.mark.parametrize("is_json", [False, True])
@pytest.mark.parametrize("pieces", [whole, bytewise])
def test_a_stream_is_recognised_by_its_first_byte(
    begin_of_it: bytes, is_json: bool, pieces: Cut
) -> None:
    translation = translate(pieces(begin_of_it + text("High", " water.")), is_json=is_json)
    assert translation.response["status"] == "completed"
    assert translation.text == "High water."


ERROR = b'{\n  "error": {\n\t"message": "Out of memory.",\n    "codes": [\n1,\n{}\n]\n  }\n}'


@pytest.mark.parametrize(
    "after", [b"", b"\n", b"\n\n", b"\ndata: [DONE]\n\n", b"\n: bye\n\n", b"\r\n\r\n"]
)
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_bare_json_over_several_lines_is_one_event(after: bytes, size: int) -> None:
    decoder = EventDecoder()
    stream = b"data: 1\n\n" + ERROR + after
    events = [
        event
        for at in range(0, len(stream), size)
        for event in decoder.feed(stream[at : at + size])
    ]
    events += decoder.finish()
    assert events == [b"1", ERROR, *([b"[DONE]"] if b"DONE" in after else [])]


def test_bare_objects_on_lines_of_their_own_are_events() -> None:  # a guard
    decoder = EventDecoder()
    assert decoder.feed(b'data: 1\n{"a": 1}\n{"b": 2}\n\n') == [b"1", b'{"a": 1}', b'{"b": 2}']
