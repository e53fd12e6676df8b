"""A call comes as what its tool's kind makes of it, streamed, whatever way the model's JSON is cut
(section 16).
"""

import json
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.protocol.tool_bindings import Offer
from antiphon.protocol.validation.validate import decode_request
from antiphon.testing import check_event_stream
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.tool_mapping.offering import toolbox_of
from tests.support.replay import delta, sse
from tests.support.translate import Translation, translate

PATCH = '+hi "there"\n+é 😀\\n\n'


def offered(*tools: dict[str, Any]) -> dict[str, Offer]:
    request = decode_request(json.dumps({"model": "m", "input": "x", "tools": tools}).encode())
    return toolbox_of(request, [], DIALECTS["generic"]).offers


def calling(
    name: str, arguments: str, *cuts: int, tools: list[dict[str, Any]], ends: str = "tool_calls"
) -> Translation:
    """The model calls once, its arguments cut at these places."""
    bounds = sorted({0, len(arguments), *(cut % (len(arguments) + 1) for cut in cuts)})
    pieces = [arguments[start:end] for start, end in pairwise(bounds)]
    chunks = [
        delta(
            tool_calls=[{"index": 0, "id": "call_1", "function": {"name": name, "arguments": ""}}]
        )
    ]
    chunks += [
        delta(tool_calls=[{"index": 0, "function": {"arguments": piece}}]) for piece in pieces
    ]
    translation = translate(sse(*chunks, delta(ends)), offers=offered(*tools))
    assert check_event_stream(translation.events) == []
    return translation


def kinds(translation: Translation) -> list[str]:
    """The types of the events of its item, deltas that follow one another once."""
    types = [event["type"].removeprefix("response.") for event in translation.events[2:-1]]
    return [kind for kind, before in zip(types, ["", *types], strict=False) if kind != before]


def deltas(translation: Translation) -> str:
    return "".join(
        event["delta"] for event in translation.events if event["type"].endswith(".delta")
    )


CUSTOM = {"type": "custom", "name": "patch"}


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(st.integers(0, 10_000)),
    st.booleans(),
)
def test_a_custom_tools_input_is_unwrapped_in_any_cut(
    text: str, cuts: list[int], ascii: bool
) -> None:
    arguments = json.dumps({"input": text}, ensure_ascii=ascii)
    translation = calling("patch", arguments, *cuts, tools=[CUSTOM])
    (item,) = translation.output

    assert (item["type"], item["name"], item["input"], item["status"]) == (
        "custom_tool_call",
        "patch",
        text,
        "completed",
    )
    assert deltas(translation) == text


def test_a_custom_call_has_the_events_of_the_specification() -> None:
    translation = calling("patch", '{"input": "SELECT 1"}', 14, tools=[CUSTOM])
    first = translation.events[2]["item"]

    assert kinds(translation) == [
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
    ]
    assert (first["input"], first["status"], first["id"][:4]) == ("", "in_progress", "ctc_")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("*** Begin Patch\n", "*** Begin Patch\n"),
        ('{"patch": "x"}', "x"),
        ('{"input": ["a", 1]}', '["a",1]'),
        ('{"input": 7}', "7"),
        ("{}", ""),
        ("", ""),
    ],
    ids=["no JSON at all", "another key", "no string", "a number", "nothing in it", "nothing"],
)
def test_what_a_weak_model_writes_instead_is_the_input_too(arguments: str, text: str) -> None:
    (item,) = calling("patch", arguments, tools=[CUSTOM]).output

    assert item["input"] == text


def test_a_namespace_comes_back_apart_from_the_name() -> None:
    tool = {
        "type": "namespace",
        "name": "mcp__t",
        "description": "",
        "tools": [{"type": "function", "name": "ping"}],
    }
    (item,) = calling("mcp__t__ping", "{}", tools=[tool]).output

    assert (item["type"], item["namespace"], item["name"]) == ("function_call", "mcp__t", "ping")


def test_a_custom_tool_in_a_namespace_comes_back_whole() -> None:
    tool = {
        "type": "namespace",
        "name": "functions",
        "description": "",
        "tools": [{"type": "custom", "name": "exec"}],
    }
    (item,) = calling("functions__exec", '{"input": "ls"}', tools=[tool]).output

    assert (item["type"], item["namespace"], item["name"], item["input"]) == (
        *("custom_tool_call", "functions", "exec"),
        "ls",
    )


def test_an_asynchronous_tool_call_reports_itself() -> None:
    (item,) = calling(
        "slow", "{}", tools=[{"type": "function", "name": "slow", "async": True}]
    ).output

    assert item["async"] is True


SHELL = {"type": "shell", "environment": {"type": "local"}}


