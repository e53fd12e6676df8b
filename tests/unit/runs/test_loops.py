"""How often a conversation repeats its last calls."""

from typing import Any

from msgspec import UNSET

from antiphon.protocol.items.calls import ApplyPatchCall, ApplyPatchCallOutput, DeleteFile
from antiphon.protocol.items.content import OutputText
from antiphon.protocol.items.hosted import McpCall, WebSearchCall
from antiphon.protocol.items.messages import FunctionCall, FunctionCallOutput, Message, Reasoning
from antiphon.runs.loops import NUDGED, STOPPED, nudged, repetitions

USER = Message(role="user", content="Go.")


def rounds(*calls: tuple[str, str]) -> list[Any]:
    """Calls by their arguments, each with what it returned."""
    created: list[Any] = [USER]
    for number, (arguments, output) in enumerate(calls):
        created += [
            Reasoning(id=f"rs_{number}", summary=[]),
            Message(role="assistant", content=[OutputText(text=f"Try {number}.")]),
            FunctionCall(call_id=f"call_{number}", name="run", arguments=arguments),
            FunctionCallOutput(call_id=f"call_{number}", output=output),
        ]
    return created


def test_equal_calls_with_equal_results_are_counted_whatever_text_is_between() -> None:
    assert repetitions(rounds(("a", "1"))) == 0
    assert repetitions(rounds(("a", "1"), ("a", "1"))) == 2
    assert repetitions(rounds(("b", "1"), *[("a", "1")] * 5)) == 5


def test_another_result_or_other_arguments_end_the_row() -> None:
    assert repetitions(rounds(("a", "1"), ("a", "2"))) == 0
    assert repetitions(rounds(("a", "1"), ("b", "1"))) == 0
    assert repetitions(rounds(*[("a", "1")] * 5, ("b", "1"))) == 0
    assert repetitions(rounds(*[("a", "1")] * 3, ("b", "1"), *[("a", "1")] * 2)) == 2


def test_ids_and_durations_in_results_do_not_count_and_other_numbers_do() -> None:
    codex = "Chunk ID: {}\nWall time: {} seconds\nProcess exited with code {}"
    same = [
        ("a", codex.format(chunk, took, 1))
        for chunk, took in (("21bd65", "0.0000"), ("f00baa", "1.2345"))
    ]
    assert repetitions(rounds(*same)) == 2
    assert repetitions(rounds(*same, ("a", codex.format("21bd65", "0.0000", 0)))) == 0
    assert repetitions(rounds(("a", "45 of 99"), ("a", "46 of 99"))) == 0


def test_calls_in_turn_are_one_row() -> None:
    assert repetitions(rounds(*[("a", "1"), ("b", "2")] * 4)) == 4
    assert repetitions(rounds(*[("a", "1"), ("b", "2"), ("c", "3")] * 3)) == 3


def test_an_absent_output_equals_one_that_is_null() -> None:
    created: list[Any] = [USER]
    for number, output in enumerate((UNSET, None, UNSET)):
        call_id = f"call_{number}"
        patch = ApplyPatchCall(call_id=call_id, operation=DeleteFile(path="a"))
        created += [patch, ApplyPatchCallOutput(call_id=call_id, status="failed", output=output)]
    assert repetitions(created) == 3
    failed = [
        McpCall(name="n", arguments="{}", server_label="s", error="e", output=one)
        for one in (UNSET, None)
    ]
    assert repetitions([USER, *failed]) == 2


def test_a_user_message_restarts_the_count() -> None:
    assert repetitions([*rounds(*[("a", "1")] * 5), USER]) == 0
    assert repetitions([*rounds(*[("a", "1")] * 5), *rounds(("a", "1"), ("a", "1"))]) == 2


def test_parallel_calls_and_calls_of_this_server_count() -> None:
    calls = [FunctionCall(call_id=f"c{n}", name="run", arguments="a") for n in range(4)]
    outputs = [FunctionCallOutput(call_id=f"c{n}", output="1") for n in range(4)]
    assert repetitions([USER, *calls[:2], *outputs[:2], *calls[2:], *outputs[2:]]) == 4
    mcp = [
        McpCall(id=f"mcp_{n}", name="find", arguments="{}", server_label="s", output="none")
        for n in range(3)
    ]
    assert repetitions([USER, *mcp]) == 3


def test_a_page_that_is_read_part_by_part_is_no_loop_and_the_same_search_is_one() -> None:
    page = {"type": "open_page", "url": "https://a.example"}
    search = {"type": "search", "query": "tide"}
    assert repetitions([USER, *(WebSearchCall(id=f"ws_{n}", action=page) for n in range(4))]) == 0
    assert repetitions([USER, *(WebSearchCall(id=f"ws_{n}", action=search) for n in range(4))]) == 4


def test_nothing_is_repeated_in_nothing() -> None:
    assert repetitions([]) == repetitions([USER]) == 0


def test_the_model_receives_a_note_at_the_limit_and_is_not_called_at_twice_as_many() -> None:
    items = rounds(*[("a", "1")] * 4)
    seen, note = nudged(items, 4)

    assert (list(seen[:-1]), note) == (items, NUDGED)
    assert "last 4 rounds" in str(seen[-1])
    assert nudged(items, 5) == (items, None)
    assert nudged(items, 0) == (items, None)
    assert nudged(rounds(*[("a", "1")] * 8), 4)[1] == STOPPED
