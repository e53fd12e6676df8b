"""`context_management`: what is removed of a conversation, and what the answer reports of that."""

from typing import Any

import pytest

from antiphon.translation.from_messages.context_edits import CLEARED
from antiphon.translation.from_messages.request import Translated, read_request
from antiphon.translation.from_messages.view import Call
from tests.support.cases import each
from tests.support.messages_requests import (
    assistant,
    decoded,
    image,
    read,
    refused,
    result,
    text,
    tool,
    use,
    user,
)

KIND = "clear_tool_uses_20250919"
LONG = "x" * 400


def edited(*edits: dict[str, Any]) -> Any:
    return read(context_management={"edits": [*edits]})


def conversation(*contents: Any, name: str = "f") -> list[dict[str, Any]]:
    """A call for each of these results."""
    found = [user("Hi")]
    for number, content in enumerate(contents):
        found += [
            assistant(use(f"toolu_{number}", name, place=LONG)),
            user(result(f"toolu_{number}", content)),
        ]
    return found


def cleared(
    messages: list[dict[str, Any]], *, tokens: int = 200_000, **options: Any
) -> tuple[Translated, list[Any]]:
    """What a request with the edit becomes, and the outputs that the model reads."""
    edit = {"type": KIND, **options}
    body = decoded(*messages, tools=[tool("f"), tool("g")], context_management={"edits": [edit]})
    found = read_request(body, Call(), tokens)
    request_input: Any = found.request.input
    return found, [item.output for item in request_input if item.type == "function_call_output"]


def applied(found: Translated) -> Any:
    assert found.view.edits is not None
    return found.view.edits.applied


def test_the_results_of_all_calls_but_the_newest_are_removed_from_a_long_prompt() -> None:
    found, outputs = cleared(conversation(*[LONG] * 5))

    assert outputs == [CLEARED, CLEARED, LONG, LONG, LONG]
    freed = 2 * (len(LONG) - len(CLEARED)) // 4
    assert applied(found) == [{"type": KIND, "cleared_tool_uses": 2, "cleared_input_tokens": freed}]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"tokens": 100_000}, 5),
        ({"tokens": 100_001}, 3),
        ({"trigger": {"type": "input_tokens", "value": 250_000}}, 5),
        ({"trigger": {"type": "tool_uses", "value": 5}}, 5),
        ({"trigger": {"type": "tool_uses", "value": 4}, "tokens": 0}, 3),
        ({"keep": {"type": "tool_uses", "value": 1}}, 1),
        ({"keep": {"type": "tool_uses", "value": 0}}, 0),
        ({"keep": {"type": "tool_uses", "value": 9}}, 5),
        ({"clear_at_least": {"type": "input_tokens", "value": 5000}}, 5),
        ({"clear_at_least": {"type": "input_tokens", "value": 100}}, 3),
        ({"exclude_tools": ["f"]}, 5),
        ({"exclude_tools": ["g"]}, 3),
    ],
)
def test_options_decide_how_many_results_are_left(options: dict[str, Any], left: int) -> None:
    found, outputs = cleared(conversation(*[LONG] * 5), **options)

    assert outputs.count(LONG) == left
    assert [one["cleared_tool_uses"] for one in applied(found)] == ([5 - left] if left < 5 else [])


def test_a_result_counts_by_its_bytes_as_the_prompt_does() -> None:
    found, _ = cleared(conversation("本" * 1_000, LONG, LONG, LONG))

    freed = (3 * 1_000 - len(CLEARED)) // 4
    assert applied(found)[0]["cleared_input_tokens"] == freed


@pytest.mark.parametrize(
    ("inputs", "is_cleared"), [(True, True), (["f"], True), (["g"], False), (False, False)]
)
def test_arguments_are_removed_on_request(inputs: Any, *, is_cleared: bool) -> None:
    found, _ = cleared(conversation(*[LONG] * 4), clear_tool_inputs=inputs)
    request_input: Any = found.request.input
    arguments = [item.arguments for item in request_input if item.type == "function_call"]

    assert (arguments[0] == "{}") is is_cleared
    assert "{}" not in arguments[1:]


def test_an_image_counts_and_is_removed() -> None:
    found, outputs = cleared(conversation([image()], LONG, LONG, LONG))

    assert outputs[0] == CLEARED
    assert applied(found)[0]["cleared_input_tokens"] > 700


def test_removed_thinking_is_reported_by_turns() -> None:
    thought = {"type": "thinking", "thinking": LONG, "signature": "EqQB"}
    turn = assistant(thought, text("a"))
    edit = {"type": "clear_thinking_20251015"}
    messages = [user("a"), turn, user("b"), turn, user("c"), turn, user("d")]
    found = read(*messages, context_management={"edits": [edit]})

    assert applied(found) == [
        {
            "type": "clear_thinking_20251015",
            "cleared_thinking_turns": 2,
            "cleared_input_tokens": 200,
        }
    ]
    none = {"type": "clear_thinking_20251015", "keep": "all"}
    assert applied(read(*messages, context_management={"edits": [none]})) == []


def test_compaction_is_for_the_run() -> None:
    assert applied(edited({"type": KIND})) == []
    compact = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
    assert edited(compact).request.context_management[0].compact_threshold == 50_000
    assert (
        edited({"type": "compact_20260112"}).request.context_management[0].compact_threshold
        == 150_000
    )
    assert read(compaction={"type": "summarize"}).request.input[-1].type == "compaction_trigger"  # type: ignore[union-attr,index]


@each(
    "edit, param",
    [
        ({"type": "forget_20990101"}, "context_management.edits.0.type"),
        ({"type": "clear_thinking_20251015", "keep": "none"}, "context_management.edits.0.keep"),
        (
            {"type": "clear_thinking_20251015", "keep": {"value": 0}},
            "context_management.edits.0.keep",
        ),
        (
            {"type": "compact_20260112", "trigger": {"value": 5}},
            "context_management.edits.0.trigger.value",
        ),
        ({"type": KIND, "trigger": {"type": "days"}}, "context_management.edits.0.trigger.type"),
        ({"type": KIND, "keep": 3}, "context_management.edits.0.keep.value"),
        ({"type": KIND, "exclude_tools": "f"}, "context_management.edits.0.exclude_tools"),
        ({"type": KIND, "clear_tool_inputs": 1}, "context_management.edits.0.clear_tool_inputs"),
    ],
)
def test_an_edit_that_is_not_known_is_rejected_by_name(edit: dict[str, Any], param: str) -> None:
    assert refused(context_management={"edits": [edit]}).param == param