def test_a_shells_commands_stream_one_by_one() -> None:
    arguments = (
        '{"commands": ["ls -la", "echo \\"x\\""], "timeout_ms": 1000, "max_output_length": 5}'
    )
    translation = calling("shell", arguments, *range(len(arguments)), tools=[SHELL])
    (item,) = translation.output
    command = ["shell_call_command.added", "shell_call_command.delta", "shell_call_command.done"]

    assert kinds(translation) == ["output_item.added", *command, *command, "output_item.done"]
    assert [e["command_index"] for e in translation.events if "command_index" in e][-1] == 1
    assert item["action"] == {
        "commands": ["ls -la", 'echo "x"'],
        "timeout_ms": 1000,
        "max_output_length": 5,
    }
    assert item["environment"] == {"type": "local"}


def test_a_patch_streams_its_diff_once_it_is_known_what_for() -> None:
    arguments = json.dumps({"type": "create_file", "path": "a.md", "diff": PATCH})
    translation = calling(
        "apply_patch", arguments, *range(len(arguments)), tools=[{"type": "apply_patch"}]
    )
    (item,) = translation.output
    added = translation.events[2]["item"]

    assert kinds(translation) == [
        "output_item.added",
        "apply_patch_call_operation_diff.delta",
        "apply_patch_call_operation_diff.done",
        "output_item.done",
    ]
    assert added["operation"] == {"type": "create_file", "path": "a.md", "diff": ""}
    assert item["operation"] == {"type": "create_file", "path": "a.md", "diff": PATCH}
    assert deltas(translation) == PATCH


def test_a_deletion_has_no_diff() -> None:
    translation = calling(
        "apply_patch", '{"type": "delete_file", "path": "a"}', tools=[{"type": "apply_patch"}]
    )

    assert kinds(translation) == ["output_item.added", "output_item.done"]
    assert translation.output[0]["operation"] == {"type": "delete_file", "path": "a"}


def test_a_patch_with_its_diff_first_waits_for_its_path() -> None:
    translation = calling(
        "apply_patch",
        '{"diff": "+x", "path": "a", "type": "update_file"}',
        12,
        24,
        tools=[{"type": "apply_patch"}],
    )

    assert translation.output[0]["operation"] == {"type": "update_file", "path": "a", "diff": "+x"}
    assert deltas(translation) == "+x"


@pytest.mark.parametrize(
    ("tool", "name", "arguments", "expected"),
    [
        (
            {"type": "local_shell"},
            "local_shell",
            '{"command": ["ls", "-a"], "env": {"A": "b"}, "timeout_ms": 5}',
            {
                "action": {
                    "type": "exec",
                    "command": ["ls", "-a"],
                    "env": {"A": "b"},
                    "timeout_ms": 5,
                }
            },
        ),
        (
            {"type": "local_shell"},
            "local_shell",
            '{"command": "ls -a"}',
            {"action": {"type": "exec", "command": ["bash", "-lc", "ls -a"], "env": {}}},
        ),
        (
            {"type": "computer"},
            "computer",
            '{"actions": [{"type": "click", "x": 1, "y": 2, "button": "left"}]}',
            {
                "actions": [{"type": "click", "x": 1, "y": 2, "button": "left"}],
                "pending_safety_checks": [],
            },
        ),
        (
            {
                "type": "computer_use_preview",
                "display_height": 1,
                "display_width": 1,
                "environment": "browser",
            },
            "computer_use_preview",
            '{"type": "screenshot"}',
            {"action": {"type": "screenshot"}, "pending_safety_checks": []},
        ),
        (
            {
                "type": "tool_search",
                "execution": "client",
                "parameters": {"type": "object", "properties": {}},
            },
            "tool_search",
            '{"goal": "weather"}',
            {"arguments": {"goal": "weather"}, "execution": "client", "call_id": "call_1"},
        ),
    ],
    ids=["local shell", "local shell with a line", "computer", "computer preview", "tool search"],
)
def test_a_call_without_deltas_is_emitted_when_complete(
    tool: dict[str, Any], name: str, arguments: str, expected: dict[str, Any]
) -> None:
    translation = calling(name, arguments, 7, tools=[tool])
    (item,) = translation.output

    assert kinds(translation) == ["output_item.added", "output_item.done"]
    assert translation.events[2]["item"]["status"] == "in_progress"
    assert {key: item[key] for key in expected} == expected


@pytest.mark.parametrize("name", ["local_shell", "computer", "apply_patch"])
def test_what_makes_no_action_goes_out_as_the_model_wrote_it(name: str) -> None:
    (item,) = calling(name, '{"oops": 1}', tools=[{"type": name}]).output

    assert (item["type"], item["name"], item["arguments"]) == ("function_call", name, '{"oops": 1}')


