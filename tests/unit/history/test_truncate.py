import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.history.truncate import Turns, has_older_turns, thin_out, tokens_of
from antiphon.protocol.items.calls import ToolSearchOutput
from antiphon.protocol.items.content import InputFile, InputImage, ReasoningText
from antiphon.protocol.items.hosted import CodeInterpreterCall
from antiphon.protocol.items.messages import (
    Compaction,
    FunctionCall,
    FunctionCallOutput,
    InputItem,
    Message,
    Reasoning,
)
from antiphon.protocol.tools import FunctionTool
from antiphon.protocol.validation.call_rules import awaited, check_calls


def user(text: str) -> Message:
    return Message(role="user", content=text)


def answer(text: str) -> Message:
    return Message(role="assistant", content=text)


CALL = FunctionCall(call_id="c", name="f", arguments="{}")
OUTPUT = FunctionCallOutput(call_id="c", output="4")
SYSTEM = Message(role="system", content="Be brief.")
THOUGHT = Reasoning(id="rs_1", summary=[])


def drop_oldest(items: list[InputItem]) -> list[InputItem] | None:
    """The items of a conversation for which there is just too little room."""
    turns = Turns(items)
    return turns.within(turns.tokens - 1)


def talk(turns: int) -> list[InputItem]:
    """A conversation of turns that are equally long: 50 tokens each."""
    return [
        part for n in range(turns) for part in (user(f"q{n:02d} " + "x" * 80), answer("y" * 84))
    ]


def test_turns_go_by_halves_of_the_limit() -> None:
    assert Turns(talk(4)).tokens == 200
    assert [
        len(Turns(talk(4)).within(limit) or talk(4)) // 2 for limit in (200, 199, 150, 120, 100)
    ] == [4, 2, 2, 1, 2]


def test_the_newest_turn_stays_however_little_room_there_is() -> None:
    assert Turns(talk(4)).within(0) == talk(4)[6:]


def test_over_thirty_turns_the_conversation_seldom_begins_at_another_place() -> None:
    begins = [(Turns(talk(length)).within(20 * 50) or talk(length))[0] for length in range(1, 51)]
    places = [
        int(one.content[1:3])
        for one in begins
        if isinstance(one, Message) and isinstance(one.content, str)
    ]

    assert places[:20] == [0] * 20
    assert places == sorted(places)
    assert sorted(set(places[20:])) == [10, 20, 30]
    assert all(length - place <= 20 for length, place in enumerate(places, start=1))


def test_what_no_model_reads_takes_no_room() -> None:
    summary = Compaction(id="cmp_1", encrypted_content="")
    before = [FunctionCallOutput(call_id="c", output="x" * 400), answer("x" * 400)]
    thought = Reasoning(id="rs_1", summary=[], content=[ReasoningText(text="x" * 400)])

    assert Turns([*before, summary]).tokens == Turns([SYSTEM]).tokens == 0
    assert (Turns([thought]).tokens, Turns([thought], with_reasoning=False).tokens) == (104, 0)


def test_calls_keep_their_outputs_and_reasoning_what_follows_it() -> None:
    items = [user("a"), THOUGHT, CALL, OUTPUT, answer("b"), user("c"), answer("d")]

    assert drop_oldest(items) == items[5:]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_instructions_in_the_history_stay(role: str) -> None:
    rule = Message(role=role, content="Be brief.")

    assert drop_oldest([user("a"), rule, answer("b"), user("c")]) == [rule, user("c")]


def test_an_image_takes_as_much_room_as_any_other_and_a_file_by_its_size() -> None:
    image = InputImage(image_url="data:image/png;base64," + "A" * 100_000)
    file = InputFile(filename="a.pdf", file_data="A" * 120_000)
    alone = Turns([Message(role="user", content=[image])]).tokens

    assert alone == 4 + 765
    assert Turns([Message(role="user", content=[image, file])]).tokens == alone + 3 * 765 + 2


def test_what_can_be_shortened_is_known_before_it_is_measured() -> None:
    assert has_older_turns(talk(2))
    assert not has_older_turns(talk(1))
    assert not has_older_turns([SYSTEM, user("a")])


@pytest.mark.parametrize(
    "items", [[], [user("a")], [CALL, OUTPUT], [SYSTEM, user("b"), answer("c")], [SYSTEM]]
)
def test_one_turn_cannot_be_shortened(items: list[InputItem]) -> None:
    assert drop_oldest(items) is None


def test_what_stands_before_the_first_user_goes_first() -> None:
    assert drop_oldest([answer("a"), user("b"), answer("c")]) == [user("b"), answer("c")]


