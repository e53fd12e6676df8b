from itertools import count

import msgspec
from msgspec import UNSET

from antiphon.protocol.items.content import InputText, OutputText
from antiphon.protocol.items.messages import (
    FunctionCall,
    FunctionCallOutput,
    ItemReference,
    Message,
    Reasoning,
)
from antiphon.translation.to_chat_completions.request import normalise_input


def ids():
    numbers = count(1)
    return lambda prefix: f"{prefix}_{next(numbers)}"


def test_a_string_is_one_user_message():
    assert normalise_input("hi", ids()) == [
        Message(id="msg_1", role="user", status="completed", content=[InputText(text="hi")])
    ]


def test_no_input_is_no_items():
    assert normalise_input(UNSET, ids()) == []


def test_every_item_gets_an_id_of_its_kind_and_a_status_where_it_has_one():
    items = normalise_input(
        [
            Message(role="assistant", content="so"),
            Reasoning(summary=[]),
            FunctionCall(call_id="c", name="f", arguments="{}"),
            FunctionCallOutput(call_id="c", output="1"),
        ],
        ids(),
    )

    assert [item.id for item in items] == ["msg_1", "rs_2", "fc_3", "fco_4"]
    assert [item.status for item in items] == ["completed", UNSET, "completed", "completed"]
    assert items[0].content == [OutputText(text="so")]


def test_what_is_there_stays_and_null_counts_as_absent():
    provided = [
        Message(id="msg_x", status="incomplete", role="user", content="a"),
        Message(id=None, role="user", content=[]),
    ]

    first, second = normalise_input(provided, ids())

    assert (first.id, first.status) == ("msg_x", "incomplete")
    assert second.id == "msg_1"


def test_the_input_items_are_not_changed():
    item = Message(role="user", content="a")
    before = msgspec.json.encode(item)

    normalise_input([item], ids())

    assert msgspec.json.encode(item) == before


def test_a_reference_keeps_standing_for_what_it_names():
    assert normalise_input([ItemReference(id="msg_9")], ids()) == [ItemReference(id="msg_9")]