def test_a_call_that_was_cut_off_is_incomplete() -> None:
    (item,) = calling("patch", '{"input": "SEL', tools=[CUSTOM], ends="length").output

    assert (item["input"], item["status"]) == ("SEL", "incomplete")


def two_calls(**options: Any) -> Translation:
    calls = [
        {"index": i, "id": f"call_{i}", "function": {"name": "look", "arguments": ""}}
        for i in (0, 1)
    ]
    rest = [{"index": i, "function": {"arguments": "{}"}} for i in (1, 0)]
    chunks = [delta(tool_calls=[each]) for each in (*calls, *rest)]
    usage = {
        "choices": [],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }
    return translate(
        sse(*chunks, delta(content="And so on."), delta("tool_calls"), usage),
        names=["look"],
        **options,
    )


def test_after_a_single_wanted_call_only_the_usage_is_received() -> None:
    translation = two_calls(only_one=True)

    assert [(item["type"], item["call_id"], item["arguments"]) for item in translation.output] == [
        ("function_call", "call_0", "{}")
    ]
    assert translation.events[-1]["response"]["usage"]["total_tokens"] == 7


def test_otherwise_all_calls_are_accepted() -> None:
    assert len(two_calls().calls) == 2


def called(*names: str, **options: Any) -> Translation:
    """The model says something before and after calls of these tools, all of them at index 0 and
    without an id.
    """
    calls = [{"index": 0, "function": {"name": name, "arguments": '{"a": 1}'}} for name in names]
    chunks = [
        delta(content="So:"),
        *(delta(tool_calls=[each]) for each in calls),
        delta(content="Done."),
    ]
    translation = translate(
        sse(*chunks, delta("tool_calls")), names=["look", "leap", "lookout"], **options
    )
    assert check_event_stream(translation.events) == []
    return translation


@pytest.mark.parametrize(
    "names", [["leap", "look"], ["look", "leap"], ["dream", "look", "leap", "dream"]], ids=str
)
def test_a_disallowed_call_is_dropped_and_the_others_run(names: list[str]) -> None:
    translation = called(*names, allowed={"look"})

    assert translation.calls == [("look", '{"a": 1}')]
    assert translation.text == "So:Done."


def test_where_nothing_may_be_called_nothing_is() -> None:
    translation = called("look", "dream", allowed=())

    assert translation.calls == []
    assert not any("call" in event["type"] for event in translation.events)
    assert translation.response["status"] == "completed"


def test_a_call_that_is_not_allowed_is_not_the_only_one() -> None:
    assert called("leap", "look", allowed={"look"}, only_one=True).calls == [("look", '{"a": 1}')]


def test_what_is_not_allowed_is_not_written_again_to_fit_its_grammar() -> None:
    grammar = {
        **CUSTOM,
        "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'},
    }
    call = delta(
        tool_calls=[
            {
                "index": 0,
                "id": "call_1",
                "function": {"name": "patch", "arguments": '{"input": "b"}'},
            }
        ]
    )
    translation = translate(sse(call, delta("tool_calls")), offers=offered(grammar), allowed=())

    assert translation.ending is not None
    assert (translation.ending.retained, translation.output) == ([], [])


@pytest.mark.parametrize("arguments", ["ls -l", '"ls -l"'])
def test_a_shells_command_that_is_written_bare_is_a_command(arguments: str) -> None:
    translation = calling("shell", arguments, 3, tools=[SHELL])

    assert translation.output[0]["action"]["commands"] == ["ls -l"]
    assert kinds(translation)[1] == "shell_call_command.added"


@pytest.mark.parametrize("timeout", ["1e30", "10000000000000000000000", "-1", "true"])
def test_a_number_that_no_client_could_hold_is_left_out(timeout: str) -> None:
    (item,) = calling(
        "shell", f'{{"commands": ["ls"], "timeout_ms": {timeout}}}', tools=[SHELL]
    ).output

    assert item["action"]["timeout_ms"] is None


@pytest.mark.wide
def test_a_long_diff_costs_no_more_for_each_of_its_characters() -> None:
    text = "+x\n" * 30_000
    arguments = json.dumps({"type": "create_file", "path": "a", "diff": text})
    begun = time.process_time()
    translation = calling(
        "apply_patch", arguments, *range(0, len(arguments), 4), tools=[{"type": "apply_patch"}]
    )

    assert translation.output[0]["operation"]["diff"] == text
    assert time.process_time() - begun < 15


def test_a_patch_that_was_cut_is_in_progress_since_the_api_knows_no_other_word() -> None:
    arguments = '{"type": "create_file", "path": "a", "diff": "+x'
    translation = calling("apply_patch", arguments, tools=[{"type": "apply_patch"}], ends="length")

    assert translation.output[0]["status"] == "in_progress"
    assert check_event_stream(translation.events) == []
