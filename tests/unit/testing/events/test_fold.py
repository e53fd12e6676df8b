"""The response rebuilt from its events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon_verify import fold
from antiphon_verify.events.streams import STREAMS, numbered


@pytest.mark.parametrize("name", STREAMS)
def test_a_sound_stream_folds_to_its_terminal_response(name: str):
    assert fold(STREAMS[name]) == STREAMS[name][-1]["response"]


def test_the_terminal_output_is_not_read():
    *events, end = STREAMS["answer"]
    blind = {**end, "response": {**end["response"], "output": []}}
    assert fold([*events, blind]) == end["response"]


def test_streamed_content_overrides_the_content_of_the_done_item():
    events = [
        event | {"item": event["item"] | {"arguments": "lost", "content": []}}
        if "item" in event
        else event
        for event in STREAMS["calls"]
    ]
    assert fold(events)["output"][0]["arguments"] == '{"a":1}'


def test_the_first_events_fold_to_the_response_as_far_as_it_got():
    events = STREAMS["answer"]
    place = next(
        index for index, event in enumerate(events) if event["type"] == "response.output_text.delta"
    )
    response = fold(events[: place + 1])
    assert response["status"] == "in_progress"
    assert [item["status"] for item in response["output"]] == ["completed", "in_progress"]
    [part] = response["output"][1]["content"]
    assert part["text"] == "Hello"
    assert part["logprobs"] == [{"token": "Hello", "logprob": -0.1}]


@given(st.sampled_from(sorted(STREAMS)), st.integers(0, 80))
def test_every_beginning_of_a_stream_folds_to_a_part_of_the_whole(name: str, length: int):
    whole = fold(STREAMS[name])
    begun = fold(STREAMS[name][:length])
    ids = [item["id"] for item in begun.get("output", [])]
    assert ids == [item["id"] for item in whole["output"]][: len(ids)]


def test_events_that_show_no_response_fold_to_nothing():
    assert fold([]) == {}
    assert fold(numbered([{"type": "keepalive"}])) == {}