def test_a_turn_goes_on_while_an_output_is_to_come() -> None:
    late = [user("a"), CALL, user("b"), OUTPUT, answer("c"), user("d")]

    assert drop_oldest(late) == [user("d")]
    assert drop_oldest(late[:-1]) is None


ACTS = [
    "user",
    "answer",
    "thought and answer",
    "thought",
    "calls",
    "outputs",
    "system",
    "developer",
]


@st.composite
def conversations(draw: st.DrawFn) -> list[InputItem]:
    """Items as a client may send them: calls are parallel, and their outputs come in any order, at
    any later place.
    """
    items: list[InputItem] = []
    open_calls: list[str] = []
    for number, act in enumerate(draw(st.lists(st.sampled_from(ACTS), max_size=30))):
        match act:
            case "thought" | "thought and answer":
                items.append(Reasoning(id=f"rs_{number}", summary=[]))
                items += [answer(str(number))] if "answer" in act else []
            case "calls":
                created = [f"c{number}_{place}" for place in range(draw(st.integers(1, 3)))]
                items.append(Reasoning(id=f"rs_{number}", summary=[]))
                items += [
                    FunctionCall(call_id=call_id, name="f", arguments="{}") for call_id in created
                ]
                open_calls += created
            case "outputs":
                items += [
                    FunctionCallOutput(call_id=call_id, output="")
                    for call_id in reversed(open_calls)
                ]
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
def test_model_output_keeps_its_preceding_reasoning(items: list[InputItem]) -> None:
    follows = {
        id(follower): thought
        for thought, follower in pairwise(items)
        if isinstance(thought, Reasoning)
    }
    for shorter in ever_shorter(items):
        for before, item in pairwise([None, *shorter]):
            if id(item) in follows and not (isinstance(item, Message) and item.role != "assistant"):
                assert before is follows[id(item)]


@given(conversations())
def test_instructions_and_the_newest_turn_always_stay_and_the_order_too(
    items: list[InputItem],
) -> None:
    newest = max((place for place, item in enumerate(items) if is_by(item, "user")), default=0)
    for shorter in ever_shorter(items):
        stored = {id(item) for item in shorter}
        assert shorter == [item for item in items if id(item) in stored]
        assert stored >= {id(item) for item in items if is_by(item, "system", "developer")}
        assert stored >= {id(item) for item in items[newest:]}


@given(conversations())
def test_there_is_something_to_drop_exactly_where_reported(items: list[InputItem]) -> None:
    assert has_older_turns(items) is (Turns(items).within(0) is not None)


@given(conversations())
def test_it_ends_with_one_turn(items: list[InputItem]) -> None:
    *_, last = [items, *ever_shorter(items)]
    waits = awaited(last)

    assert (
        len([place for place, item in enumerate(last) if is_by(item, "user") and not waits[place]])
        <= 1
    )


@pytest.mark.wide
def test_a_hundred_thousand_items_are_shortened_in_no_time() -> None:
    items = [CALL, *[user("a")] * 50_000, OUTPUT, *[user("b"), answer("c")] * 25_000]
    began = time.process_time()

    shorter = drop_oldest(items)

    assert shorter is not None and len(shorter) == 50_000
    assert time.process_time() - began < 2


def ever_shorter(items: list[InputItem]) -> Iterator[list[InputItem]]:
    turns = Turns(items)
    limit = turns.tokens
    while limit:
        limit //= 2
        if (shorter := turns.within(limit)) is not None:
            assert len(shorter) < len(items)
            yield shorter


def is_by(item: InputItem, *roles: str) -> bool:
    return isinstance(item, Message) and item.role in roles


def test_what_a_search_found_is_not_cut_short_since_nothing_else_ties_it_to_its_call() -> None:
    found = ToolSearchOutput(
        call_id=None, tools=[FunctionTool(name=f"a_tool_{i}") for i in range(64)]
    )
    long = FunctionCallOutput(call_id="c", output="4" * 1000)

    assert thin_out([found]) is None
    assert [type(item) for item in thin_out([found, CALL, long]) or ()] == [
        ToolSearchOutput,
        FunctionCall,
        type(long),
    ]


def test_a_figure_of_code_counts_as_an_image_and_not_as_its_characters() -> None:
    def tokens(url: str) -> int:
        call = CodeInterpreterCall(
            id="ci_1", container_id="c", code="1", outputs=[{"type": "image", "url": url}]
        )
        return tokens_of(call)

    assert tokens("data:image/png;base64," + "A" * 1_000_000) == tokens("data:image/png;base64,A")
