"""The checker on streams that are sound, and on what is hardly a stream."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from antiphon_verify import assert_event_stream, check_event_stream, fold
from antiphon_verify.events.streams import (
    STREAMS,
    WELL,
    Event,
    event,
    interleaved,
    numbered,
    stream,
    summarized,
)

LETTERS = st.sampled_from(
    ["", "type", "id", "message", "refusal", "output_text", "completed", "shell_call", "x:y"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats(allow_nan=False) | LETTERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LETTERS, inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("name", STREAMS)
def test_a_sound_stream_breaks_no_rule(name: str):
    assert check_event_stream(STREAMS[name]) == []
    assert_event_stream(STREAMS[name])


def test_a_keepalive_may_come_anywhere_between_the_first_event_and_the_last():
    events = STREAMS["answer"]
    for place in range(1, len(events)):
        assert_event_stream(numbered([*events[:place], event("keepalive"), *events[place:]]))


def test_an_extension_event_with_a_slug_is_nobodys_fault():
    events = STREAMS["answer"]
    assert_event_stream(
        numbered([*events[:3], {"type": "acme:progress", "percent": 3}, *events[3:]])
    )


def test_a_call_id_that_a_server_gives_an_mcp_call_need_not_last():
    events = deepcopy(STREAMS["mcp"])
    call = next(each["item"] for each in events if each.get("item", {}).get("type") == "mcp_call")
    call["call_id"] = "call_1"
    assert_event_stream(events)


def test_a_stream_that_fails_before_work_began_is_sound():
    created, *_, error, failed = STREAMS["failure"]
    failed = deepcopy(failed)
    failed["response"]["output"] = []
    assert_event_stream(numbered([created, error, failed]))


@pytest.mark.wide
def test_events_may_be_the_models_of_the_openai_package():
    adapter: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    events = [
        adapter.validate_python(_as_the_sdk_wants(each))
        for each in stream(summarized(0), interleaved(1), **WELL)
    ]
    assert check_event_stream(events) == []
    assert check_event_stream(events[:-1])[0].rule == "stream:one-terminal"


def _as_the_sdk_wants(each: Event) -> Event:
    extra = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    details = {"cached_tokens": 2, "cache_write_tokens": 0}
    each = deepcopy(each)
    if "response" in each:
        each["response"] |= extra
        if each["response"]["usage"]:
            each["response"]["usage"]["input_tokens_details"] = details
    return each


def test_no_events_at_all_are_no_stream():
    assert [violation.rule for violation in check_event_stream([])] == [
        "stream:first-created",
        "stream:one-terminal",
    ]


def test_what_is_no_event_is_refused():
    with pytest.raises(TypeError, match="not int"):
        check_event_stream([1])


def test_the_assertion_lists_every_rule_broken():
    with pytest.raises(AssertionError, match="is not valid") as caught:
        assert_event_stream(numbered([*STREAMS["cut"][1:], event("keepalive")]))
    _, *lines = str(caught.value).splitlines()
    assert [line.partition(" at ")[0] for line in lines] == [
        "stream:first-created",
        "stream:nothing-after-terminal",
    ]


@given(st.data())
def test_whatever_stands_in_an_event_is_judged_and_never_raised(data: st.DataObject):
    events = deepcopy(data.draw(st.sampled_from(list(STREAMS.values()))))
    for _ in range(data.draw(st.integers(1, 3))):
        target: Any = data.draw(st.sampled_from(events))
        while isinstance(target, dict | list) and target:
            key = data.draw(
                st.sampled_from(sorted(target) if isinstance(target, dict) else range(len(target)))
            )
            if (
                not isinstance(target[key], dict | list)
                or not target[key]
                or data.draw(st.booleans())
            ):
                target[key] = data.draw(JSON)
                break
            target = target[key]
    assert isinstance(check_event_stream(events), list)
    assert isinstance(fold(events), dict)


@given(st.data())
def test_a_stream_cut_off_or_shuffled_is_never_sound(data: st.DataObject):
    events = data.draw(st.sampled_from(list(STREAMS.values())))
    stored = (
        data.draw(st.permutations(events))
        if data.draw(st.booleans())
        else events[: data.draw(st.integers(0, 9))]
    )
    assert (check_event_stream(stored) == []) == (stored == events)
