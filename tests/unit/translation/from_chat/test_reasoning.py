from typing import Any

import pytest

from antiphon.protocol.chat import Delta
from antiphon.translation.from_chat.reasoning import ReasoningState, thinking_parts

SIGNED = {"google": {"thought_signature": "c2ln"}}


def read(*deltas: Delta) -> tuple[str, dict[str, Any]]:
    """The text of these deltas, and what is sealed of them."""
    state = ReasoningState()
    text = "".join(state.read(delta) for delta in deltas)
    return text, state.sealable(text)


def details_of(*lists: list[dict[str, Any]]) -> list[dict[str, Any]]:
    _, sealed = read(*(Delta(reasoning_details=details) for details in lists))
    return sealed["reasoning"]["reasoning_details"]


def test_reasoning_goes_back_under_the_name_that_it_came_by() -> None:
    assert read(Delta(reasoning="Moon")) == ("Moon", {"reasoning": {"reasoning": "Moon"}})
    assert read(Delta(reasoning_content="Moon")) == (
        "Moon",
        {"reasoning": {"reasoning_content": "Moon"}},
    )


def test_the_same_words_under_two_names_are_read_once() -> None:
    assert read(Delta(reasoning="Moon", reasoning_content="Moon"))[0] == "Moon"
    assert (
        read(
            Delta(reasoning="Moon", reasoning_details=[{"type": "reasoning.text", "text": "Moon"}])
        )[0]
        == "Moon"
    )


def test_details_speak_where_nothing_else_does() -> None:
    details = [
        {"type": "reasoning.summary", "summary": "Mo"},
        {"type": "reasoning.text", "text": "on"},
    ]
    assert read(Delta(reasoning_details=details))[0] == "Moon"
    assert read(Delta(thinking_blocks=[{"type": "thinking", "thinking": "Moon"}]))[0] == "Moon"


def test_pieces_of_a_detail_are_joined_and_its_signature_is_preserved() -> None:
    assert details_of(
        [{"type": "reasoning.text", "index": 0, "text": "Mo", "signature": None}],
        [{"type": "reasoning.text", "index": 0, "text": "on"}],
        [{"type": "reasoning.text", "index": 0, "signature": "c2ln"}],
    ) == [{"type": "reasoning.text", "index": 0, "text": "Moon", "signature": "c2ln"}]


def test_a_signature_ends_a_detail() -> None:
    first = {"type": "reasoning.text", "text": "Moon", "signature": "c2ln"}
    second = {"type": "reasoning.text", "text": "Sun", "signature": "bmls"}
    assert details_of([first], [second]) == [first, second]


def test_details_of_another_type_index_or_id_stay_apart() -> None:
    details = [
        {"type": "reasoning.summary", "summary": "a", "index": 0},
        {"type": "reasoning.text", "text": "b", "index": 0},
        {"type": "reasoning.text", "text": "c", "index": 1},
        {"type": "reasoning.text", "text": "d", "index": 1, "id": "rs_0"},
        {"type": "reasoning.text", "text": "e", "index": 1, "id": "rs_1"},
    ]
    # An id that is only missing is no other.
    joined = {"type": "reasoning.text", "text": "cd", "index": 1, "id": "rs_0"}
    assert details_of(details) == [*details[:2], joined, details[4]]


def test_encrypted_data_is_never_joined() -> None:
    details = [
        {"type": "reasoning.encrypted", "data": data, "index": 0}
        for data in ("Zmlyc3Q=", "c2Vjb25k")
    ]
    assert details_of(*([detail] for detail in details)) == details


@pytest.mark.parametrize("odd", [None, [], "x", 7, {}, [None], ["x"], [[]]])
def test_invalid_details_leave_nothing(odd: Any) -> None:
    state = ReasoningState()
    assert state.read(Delta(reasoning=odd, reasoning_details=odd, thinking_blocks=odd)) in ("", "x")
    assert not state


def test_a_state_is_true_once_anything_besides_text_was_received() -> None:
    plain, detailed, signed, called = (ReasoningState() for _ in range(4))
    plain.read(Delta(reasoning="Moon"))
    detailed.read(Delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "aGlk"}]))
    signed.save_extra_content(SIGNED)
    called.save_for_call("call_a", {"extra_content": SIGNED})
    assert [bool(state) for state in (plain, detailed, signed, called)] == [False, True, True, True]


def test_the_signature_of_a_message_goes_back_with_it() -> None:
    state = ReasoningState()
    state.save_extra_content(SIGNED)
    assert state.sealable("") == {"reasoning": {"extra_content": SIGNED}}


@pytest.mark.parametrize(
    "mark",
    [
        None,
        "x",
        [],
        {"google": {"thought": True}},
        {"google": None},
        {"google": {"thought_signature": ""}},
    ],
)
def test_a_lone_mark_is_not_stored(mark: Any) -> None:
    state = ReasoningState()
    state.save_extra_content(mark)
    assert not state


def test_what_came_with_a_call_goes_back_with_that_call() -> None:
    state = ReasoningState()
    state.save_for_call("call_a", {"extra_content": SIGNED})
    state.save_for_call("call_b", {"extra_content": {"x": 1}})
    assert state.sealable("") == {
        "reasoning": {},
        "calls": {"call_a": {"extra_content": SIGNED}, "call_b": {"extra_content": {"x": 1}}},
    }


def test_a_list_of_parts_is_reasoning_and_text() -> None:
    parts = [
        {
            "type": "thinking",
            "thinking": [{"type": "text", "text": "Mo"}, {"type": "text", "text": "on"}],
        },
        {"type": "text", "text": "Ti"},
        {"type": "reference", "reference_ids": [1]},
        {"type": "text", "text": "de"},
        {"type": "thinking", "thinking": "!"},
    ]
    assert thinking_parts(parts) == ("Moon!", "Tide")


def test_parts_may_be_anything() -> None:
    assert thinking_parts(
        [None, "x", {}, {"text": 3}, {"type": "thinking", "thinking": [None, {"text": None}]}]
    ) == (
        "",
        "",
    )
