"""What this server emits has the shape of what OpenAI emits: event by event, field by field, by the
recordings.

Every difference stands in `DIFFERENCES` with its reason; another one fails, and so does one that is
no longer there.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.protocol.validation.validate import decode_request
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.tool_mapping.offering import toolbox_of
from antiphon.translation.writer import View
from tests.support.recordings import FOLDER, MISSING
from tests.support.replay import delta, sse
from tests.support.translate import translate

Shapes = dict[tuple[str, str], set[str]]
"""By item type and event type, or `item added` and `item done`: the fields."""

COVERED = {
    *(
        "message",
        "reasoning",
        "function_call",
        "custom_tool_call",
        "shell_call",
        "local_shell_call",
        "tool_search_call",
    ),
}
"""Item types that a chat model makes."""

DIFFERENCES = {
    (
        "message",
        "item added",
        "phase",
    ): "newer models of OpenAI's say the phase, chat models know none",
    ("message", "item done", "phase"): "the same",
    (
        "reasoning",
        "item added",
        "status",
    ): "every item has a status (Open Responses), and clients look for one",
    ("reasoning", "item done", "status"): "the same",
    ("reasoning", "item added", "encrypted_content"): "it is sealed when the reasoning is whole",
    ("reasoning", "response.reasoning_text.delta", ""): "OpenAI shows no raw reasoning",
    ("reasoning", "response.reasoning_text.done", ""): "the same",
    ("reasoning", "response.content_part.added", ""): "the same",
    ("reasoning", "response.content_part.done", ""): "the same",
}
"""(item, event, field) or, with an empty field, an event that only one side has -> why."""


def shapes(events: list[dict[str, Any]]) -> Shapes:
    """The fields of each event of the covered items."""
    found: Shapes = {}
    kinds: dict[int, str] = {}
    for event in events:
        index = event.get("output_index")
        item = event.get("item")
        if isinstance(item, dict) and index is not None:
            kinds[index] = item["type"]
        kind = kinds.get(index, "") if index is not None else ""
        if kind not in COVERED:
            continue
        if isinstance(item, dict):
            found.setdefault((kind, f"item {event['type'].rpartition('.')[2]}"), set()).update(item)
        elif (
            event["type"] != "response.output_text.annotation.added"
            and "refusal" not in event["type"]
        ):
            found.setdefault((kind, event["type"]), set()).update(set(event) - {"type"})
    return found


def merged(all_shapes: Iterator[Shapes]) -> Shapes:
    """The fields that any stream shows."""
    whole: Shapes = {}
    for one in all_shapes:
        for key, fields in one.items():
            whole.setdefault(key, set()).update(fields)
    return whole


def read_events(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text("utf-8", "replace").splitlines()
    data = [
        json.loads(line[5:])
        for line in lines
        if line.startswith("data:") and line[5:].strip() != "[DONE]"
    ]
    return [event for event in data if isinstance(event, dict) and "type" in event]


def recorded() -> Shapes:
    """The shapes of everything that was recorded of OpenAI."""
    paths = sorted((FOLDER / "responses").glob("openai-*.sse"))
    return merged(shapes(read_events(path)) for path in paths)


REQUEST = {
    "model": "m",
    "input": "x",
    "tools": [
        {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}},
        {
            "type": "namespace",
            "name": "n",
            "description": "",
            "tools": [{"type": "function", "name": "near"}],
        },
        {"type": "custom", "name": "patch"},
        {"type": "shell", "environment": {"type": "local"}},
        {"type": "local_shell"},
        {"type": "tool_search", "execution": "client"},
    ],
}
CALLS = {
    "look": "{}",
    "n__near": "{}",
    "patch": '{"input": "x"}',
    "shell": '{"commands": ["ls"]}',
    "local_shell": '{"command": ["ls"]}',
    "tool_search": '{"query": "q"}',
}


def created_by_a_model() -> list[list[dict[str, Any]]]:
    """What this server makes of a chat model's answer with every kind of item: the events, by each
    of two views.
    """
    offers = toolbox_of(
        decode_request(json.dumps(REQUEST).encode()), [], DIALECTS["generic"]
    ).offers
    calls = [
        delta(
            tool_calls=[
                {"index": i, "id": f"call_{i}", "function": {"name": name, "arguments": stated}}
            ]
        )
        for i, (name, stated) in enumerate(CALLS.items())
    ]
    chunks = [delta(reasoning_content="Hm."), delta(content="Hello"), *calls, delta("tool_calls")]
    views = [View(summary=summary, encrypted=True, obfuscation=True) for summary in (False, True)]
    return [translate(sse(*chunks), view=view, offers=offers).events for view in views]


def ours() -> Shapes:
    """The shapes of what this server makes of a chat model's answers."""
    return merged(map(shapes, created_by_a_model()))


def differences(theirs: Shapes, mine: Shapes) -> set[tuple[str, str, str]]:
    one_sided = {(*key, "") for key in theirs.keys() ^ mine.keys()}
    return one_sided | {
        (*key, field) for key in theirs.keys() & mine.keys() for field in theirs[key] ^ mine[key]
    }


@pytest.mark.skipif(not FOLDER.is_dir(), reason=MISSING)
def test_every_difference_to_what_openai_emits_is_known_and_has_its_reason() -> None:
    assert differences(recorded(), ours()) == set(DIFFERENCES)


def test_every_kind_of_item_that_a_chat_model_makes_is_compared() -> None:
    assert {kind for kind, _ in ours()} == COVERED
