"""Recorded answers of the Messages API, read as those of a backend: sound, true to the words,
however they are cut.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from antiphon.testing import assert_event_stream, fold
from tests.support.cases import each
from tests.support.messages_backend import read, read_plain
from tests.support.messages_stream import fold as fold_messages
from tests.support.openai_types import OpenAITypes
from tests.support.recordings import MISSING, recorded
from tests.support.translate import Translation, at, at_random, bytewise

STREAMS = recorded("*.sse", "messages")
PLAIN = [
    path
    for path in recorded("*.json", "messages")
    if json.loads(path.read_text()).get("type") == "message"
]

pytestmark = pytest.mark.skipif(not STREAMS, reason=MISSING)

TYPES = OpenAITypes()

THOUGHT = re.compile(r"\s*<thinking>\s*(.*?)(</thinking>\s*|\Z)", re.DOTALL)

PASSED_ON = {"text", "thinking", "redacted_thinking", "tool_use"}

STATUS = {
    "max_tokens": "incomplete",
    "refusal": "incomplete",
    "model_context_window_exceeded": "incomplete",
}


@cache
def message_in(path: Path) -> dict[str, Any]:
    """The message of a recording, as the SDKs accumulate it."""
    if path.suffix == ".json":
        return json.loads(path.read_text())  # type: ignore[no-any-return]
    return fold_messages(path.read_bytes())


def blocks(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [block for block in message["content"] if block["type"] == kind]


def expected_text(message: dict[str, Any]) -> str:
    """All texts, as paragraphs where the backend ran a tool between them."""
    texts: list[str] = []
    between = ""
    for block in message["content"]:
        if block["type"] not in PASSED_ON:
            between = "\n\n" if texts else ""
        elif block["type"] == "text" and block["text"]:
            texts += [between, block["text"]]
            between = ""
        elif block["type"] != "text":
            between = ""
    return "".join(texts)


def check_words(translation: Translation, message: dict[str, Any]) -> None:
    text = expected_text(message)
    reasoning = "".join(block["thinking"] for block in blocks(message, "thinking"))
    if thought := THOUGHT.match(text):  # as with every backend, in a model's text
        reasoning, text = thought[1], text[thought.end() :]
    assert translation.text.strip() == text.strip()
    assert translation.reasoning.strip() == reasoning.strip()
    assert [(name, json.loads(arguments)) for name, arguments in translation.calls] == [
        (block["name"], block["input"]) for block in blocks(message, "tool_use")
    ]
    assert translation.response["status"] == STATUS.get(message["stop_reason"], "completed")


def check_usage(translation: Translation, message: dict[str, Any]) -> None:
    usage = translation.response["usage"]
    counts = {name: value or 0 for name, value in message["usage"].items()}
    cached = counts.get("cache_read_input_tokens", 0)
    written = counts.get("cache_creation_input_tokens", 0)
    assert usage["input_tokens"] == counts["input_tokens"] + cached + written
    assert usage["input_tokens_details"] == {"cached_tokens": cached, "cache_write_tokens": written}
    assert usage["output_tokens"] == counts["output_tokens"]
    details = message["usage"].get("output_tokens_details") or {}
    assert usage["output_tokens_details"]["reasoning_tokens"] == details.get("thinking_tokens", 0)


def check_seal(translation: Translation, message: dict[str, Any]) -> None:
    """All thinking is sealed as the backend signed it."""
    sealed = [
        {name: value for name, value in block.items() if name != "index"}
        for state in translation.sealed
        for block in state["reasoning"].get("thinking_blocks", ())
    ]
    kinds = ("thinking", "redacted_thinking")
    assert sealed == [block for block in message["content"] if block["type"] in kinds]


def check_form(translation: Translation) -> None:
    assert_event_stream(translation.events)
    assert fold(translation.events) == translation.response
    assert [error for event in translation.events for error in TYPES.errors(event)] == []


@each("path", STREAMS, ids=lambda path: path.stem)
def test_a_recorded_stream_keeps_its_words_in_sound_events(path: Path) -> None:
    translation = read(path.read_bytes())
    check_form(translation)
    check_words(translation, message_in(path))
    check_usage(translation, message_in(path))
    check_seal(translation, message_in(path))


@each("path", [*PLAIN, *STREAMS], ids=lambda path: path.name)
def test_a_recorded_message_has_the_same_words_without_a_stream(path: Path) -> None:
    message = message_in(path)
    translation = read_plain(message)
    check_form(translation)
    check_words(translation, message)
    check_usage(translation, message)
    check_seal(translation, message)


@each("path", STREAMS, ids=lambda path: path.stem)
def test_a_recorded_stream_is_the_same_however_it_is_cut(path: Path) -> None:
    data = path.read_bytes()
    events = read(data).events
    assert read(at_random(path.name)(data)).events == events
    assert (
        read(at(*(place + 1 for place, byte in enumerate(data) if byte == 10))(data)).events
        == events
    )


@pytest.mark.wide
@each("path", STREAMS, ids=lambda path: path.stem)
def test_a_recorded_stream_is_the_same_one_byte_at_a_time(path: Path) -> None:
    data = path.read_bytes()
    assert read(bytewise(data)).events == read(data).events


@each("path", STREAMS, ids=lambda path: path.stem)
def test_a_recorded_stream_that_breaks_off_is_an_error(path: Path) -> None:
    data = path.read_bytes()
    cut = read(data[: data.rindex(b"event: message_stop")])
    check_form(cut)
    assert cut.response["status"] == "failed"
