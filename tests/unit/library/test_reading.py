"""Plain data become typed objects, and what is unknown survives."""

from typing import Any

import msgspec
import pytest

from antiphon import types
from antiphon.library.reading import own_event, read_event, read_item, read_object
from antiphon.protocol import events
from antiphon.protocol.items.messages import ID_PREFIXES

MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "status": "completed",
    "role": "assistant",
    "content": [
        {"type": "output_text", "text": "Hello", "annotations": [], "logprobs": []},
        {"type": "refusal", "refusal": "No."},
    ],
}
NEW = {"type": "hologram_call", "id": "holo_1", "beams": [1, 2]}
EXTENDED = {**MESSAGE, "mood": "calm"}


def response(*output: Any, **fields: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": list(output),
        **fields,
    }


def test_a_response_has_typed_items_and_its_text() -> None:
    read = read_object(response(MESSAGE, MESSAGE), types.Response)
    assert [type(item) for item in read.output] == [types.Message, types.Message]
    assert read.output_text == "HelloHello"


@pytest.mark.parametrize("item", [NEW, EXTENDED])
def test_an_item_that_is_unknown_survives(item: dict[str, Any]) -> None:
    read = read_object(response(MESSAGE, item), types.Response)
    unknown = read.output[1]
    assert isinstance(unknown, types.UnknownItem)
    assert (unknown.type, unknown.to_dict()) == (item["type"], item)
    assert msgspec.json.decode(read.to_json())["output"][1] == item
    assert msgspec.json.decode(msgspec.json.encode({"input": read.output}))["input"][1] == item


def test_a_new_field_of_a_response_does_not_matter() -> None:
    assert read_object(response(MESSAGE, hologram={"a": 1}), types.Response).output_text == "Hello"


def test_objects_go_back_to_plain_data() -> None:
    item = read_item(MESSAGE)
    assert (item.type, item.to_dict()) == ("message", MESSAGE)
    assert item.to_json(indent=2).startswith('{\n  "type": "message"')


def test_an_object_is_displayed_without_fields_that_have_their_defaults() -> None:
    displayed = repr(read_item({**MESSAGE, "content": MESSAGE["content"][:1]}))
    assert displayed == (
        "Message(id='msg_1', status='completed', role='assistant', "
        "content=[OutputText(text='Hello')])"
    )


def test_pages_and_compactions_have_typed_items() -> None:
    page = read_object(
        {"object": "list", "data": [MESSAGE, NEW], "has_more": False}, types.ItemPage
    )
    compacted = read_object(
        {"id": "resp_1", "created_at": 1, "output": [MESSAGE]}, types.CompactedResponse
    )
    assert [item.type for item in page.data] == ["message", "hologram_call"]
    assert isinstance(compacted.output[0], types.Message)


@pytest.mark.parametrize(
    "data",
    [
        {
            "type": "response.output_item.done",
            "sequence_number": 1,
            "output_index": 0,
            "item": MESSAGE,
        },
        {"type": "response.output_item.done", "sequence_number": 1, "output_index": 0, "item": NEW},
        {
            "type": "response.web_search_call.searching",
            "sequence_number": 1,
            "output_index": 0,
            "item_id": "ws_1",
        },
        {
            "type": "response.content_part.done",
            "sequence_number": 1,
            "output_index": 0,
            "item_id": "msg_1",
            "content_index": 0,
            "part": {"type": "hologram", "beams": 2},
        },
        {"type": "response.hologram.delta", "sequence_number": 7, "beam": "x"},
    ],
)
def test_events_keep_all_that_they_have(data: dict[str, Any]) -> None:
    event = read_event(data)
    assert (event.type, event.sequence_number) == (data["type"], data["sequence_number"])
    assert event.to_dict() == data
    assert msgspec.json.decode(event.to_json()) == data


def test_events_have_typed_objects_inside() -> None:
    done = read_event(
        {
            "type": "response.output_item.done",
            "sequence_number": 1,
            "output_index": 0,
            "item": MESSAGE,
        }
    )
    completed = read_event(
        {"type": "response.completed", "sequence_number": 2, "response": response(MESSAGE)}
    )
    assert isinstance(done, types.ResponseOutputItemDoneEvent)
    assert isinstance(done.item, types.Message)
    assert isinstance(completed, types.ResponseCompletedEvent)
    assert completed.response.output_text == "Hello"


def test_an_event_of_a_run_is_copied_before_a_caller_sees_it() -> None:
    own = read_item(MESSAGE)
    event = events.ResponseOutputItemDoneEvent(output_index=0, item=own)
    seen = own_event(event)
    assert isinstance(seen, types.ResponseOutputItemDoneEvent)
    assert seen.to_dict() == event.to_dict()
    assert seen.item is not own


def test_the_types_are_all_items_and_all_events() -> None:
    emitted = [
        kind
        for kind in vars(events).values()
        if isinstance(kind, type) and issubclass(kind, events.Event)
    ]
    named = {kind.__name__ for kind in [*ID_PREFIXES, *emitted]} - {"SentCompaction"}
    assert named - {*types.__all__} == set()
