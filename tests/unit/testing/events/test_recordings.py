"""The checker on the specification's traces and on real servers' streams: is it too strict, and
does it see?
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from antiphon_verify import check_event_stream, fold
from tests.support.recordings import MISSING
from tests.unit.testing.events.recordings import read_sse, read_trace, recordings, responses, traces

needs_traces = pytest.mark.skipif(not traces(), reason=MISSING)
needs_recordings = pytest.mark.skipif(not recordings(), reason=MISSING)

KNOWN: dict[str, set[str]] = {
    # Tokens had no list of log probabilities in OpenAI's events before August 2025; the fourth lost
    # its numbers too.
    "openai-langchain-openai-test_reasoning-1": {"text:logprobs-listed"},
    "openai-prism-stream-falsy-argument-conversation-responses-2": {"text:logprobs-listed"},
    "openai-prism-stream-multi-tool-conversation-responses-reasoning-3": {"text:logprobs-listed"},
    "openai-ddtrace-response_stream": {"text:logprobs-listed", "stream:sequence-numbers"},
    # OpenAI gave the call another id between `added` and `done`.
    "openai-vercel-ai-fixtures.openai-client-tool-search.1": {"item:done-matches-added"},
}
"""What OpenAI's own streams break, by file; all others are sound."""

OTHERS: dict[str, dict[str, int]] = {
    "azure": {"item:status-final": 2},
    "bedrock": {},
    "copilot": {
        "item:done-matches-added": 1,
        "item:event-id": 1,
        "output:equals-done-items": 1,
        "stream:one-response-id": 1,
    },
    "deepseek": {},
    "lmstudio": {"text:deltas-first": 1},
    "openai_codex": {"output:equals-done-items": 2},
    "openrouter": {"output:equals-done-items": 1},
    "vllm": {
        "event:known-type": 5,
        "item:content-equals-parts": 5,
        "item:done-matches-added": 1,
        "item:done-once": 1,
        "output:equals-done-items": 5,
        "part:events-inside-life": 5,
        "part:index-next": 1,
        "text:done-equals-deltas": 1,
        "text:logprobs-equal-deltas": 2,
    },
    "xai": {
        "annotation:fields": 1,
        "item:opens-in-progress": 1,
        "text:logprobs-listed": 1,
        "tool:fields": 1,
        "tool:steps-complete": 1,
    },
}
"""How many streams of other servers break a rule, by provider."""


def provider(path: Path) -> str:
    return path.name.partition("-")[0]


def decrypted(response: dict[str, Any]) -> dict[str, Any]:
    """The response without what OpenAI encrypts afresh for every event."""
    output = [
        {key: value for key, value in item.items() if key != "encrypted_content"}
        for item in response["output"]
    ]
    return {**response, "output": output}


@needs_traces
@pytest.mark.parametrize("path", traces(), ids=lambda path: path.stem)
def test_a_canonical_trace_is_sound_and_folds_to_its_terminal_response(path: Path):
    events = read_trace(path)
    assert check_event_stream(events) == []
    assert fold(events) == events[-1]["response"]


@needs_recordings
def test_openais_own_streams_are_sound_but_for_known_deviations():
    ours = [path for path in recordings() if provider(path) == "openai"]
    found = {path.stem: {each.rule for each in check_event_stream(read_sse(path))} for path in ours}
    assert {name: rules for name, rules in found.items() if rules} == KNOWN
    assert len(ours) >= 60


@needs_recordings
def test_other_servers_break_the_rules_that_they_are_known_to_break():
    found: dict[str, dict[str, int]] = {name: defaultdict(int) for name in OTHERS}
    for path in recordings():
        for events in responses(read_sse(path)) if provider(path) != "openai" else ():
            for violation in check_event_stream(events):
                found[provider(path)][violation.rule] += 1
    assert found == OTHERS


@needs_recordings
def test_a_real_stream_that_is_sound_folds_to_its_terminal_response():
    streams = [events for path in recordings() for events in responses(read_sse(path))]
    sound = [events for events in streams if not check_event_stream(events)]
    assert len(sound) > 80
    for events in sound:
        assert decrypted(fold(events)) == decrypted(events[-1]["response"])
