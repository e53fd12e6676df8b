"""A plain answer that is a text takes a short way where its events are not heard: it ends in the
same response.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.errors import BackendError
from antiphon.protocol.response import Response
from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.from_chat.reader import ChatStream
from antiphon.translation.wire import AnswerReader, Finish, conclude
from antiphon.translation.writer import ResponseWriter
from tests.support.chance import examples
from tests.support.chunks import answers, odd_texts, usages
from tests.support.recordings import MISSING
from tests.support.replay import completion
from tests.support.translate import at_random, begin_writer, bytewise, whole
from tests.unit.translation.from_chat.test_recordings import PLAIN, options

thorough = examples(200)
OFFERS = {name: Offer(name, name=name) for name in ("tide", "tide_at")}
CALLED = {"offers": OFFERS, "text_calls": "any"}


class Followed(ChatStream):
    """Notes whether its answer took the short way."""

    was_short = False

    def take_text(self, data: bytes) -> Finish | None:
        ending = super().take_text(data)
        self.was_short = ending is not None
        return ending


def created(
    parts: Any, *, has_reader: bool, **more: Any
) -> tuple[ResponseWriter, Finish, Followed]:
    writer = begin_writer()
    writer.take()
    writer.has_reader = has_reader
    chat = Followed(writer, **more)
    reader = AnswerReader(chat, is_json=True)
    for part in parts:
        reader.feed(part)
    ending = reader.finish()
    conclude(writer, ending)
    return writer, ending, chat


def assert_alike(data: bytes, **more: Any) -> bool:
    """Assert that hearing the events changes nothing of the response; return whether it took the
    short way.
    """
    received, ending, chat = created([data], has_reader=True, **more)
    assert not chat.was_short
    silent, its_ending, its_chat = created([data], has_reader=False, **more)
    assert displayed(silent.response) == displayed(received.response)
    assert silent.sealed == received.sealed
    assert displayed(replace(its_ending, retained=[])) == displayed(ending)
    assert (its_chat.preopened, its_chat.has_calls) == (chat.preopened, chat.has_calls)
    assert silent.take() == []
    return its_chat.was_short


def displayed(value: Response | Finish) -> str:
    """Everything that it holds, exceptions by what they say."""
    return repr(value)


@pytest.mark.skipif(not PLAIN, reason=MISSING)
def test_a_recorded_plain_answer_is_the_same_whichever_way_it_takes() -> None:
    short = [path for path in PLAIN if assert_alike(path.read_bytes(), **options(path))]
    assert len(short) > len(PLAIN) / 4


@pytest.mark.skipif(not PLAIN, reason=MISSING)
@pytest.mark.parametrize("path", PLAIN[::10], ids=lambda path: path.stem)
def test_a_recorded_plain_answer_may_come_in_pieces(path: Path) -> None:
    data = path.read_bytes()
    once = displayed(created([data], has_reader=False)[0].response)
    for cut in (whole, bytewise, at_random(path.name)):
        assert displayed(created(cut(data), has_reader=False)[0].response) == once


texts = st.builds(
    lambda content, reason, usage: {
        "choices": [
            {
                "index": 0,
                "message": {"content": content, "annotations": []},
                "finish_reason": reason,
            }
        ],
        "usage": usage,
    },
    odd_texts,
    st.sampled_from(["stop", "length", "tool_calls", ""]),
    st.one_of(st.none(), usages),
)


@pytest.mark.wide
@thorough
@given(
    st.one_of(texts, answers),
    st.booleans(),
    st.sampled_from([None, {"https://tides.example": "tide"}]),
)
def test_any_plain_answer_is_the_same_whichever_way_it_takes(
    answer: Any, preopened: bool, sources: Any
) -> None:
    data = json.dumps(answer).encode()
    assert_alike(data, offers=OFFERS, preopened=preopened, sources=sources)
    assert_alike(data, offers=OFFERS, text_calls="any")


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"choices":[{"message":{"content":"Ti'])
def test_what_is_no_answer_fails_whichever_way_it_takes(data: bytes) -> None:
    assert not assert_alike(data)


@pytest.mark.parametrize(
    ("content", "more", "is_short"),
    [
        ("High water.", {}, True),
        ("  a < b <", {}, True),
        ("[TH", {}, True),
        ("", {}, False),
        (" \n", {}, False),
        ("<think>Moon.</think>High.", {}, False),
        ("\n[THINK]Moon.[/THINK]High.", {}, False),
        ("Moon.\n</think>High.", {}, False),
        ("High water.", {"preopened": True}, False),
        ("A [tide](https://tides.example).", {"sources": {"https://tides.example": "tide"}}, False),
        ("High `water`.", CALLED, True),
        ('{"name": "tide", "arguments": {}}', CALLED, False),
        ('{"name": "tide", "arguments": {}}', CALLED | {"text_calls": "marked"}, True),
        (
            '<tool_call>{"name": "tide", "arguments": {}}</tool_call>',
            CALLED | {"text_calls": "marked"},
            False,
        ),
        ('{"answer": "High water."}', CALLED | {"text_calls": "wrapped"}, False),
    ],
)
def test_which_texts_take_the_short_way(content: str, more: dict[str, Any], is_short: bool) -> None:
    assert assert_alike(completion(content), **more) == is_short


@pytest.mark.parametrize("has_reader", [False, True])
def test_an_answer_that_broke_off_fails_though_it_is_whole(has_reader: bool) -> None:
    writer = begin_writer()
    writer.has_reader = has_reader
    reader = AnswerReader(ChatStream(writer), is_json=True)
    reader.feed(completion("High water."))
    reader.fail(BackendError("The connection broke."))
    assert reader.finish().error is not None
