"""The grammar of a Messages stream: what a whole one has, and each way to break it."""

from typing import Any

import pytest

from antiphon_verify.events.message_stream import Event, fold, violations
from antiphon_verify.replies.messages.stream import EMPTY, PING, USE, arguments, block, end, text
from antiphon_verify.replies.messages.stream import start as start_of

START = start_of()
THINKING = {"type": "thinking", "thinking": "", "signature": ""}
THOUGHT = {"type": "thinking_delta", "thinking": "Hm."}
SIGNED = {"type": "signature_delta", "signature": "s"}
ERROR = {"type": "error", "error": {"type": "api_error", "message": "It broke."}}


def events(*provided: dict[str, Any]) -> list[Event]:
    return [(str(one["type"]), one) for one in provided]


def rules(*provided: dict[str, Any]) -> set[str]:
    return {one.rule for one in violations(events(*provided))}


@pytest.mark.parametrize(
    "stream",
    [
        (START, *end()),
        (START, PING, *block(EMPTY, text("Hi")), PING, *end()),
        (START, *block(THINKING, THOUGHT, SIGNED), *block(EMPTY, text("Hi"), index=1), *end()),
        (START, *block(USE, arguments(""), arguments('{"a": "\\u00')), *end("max_tokens")),
        (START, block(EMPTY)[0], ERROR),
        (ERROR,),
    ],
)
def test_a_whole_stream_has_the_grammar(stream: tuple[dict[str, Any], ...]) -> None:
    assert violations(events(*stream)) == []


@pytest.mark.parametrize(
    ("stream", "rule"),
    [
        ((), "ends"),
        ((*block(EMPTY), *end()), "ends"),
        ((START, START, *end()), "ends"),
        ((START, *block(EMPTY)), "ends"),
        ((START, *end(), PING), "ends"),
        ((START, {"type": "message_stop"}), "ends"),
        ((START, {"type": "chunk"}, *end()), "named"),
        ((START, block(EMPTY)[0], *block(EMPTY), *end()), "blocks"),
        ((START, *block(EMPTY, index=1), *end()), "blocks"),
        ((START, *block(EMPTY), *block(EMPTY), *end()), "blocks"),
        ((START, block(EMPTY, text("a"))[1], *end()), "blocks"),
        ((START, *block(EMPTY, THOUGHT), *end()), "deltas"),
        ((START, *block(USE, arguments("<city>")), *end()), "input"),
        ((START, *block(THINKING, THOUGHT), *end()), "thinking"),
        ((START, *block(THINKING, SIGNED, THOUGHT), *end()), "thinking"),
        ((START, *end(usage={})), "usage"),
        ((start_of(usage={}), *end()), "usage"),
    ],
)
def test_each_fault_breaks_its_rule(stream: tuple[dict[str, Any], ...], rule: str) -> None:
    assert rule in rules(*stream)


def test_the_name_of_an_event_is_its_type() -> None:
    stream = events(START, *end())
    assert [one.rule for one in violations([("message", stream[0][1]), *stream[1:]])] == ["named"]


def test_a_stream_adds_up_to_its_message() -> None:
    stream = (
        START,
        *block(EMPTY, text("Hel"), text("lo")),
        *block(USE, arguments(""), arguments('{"a": 1}'), index=1),
        *end("tool_use", {"output_tokens": 5}),
    )
    message = fold(events(*stream))

    assert message["content"] == [
        {"type": "text", "text": "Hello"},
        {**USE, "input": {"a": 1}},
    ]
    assert (message["stop_reason"], message["usage"]["output_tokens"]) == ("tool_use", 5)
