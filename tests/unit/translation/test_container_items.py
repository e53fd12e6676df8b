"""Calls that run in a container while they stream: whatever form a model writes them in."""

import json
from typing import Any

import msgspec
import pytest

from antiphon.protocol.response import Response
from antiphon.protocol.sources import CreatedFile
from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.container_items import code_of, without_fence
from antiphon.translation.hosted_call import APART, HostedCall, Result
from antiphon.translation.hosted_items import streaming
from antiphon.translation.writer import ResponseWriter, View
from tests.support.cases import each

CODE = Offer("python", "code_interpreter", "code_interpreter", is_hosted=True)
SHELL = Offer("shell", "shell", "shell", is_hosted=True)


def writer(**view: Any) -> ResponseWriter:
    response = Response(id="resp_1", created_at=0, model="m")
    return ResponseWriter(
        response,
        lambda prefix: f"{prefix}_1",
        lambda: 0,
        lambda state: json.dumps(state),
        View(**view),
        containers={"code_interpreter": "cntr_1", "shell": "cntr_1"},
    )


def called(
    writer: ResponseWriter, offer: Offer, *deltas: str, status: Any = "completed"
) -> HostedCall:
    call = streaming(writer, "call_1", offer)
    for delta in deltas:
        call.add(delta)
    call.close(status)
    assert isinstance(call, HostedCall)
    return call


def events(writer: ResponseWriter) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.json.decode(msgspec.json.encode(writer.take()))
    return found


def pieces(reported: list[dict[str, Any]]) -> list[str]:
    return [event["delta"] for event in reported if event["type"].endswith("_code.delta")]


@each(
    ("arguments", "code"),
    [
        ('{"code": "a = 1\\nprint(a)"}', "a = 1\nprint(a)"),
        ('{"language": "python", "code": "1"}', "1"),
        ('"print(1)"', "print(1)"),
        ("print(1)", "print(1)"),
        ('{"code": ["a = 1", "a"]}', "a = 1\na"),
        ('["a = 1", "a"]', "a = 1\na"),
        ('{"input": "print(1)"}', "print(1)"),
        ('{"script": "print(1)", "lang": "py"}', "print(1)"),
        ('{"code": "```python\\nprint(1)\\n```"}', "print(1)"),
        ("```py\nprint(1)\n```\n", "print(1)"),
        ('"{\\"code\\": \\"print(1)\\"}"', "print(1)"),
        ('{"code": "{\'a\': 1}"}', "{'a': 1}"),
        ('{"code": "  \\n  "}', "  \n  "),
        ("{}", ""),
        ("", ""),
        ("42", ""),
    ],
)
@each("cut", [1, 3, 1000])
def test_the_code_is_read_in_every_form_and_its_deltas_are_the_code(
    arguments: str, code: str, cut: int
) -> None:
    response = writer()
    deltas = [arguments[at : at + cut] for at in range(0, len(arguments), cut)]
    call = called(response, CODE, *deltas)
    emitted = events(response)
    (done,) = [event for event in emitted if event["type"].endswith("_code.done")]

    assert "".join(pieces(emitted)) == done["code"] == code
    assert call.use() == ({"code": code} if code.strip() else None)


def test_plain_code_streams_as_it_comes() -> None:
    response = writer()
    called(response, CODE, '{"code": "', "x = 1", "\\ny", ' = 2"}')

    assert pieces(events(response)) == ["x = 1", "\ny", " = 2"]


def test_code_that_is_cut_off_ends_as_far_as_it_came() -> None:
    response = writer()
    called(response, CODE, '{"code": "x = 1', status="incomplete")
    emitted = events(response)

    assert [event["type"].removeprefix("response.") for event in emitted] == [
        "output_item.added",
        "code_interpreter_call.in_progress",
        "code_interpreter_call_code.delta",
        "code_interpreter_call_code.done",
        "output_item.done",
    ]
    assert (emitted[-1]["item"]["status"], emitted[-1]["item"]["code"]) == ("incomplete", "x = 1")


