"""Real answers of dozens of providers, where recordings are at hand: sound, true to the words,
however they are cut.

What a recording says is read here a second time, as naively as can be, so that the translation
cannot agree with itself alone.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from antiphon.testing import assert_event_stream, fold
from antiphon.translation.wire import EventDecoder
from tests.support.cases import each
from tests.support.openai_types import OpenAITypes
from tests.support.recordings import MISSING, recorded
from tests.support.translate import Translation, at, at_random, bytewise, translate

STREAMS = recorded("*.sse")
PLAIN = recorded("*.json")
pytestmark = pytest.mark.skipif(not STREAMS, reason=MISSING)

THOUGHT = re.compile(r"\s*<think>\s*(.*?)(</think>\s*|\Z)", re.DOTALL)

TYPES = OpenAITypes()


@dataclass
class Reading:
    """What an answer says, told by appending whatever stands in its chunks."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tokens: list[str] = field(default_factory=list)
    calls: dict[Any, list[str]] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None
    is_error: bool = False
    choices: set[int] = field(default_factory=set)

    def read(self, chunk: dict[str, Any]) -> None:
        self.is_error |= bool(chunk.get("error"))
        self.usage = chunk.get("usage") or (chunk.get("x_groq") or {}).get("usage") or self.usage
        for choice in chunk.get("choices") or []:
            self.choices.add(choice.get("index") or 0)
            self.reason = choice.get("finish_reason") or self.reason
            if choice.get("native_finish_reason") in ("length", "max_output_tokens"):
                self.reason = "length"
            delta = choice["delta"] if "delta" in choice else choice.get("message") or {}
            self._read_delta(delta)
            if delta.get("content"):
                self.tokens += [
                    entry["token"] for entry in (choice.get("logprobs") or {}).get("content") or []
                ]

    def _read_delta(self, delta: dict[str, Any]) -> None:
        self._read_content(delta.get("content"))
        details = delta.get("reasoning_details") or []
        self.reasoning += (
            delta.get("reasoning_content")
            or delta.get("reasoning")
            or "".join(detail.get("text") or detail.get("summary") or "" for detail in details)
        )
        self.refusal += delta.get("refusal") or ""
        for number, call in enumerate(delta.get("tool_calls") or []):
            place = call.get("index", number)
            if call.get("id") and self.calls.get(place, [call["id"]])[0] not in ("", call["id"]):
                place = call["id"]
            reported = self.calls.setdefault(place, [call.get("id") or "", "", ""])
            reported[1] = reported[1] or call["function"].get("name") or ""
            reported[2] += call["function"].get("arguments") or ""

    def _read_content(self, content: Any) -> None:
        if isinstance(content, str):
            self.text += content
        elif isinstance(content, dict):
            self.text += json.dumps(content, separators=(",", ":"))
        for part in content if isinstance(content, list) else []:
            self.text += part.get("text") or ""
            self.reasoning += "".join(piece["text"] for piece in part.get("thinking") or [])

    def split_thought(self) -> None:
        if thought := THOUGHT.match(self.text):
            self.reasoning += thought[1]
            self.text = self.text[thought.end() :]


@cache
def read(path: Path) -> Reading:
    reading = Reading()
    for data in data_lines(path) if path.suffix == ".sse" else [path.read_text()]:
        reading.read(json.loads(data))
    reading.split_thought()
    reading.reasoning = "" if reading.reasoning.isspace() else reading.reasoning
    return reading


def data_lines(path: Path) -> list[str]:
    lines = path.read_text().split("\n")
    stated = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    return stated[: stated.index("[DONE]")] if "[DONE]" in stated else stated


def of_one_choice(paths: list[Path]) -> list[Path]:
    """Several choices are never asked for."""
    return [path for path in paths if read(path).choices <= {0}]


def options(path: Path) -> dict[str, Any]:
    return {"needs_reason": not path.name.startswith("snowflake")}


def expected_status(path: Path) -> str:
    reading = read(path)
    is_whole = path.suffix == ".json" or not options(path)["needs_reason"]
    stated_anything = bool(reading.text or reading.reasoning or reading.calls)
    if reading.is_error or not (reading.reason or (is_whole and stated_anything)):
        return "failed"
    return "incomplete" if reading.reason == "length" else "completed"


def expected_calls(path: Path) -> list[tuple[str, str]]:
    nothing = "{}" if expected_status(path) == "completed" else ""
    return [(name, arguments or nothing) for _, name, arguments in read(path).calls.values()]


def check_words(translation: Translation, path: Path) -> None:
    reading = read(path)
    assert translation.text.strip() == reading.text.strip()
    assert translation.reasoning == reading.reasoning
    assert translation.refusal == reading.refusal
    assert translation.tokens == reading.tokens
    assert translation.calls == expected_calls(path)
    assert translation.response["status"] == expected_status(path)


def check_usage(translation: Translation, path: Path) -> None:
    usage = translation.response["usage"]
    reported = read(path).usage
    if not reported:
        assert usage is None or usage["total_tokens"] == 0
        return
    provided = reported.get("prompt_tokens") or 0
    written = reported.get("completion_tokens") or 0
    assert usage["total_tokens"] == max(reported.get("total_tokens") or 0, provided + written)
    assert usage["input_tokens"] >= provided
    assert usage["output_tokens"] >= written


def check_form(translation: Translation) -> None:
    assert_event_stream(translation.events)
    assert fold(translation.events) == translation.response
    assert [error for event in translation.events for error in TYPES.errors(event)] == []


def recorded_cuts(path: Path) -> list[int]:
    """Where the original reads ended, as byte offsets, if the recording says so."""
    splits = path.with_suffix(".splits.json")
    return json.loads(splits.read_text()) if splits.exists() else []


@each("path", of_one_choice(STREAMS), ids=lambda path: path.stem)
def test_a_recorded_stream_keeps_its_words_in_sound_events(path: Path) -> None:
    translation = translate(path.read_bytes(), **options(path))
    check_form(translation)
    check_words(translation, path)
    check_usage(translation, path)


@each("path", of_one_choice(PLAIN), ids=lambda path: path.stem)
def test_a_recorded_plain_answer_keeps_its_words_in_sound_events(path: Path) -> None:
    translation = translate(path.read_bytes(), is_json=True, **options(path))
    check_form(translation)
    check_words(translation, path)
    check_usage(translation, path)


@each("path", STREAMS, ids=lambda path: path.stem)
def test_a_recorded_stream_is_the_same_however_it_is_cut(path: Path) -> None:
    data = path.read_bytes()
    events = translate(data, **options(path)).events
    for cut in (at_random(path.name), at(*recorded_cuts(path))):
        assert translate(cut(data), **options(path)).events == events


@pytest.mark.wide
@each("path", STREAMS, ids=lambda path: path.stem)
def test_a_recorded_stream_has_the_same_data_one_byte_at_a_time(path: Path) -> None:
    data = path.read_bytes()
    assert decoded(bytewise(data)) == decoded([data])


def decoded(parts: Iterable[bytes]) -> list[bytes]:
    decoder = EventDecoder()
    return [data for part in parts for data in decoder.feed(part)] + decoder.finish()
