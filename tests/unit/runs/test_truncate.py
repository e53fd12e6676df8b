import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.protocol.items.calls import ToolSearchOutput
from antiphon.protocol.items.messages import (
    FunctionCall,
    FunctionCallOutput,
    InputItem,
    Message,
    Reasoning,
)
from antiphon.protocol.tools import FunctionTool
from antiphon.protocol.validation.call_rules import awaited, check_calls
from antiphon.runs.truncate import drop_oldest, thin_out


def user(text: str) -> Message:
    return Message(role="user", content=text)


def answer(text: str) -> Message:
    return Message(role="assistant", content=text)


CALL = FunctionCall(call_id="c", name="f", arguments="{}")
OUTPUT = FunctionCallOutput(call_id="c", output="4")
SYSTEM = Message(role="system", content="Be brief.")
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


@pytest.mark.parametrize("items", [[], [user("a")], [CALL, OUTPUT], [SYSTEM, user("b"), answer("c")], [SYSTEM]])
def test_one_turn_cannot_be_shortened(items: list[InputItem]) -> None:
    assert drop_oldest(items) is None


def test_what_stands_before_the_first_user_goes_first() -> None:
    assert drop_oldest([answer("a"), user("b"), answer("c")]) == [user("b"), answer("c")]


def test_a_turn_goes_on_while_an_output_is_to_come() -> None:
    late = [user("a"), CALL, user("b"), OUTPUT, answer("c"), user("d")]

    assert drop_oldest(late) == [user("d")]
    assert drop_oldest(late[:-1]) is None


ACTS = ["user", "answer", "thought and answer", "thought", "calls", "outputs", "system", "developer"]


@st.composite
def conversations(draw: st.DrawFn) -> list[InputItem]:
    """Items as a client may send them: calls are parallel, and their outputs come in any order, at any later place."""
    items: list[InputItem] = []
    open_calls: list[str] = []
    for number, act in enumerate(draw(st.lists(st.sampled_from(ACTS), max_size=30))):
        match act:
            case "thought" | "thought and answer":
                items.append(Reasoning(id=f"rs_{number}", summary=[]))
                items += [answer(str(number))] if "answer" in act else []
            case "calls":
                made = [f"c{number}_{place}" for place in range(draw(st.integers(1, 3)))]
                items.append(Reasoning(id=f"rs_{number}", summary=[]))
                items += [FunctionCall(call_id=call_id, name="f", arguments="{}") for call_id in made]
                open_calls += made
            case "outputs":
                items += [FunctionCallOutput(call_id=call_id, output="") for call_id in reversed(open_calls)]
                open_calls = []
            case "answer":
                items.append(answer(str(number)))
            case _:
                items.append(Message(role=act, content=str(number)))
    return items + [FunctionCallOutput(call_id=call_id, output="") for call_id in open_calls]


@given(conversations())
def test_whatever_goes_calls_keep_their_outputs(items: list[InputItem]) -> None:
    for shorter in ever_shorter(items):
        check_calls(shorter)


@given(conversations())
def test_whatever_goes_what_the_model_said_keeps_the_reasoning_before_it(items: list[InputItem]) -> None:
    follows = {id(follower): thought for thought, follower in pairwise(items) if isinstance(thought, Reasoning)}
    for shorter in ever_shorter(items):
        for before, item in pairwise([None, *shorter]):
            if id(item) in follows and not (isinstance(item, Message) and item.role != "assistant"):
                assert before is follows[id(item)]


@given(conversations())
def test_instructions_and_the_newest_turn_always_stay_and_the_order_too(items: list[InputItem]) -> None:
    newest = max((place for place, item in enumerate(items) if is_by(item, "user")), default=0)
    for shorter in ever_shorter(items):
        kept = {id(item) for item in shorter}
        assert shorter == [item for item in items if id(item) in kept]
        assert kept >= {id(item) for item in items if is_by(item, "system", "developer")}
        assert kept >= {id(item) for item in items[newest:]}


@given(conversations())
def test_it_ends_with_one_turn(items: list[InputItem]) -> None:
    *_, last = [items, *ever_shorter(items)]
    waits = awaited(last)

    assert len([place for place, item in enumerate(last) if is_by(item, "user") and not waits[place]]) <= 1


def test_a_hundred_thousand_items_are_shortened_in_no_time() -> None:
    items = [CALL, *[user("a")] * 50_000, OUTPUT, *[user("b"), answer("c")] * 25_000]
    began = time.process_time()

    shorter = drop_oldest(items)

    assert shorter is not None and len(shorter) == 25_000
    assert time.process_time() - began < 2


def ever_shorter(items: list[InputItem]) -> Iterator[list[InputItem]]:
    while (shorter := drop_oldest(items)) is not None:
        assert len(shorter) < len(items)
        yield shorter
        items = shorter


def is_by(item: InputItem, *roles: str) -> bool:
    return isinstance(item, Message) and item.role in roles


def test_what_a_search_found_is_not_cut_short_since_nothing_else_ties_it_to_its_call() -> None:
    found = ToolSearchOutput(call_id=None, tools=[FunctionTool(name=f"a_tool_{i}") for i in range(64)])
    long = FunctionCallOutput(call_id="c", output="4" * 1000)

    assert thin_out([found]) is None
    assert [type(item) for item in thin_out([found, CALL, long]) or ()] == [ToolSearchOutput, FunctionCall, type(long)]