@pytest.mark.parametrize("is_displayed", [True, False])
def test_outputs_are_returned_on_request_and_sealed_elsewhere(is_displayed: bool) -> None:
    created = writer(code_outputs=is_displayed)
    outputs = [{"type": "logs", "logs": "4"}]
    file = CreatedFile("cntr_1", "cfile_1", "/mnt/data/a.csv", "a.csv")
    item: Any = called(created, CODE, '{"code": "4"}').end(
        Result({"outputs": outputs}, "4", files=[file])
    )
    sealed = json.loads(created.sealed["ci_1"].partition(APART)[0])

    assert item.outputs == (outputs if is_displayed else None)
    _, _, apart = created.sealed["ci_1"].partition(APART)
    assert (json.loads(apart) if apart else None) == (
        None if is_displayed else {"outputs": outputs}
    )
    assert sealed["files"] == [msgspec.to_builtins(file)]
    assert events(created)[0]["item"]["outputs"] == ([] if is_displayed else None)


def test_code_without_json_is_wrapped_in_json_for_chat_templates() -> None:
    response = writer()
    called(response, CODE, "print(1)").end(Result())

    assert (
        json.loads(response.sealed["ci_1"].partition(APART)[0])["call"]["arguments"]
        == '{"code":"print(1)"}'
    )


@pytest.mark.parametrize(
    ("arguments", "commands"),
    [
        ('{"commands": ["ls", "pwd"]}', ["ls", "pwd"]),
        ('{"commands": "ls"}', ["ls"]),
        ('{"command": "ls"}', ["ls"]),
        ('"ls"', ["ls"]),
        ("ls -l", ["ls -l"]),
        ("{}", []),
    ],
)
def test_commands_are_read_in_every_form(arguments: str, commands: list[str]) -> None:
    response = writer()
    call = called(response, SHELL, arguments)
    emitted = events(response)

    assert [
        event["command"] for event in emitted if event["type"].endswith("_command.done")
    ] == commands
    assert call.use() == ({"commands": commands} if commands else None)


def test_the_output_of_a_shell_is_an_item_behind_its_call() -> None:
    response = writer()
    outputs = [
        {"stdout": "a\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
    ]
    call = called(
        response, SHELL, '{"commands": ["a", "b"], "max_output_length": 9, "timeout_ms": 5}'
    )
    call.end(Result({"output": outputs}, "a"))
    emitted = events(response)

    assert [event["type"].removeprefix("response.") for event in emitted[-6:]] == [
        "output_item.done",
        "output_item.added",
        "shell_call_output_content.delta",
        "shell_call_output_content.done",
        "shell_call_output_content.done",
        "output_item.done",
    ]
    assert emitted[-4]["delta"] == {"stdout": "a\n"}
    assert emitted[-6]["item"]["environment"] == {
        "type": "container_reference",
        "container_id": "cntr_1",
    }
    item = emitted[-1]["item"]
    assert (item["status"], item["max_output_length"], item["output"]) == ("completed", 9, outputs)
    assert call.use() == {"commands": ["a", "b"], "max_output_length": 9, "timeout_ms": 5}
    assert [index for index, _ in call.outputs] == [1]


def test_an_unrun_shell_call_has_an_empty_output_and_waits_for_no_client() -> None:
    response = writer()
    called(response, SHELL, '{"commands": ["a"', status="incomplete")
    call, output = (
        event["item"] for event in events(response) if event["type"] == "response.output_item.done"
    )

    assert (call["status"], call["action"]["commands"]) == ("incomplete", ["a"])
    assert (output["status"], output["output"], output["call_id"]) == ("incomplete", [], "call_1")


@pytest.mark.parametrize(
    ("output", "status"), [([], "incomplete"), ([{"stdout": "", "stderr": "x"}], "completed")]
)
def test_a_shell_call_that_failed_is_incomplete_unless_its_commands_ran(
    output: list[Any], status: str
) -> None:
    response = writer()
    ran = [{**one, "outcome": {"type": "exit", "exit_code": 1}} for one in output]
    item: Any = called(response, SHELL, '"x"').end(Result({"output": ran}, "x", is_failed=True))

    assert (item.status, response.output[-1].status) == (status, status)  # type: ignore[union-attr]


def test_a_fence_is_taken_off_only_where_it_is_around_all_of_the_code() -> None:
    assert without_fence("```\na\n```") == "a"
    assert without_fence("```python\na\nb") == "a\nb"
    assert without_fence("s = '''```'''") == "s = '''```'''"
    assert code_of('{"code": null}') == ""


def test_a_fence_with_many_blanks_is_read_once() -> None:
    """Without possessive quantifiers this takes hours."""
    text = "```" + " " * 1_000_000 + "x"
    assert without_fence(text) == text


def test_arguments_that_are_nested_too_deep_have_no_code() -> None:
    assert code_of('{"a":' * 600 + "1" + "}" * 600) == ""
