import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.truncation import drop_oldest
from antiphon.protocol.items import FunctionCall, FunctionCallOutput, InputItem, Message, Reasoning


def user(text: str) -> Message:
    return Message(role="user", content=text)


def answer(text: str) -> Message:
    return Message(role="assistant", content=text)


CALL = FunctionCall(call_id="c", name="f", arguments="{}")
OUTPUT = FunctionCallOutput(call_id="c", output="4")
THOUGHT = Reasoning(id="rs_1", summary=[])


def test_the_older_half_of_the_exchanges_goes() -> None:
    items = [part for n in range(4) for part in (user(f"q{n}"), answer(f"a{n}"))]

    assert drop_oldest(items) == items[4:]


def test_of_an_odd_number_the_middle_one_goes_too() -> None:
    assert drop_oldest([user("a"), user("b"), user("c")]) == [user("c")]


def test_calls_keep_their_outputs_and_reasoning_what_follows_it() -> None:
    items = [user("a"), THOUGHT, CALL, OUTPUT, answer("b"), user("c"), answer("d")]

    assert drop_oldest(items) == items[5:]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_instructions_in_the_history_stay(role: str) -> None:
    rule = Message(role=role, content="Be brief.")

    assert drop_oldest([user("a"), rule, answer("b"), user("c")]) == [rule, user("c")]


@pytest.mark.parametrize("items", [[], [user("a")], [CALL, OUTPUT], [answer("a"), user("b"), answer("c")]])
def test_one_exchange_cannot_be_shortened(items: list[InputItem]) -> None:
    assert drop_oldest(items) is None


@given(st.lists(st.sampled_from([user("q"), answer("a"), THOUGHT, Message(role="system", content="s")]), max_size=30))
def test_it_shortens_until_one_exchange_is_left_and_keeps_the_newest(items: list[InputItem]) -> None:
    last = items
    while (shorter := drop_oldest(last)) is not None:
        assert len(shorter) < len(last)
        last = shorter

    newest = max((place for place, item in enumerate(items) if item == user("q")), default=0)
    assert last[-len(items[newest:]) or len(last) :] == items[newest:]
    assert last.count(user("q")) == min(items.count(user("q")), 1)
