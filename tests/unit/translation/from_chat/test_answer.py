import json

import pytest

from antiphon.errors import BackendError
from antiphon.translation.from_chat import answer
from antiphon.translation.from_chat.answer import AnswerReader
from tests.support.replay import completion, delta, sse, text
from tests.support.translate import begin, bytewise, end, translate


def test_a_stream_is_over_at_done_and_what_follows_is_not_read() -> None:
    translation = begin()
    reader = AnswerReader(translation.chat)
    reader.feed(text("High", " water.") + sse(delta(content=" No more.")))
    assert reader.is_over
    assert end(translation, reader.finish()).text == "High water."


def test_a_stream_that_only_lacks_done_is_whole() -> None:
    assert translate(sse(delta("stop", content="Tide."), done=False)).response["status"] == "completed"


def test_the_last_event_may_lack_its_empty_line() -> None:
    data = sse(delta(content="Tide."), delta("stop"), done=False)
    assert translate(data.removesuffix(b"\n\n")).response["status"] == "completed"


@pytest.mark.parametrize("place", [1, 20, 60, 90, 120])
def test_a_stream_cut_anywhere_fails_and_keeps_what_it_said(place: int) -> None:
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
    assert end(translation, reader.finish()).response["error"]["message"] == "The backend failed: Out of memory."


def test_a_plain_answer_may_come_in_pieces() -> None:
    assert translate(bytewise(completion("High water.")), is_json=True).text == "High water."


@pytest.mark.parametrize("data", [b"", b"<html>", b"[]", b'{"choices":[{"message":{"content":"Ti'])
def test_a_plain_answer_that_cannot_be_read_fails(data: bytes) -> None:
    assert translate(data, is_json=True).response["status"] == "failed"


def test_a_plain_answer_without_end_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "MAX_PLAIN_ANSWER", 100)
    endless = translate([b" " * 60, b" " * 60, completion()], is_json=True)
    assert endless.response["error"]["message"] == "The backend's answer is larger than 100 bytes."


def test_a_plain_answer_needs_no_finish_reason() -> None:
    plain = {"choices": [{"message": {"content": "Tide."}}]}
    assert translate(json.dumps(plain).encode(), is_json=True).response["status"] == "completed"


def test_a_plain_answer_that_says_nothing_and_not_why_fails() -> None:
    plain = {"choices": [{"message": {"content": ""}}]}
    assert translate(json.dumps(plain).encode(), is_json=True).response["status"] == "failed"
