"""Real Responses backends' answers, where recordings are at hand: sound, true to the words, however
they are cut.

What a recording says is read here a second time, as naively as can be: from the backend's own final
response.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from antiphon.testing import assert_event_stream, fold
from antiphon.translation.wire import EventDecoder
from antiphon.translation.writer import View
from tests.support.cases import each
from tests.support.native import Passed, pass_on
from tests.support.openai_types import OpenAITypes
from tests.support.recordings import MISSING, recorded
from tests.support.translate import at_random, bytewise

STREAMS = recorded("*.sse", "responses")
PLAIN = recorded("*.json", "responses")
pytestmark = pytest.mark.skipif(not STREAMS, reason=MISSING)

WITH_MORE = ("openai_codex", "vllm-vllm-responses-qwen35a3b")
"""One's final response has no output; the other streams as text what it then says is a call."""

TYPES = OpenAITypes()

ENDS = {"response.completed", "response.incomplete"}

NEVER_PASSED = {"compaction", "x_search_call"}
"""One only its backend could read, the other is none of the API's."""


def final(path: Path) -> dict[str, Any]:
    """The backend's final response, empty where it failed."""
    if path.suffix == ".json":
        value: dict[str, Any] = json.loads(path.read_bytes())
        return value if "output" in value else {}
    decoder = EventDecoder()
    events = [
        json.loads(data)
        for data in decoder.feed(path.read_bytes()) + decoder.finish()
        if not data.startswith(b"[")
    ]
    return next((event["response"] for event in events if event.get("type") in ENDS), {})


def texts(parts: Any) -> list[tuple[str, int]]:
    """What parts say, and how many annotations each has."""
    return [
        (part.get("text", part.get("refusal")), len(part.get("annotations") or []))
        for part in parts or []
        if "text" in part or "refusal" in part
    ]


def content(item: dict[str, Any]) -> Any:
    """What an item says, whatever dress it has."""
    match item["type"]:
        case "message":
            return texts(item["content"])
        case "reasoning":
            return texts(item.get("summary")), texts(item.get("content"))
        case "function_call":
            return item["name"], item["arguments"] or "{}", item.get("namespace")
        case "custom_tool_call":
            return item["name"], item["input"]
        case "code_interpreter_call":
            return item.get("code") or "", item.get("outputs")
        case "mcp_call":
            return item["name"], item["arguments"], item.get("output")
        case "web_search_call":
            return item.get("action") or {"type": "search"}
        case "shell_call":
            return item["action"]["commands"]
    return [
        item.get(name)
        for name in ("tools", "result", "results", "operation", "code", "arguments", "queries")
    ]


def stated(output: Iterable[dict[str, Any]]) -> list[Any]:
    return [(item["type"], content(item)) for item in output if item["type"] not in NEVER_PASSED]


def has(passed: Passed, intended: list[dict[str, Any]]) -> bool:
    """Whether the output holds what the backend's final response does; what was streamed beside
    that stays said.
    """
    mine = stated(passed.output)
    return all(each in mine for each in stated(intended))


def check(passed: Passed) -> None:
    assert_event_stream(passed.events)
    assert fold(passed.events) == passed.response
    assert {error for event in passed.events for error in TYPES.errors(event)} == set()


@each("path", [*STREAMS, *PLAIN], ids=lambda path: path.name)
def test_an_answer_is_passed_on_soundly_and_whole(path: Path) -> None:
    passed = pass_on(path.read_bytes(), is_json=path.suffix == ".json")
    intended = final(path)

    check(passed)
    if not intended:
        assert passed.response["status"] == "failed"
        return
    assert passed.response["status"] == (
        "incomplete" if intended["status"] == "incomplete" else "completed"
    )
    assert has(passed, intended["output"])
    assert len(passed.output) == len(stated(intended["output"])) or path.name.startswith(WITH_MORE)
    if intended.get("usage"):
        assert passed.response["usage"]["total_tokens"] >= intended["usage"]["total_tokens"]


@each("path", STREAMS, ids=lambda path: path.name)
def test_the_cuts_of_the_bytes_change_nothing(path: Path) -> None:
    data = path.read_bytes()
    whole = pass_on(data).events

    assert pass_on(at_random(path.name)(data)).events == whole
    if len(data) < 50_000:
        assert pass_on(bytewise(data)).events == whole


@each("path", STREAMS, ids=lambda path: path.name)
def test_an_answer_that_breaks_off_anywhere_is_sound_and_has_failed(path: Path) -> None:
    data = path.read_bytes()
    for tenth in range(10):
        passed = pass_on(data[: len(data) * tenth // 10])

        check(passed)
        assert (
            passed.response["status"] == "failed"
            or "response.completed" not in str(data[:-1])[-100:]
        )


@each("path", STREAMS, ids=lambda path: path.name)
def test_a_view_of_summaries_seals_and_padding_is_sound_too(path: Path) -> None:
    view = View(summary=True, encrypted=True, logprobs=False, obfuscation=True)

    check(pass_on(path.read_bytes(), view=view))


@each("path", STREAMS, ids=lambda path: path.name)
def test_deltas_are_not_needed(path: Path) -> None:
    """A backend that says its items whole, or only in its final response, says the same."""
    decoder = EventDecoder()
    frames = decoder.feed(path.read_bytes()) + decoder.finish()
    events = [json.loads(data) for data in frames if not data.startswith(b"[")]
    intended = final(path)

    for stored in ({"response.output_item.done", *ENDS}, ENDS):
        data = b"".join(
            b"data: " + json.dumps(event).encode() + b"\n\n"
            for event in events
            if event["type"] in stored
        )
        passed = pass_on(data)

        check(passed)
        if intended:
            assert has(passed, intended["output"])
