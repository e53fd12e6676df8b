"""A model that knows only functions runs code and commands in containers, in one response."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from antiphon.errors import ClientError
from antiphon.gateway.parts import Parts
from antiphon.testing import assert_event_stream, fold
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.registry import Toolset
from antiphon.translation.dialects.table import DIALECTS
from tests.support.notebooks import CODE, OUTPUTS, PNG, SHELL, Notebooks, cell, created, printed
from tests.support.openai_types import OpenAITypes
from tests.support.parts import called, plain, query, scripted_parts, stated, stream
from tests.support.replay import delta
from tests.support.tools import MCP, Servers

DRAW = called("python", '{"code": "draw()"}')


def coding(notebooks: Notebooks, *answers: Any, **more: Any) -> tuple[Parts, Any]:
    one, backend = scripted_parts(*answers)
    one.run.toolset = Toolset(code=notebooks, **more)
    return one, backend


def calls(*named: tuple[str, str]) -> list[dict[str, Any]]:
    """An answer of several calls."""
    each = [
        {
            "index": at,
            "id": f"call_{at}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for at, (name, arguments) in enumerate(named)
    ]
    return [*(delta(tool_calls=[call]) for call in each), delta("tool_calls")]


def code(text: str) -> tuple[str, str]:
    return "python", json.dumps({"code": text})


def types(response: dict[str, Any]) -> list[str]:
    return [item["type"] for item in response["output"]]


def reported(request: dict[str, Any]) -> list[Any]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


def annotations(response: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = response["output"][-1]["content"][0]["annotations"]
    return found


async def test_code_runs_in_one_container_and_the_model_reads_what_it_printed() -> None:
    notebooks = Notebooks(cell("1\n", "2"), cell())
    server, backend = coding(notebooks, called(*code("1")), called(*code("2")), stated("Done."))

    events = await stream(server, tools=[CODE], include=OUTPUTS)

    assert_event_stream(events)
    response = events[-1]["response"]
    assert fold(events) == response
    first, second, message = response["output"]
    assert first == {
        "id": first["id"],
        "type": "code_interpreter_call",
        "status": "completed",
        "code": "1",
        "container_id": "cntr_1",
        "outputs": [{"type": "logs", "logs": "1\n"}, {"type": "logs", "logs": "2"}],
    }
    assert first["id"].startswith("ci_")
    assert (second["container_id"], second["outputs"]) == ("cntr_1", [])
    assert message["content"][0]["text"] == "Done."
    assert response["tools"] == [CODE]
    assert [(use.name, use.arguments, use.container_id) for use in notebooks.used] == [
        ("code_interpreter", {"code": "1"}, "cntr_1"),
        ("code_interpreter", {"code": "2"}, "cntr_1"),
    ]
    assert reported(backend.requests[2]) == ["1\n\n2", "Done."]


async def test_plain_and_streamed_are_the_same_response() -> None:
    files = (created("fig.png", is_figure=True), created("a.csv"))
    answers = DRAW, stated("[a](sandbox:/mnt", "/data/a.csv)")
    outputs = []
    for reply in (query, stream):
        server, _ = coding(Notebooks(cell("x", files=files, figures=1)), *answers)
        created_by: Any = await reply(server, tools=[CODE], include=OUTPUTS)
        response = created_by if isinstance(created_by, dict) else created_by[-1]["response"]
        outputs.append(json.dumps([{**item, "id": ""} for item in response["output"]]))

    assert outputs[0] == outputs[1]
    assert "cfile_fig.png" in outputs[0]
    assert "cfile_a" in outputs[0]


async def test_an_answer_that_comes_whole_is_cited_too() -> None:
    server, _ = coding(
        Notebooks(cell("x", files=(created("a.csv"),))), DRAW, plain("[a](sandbox:/mnt/data/a.csv)")
    )
    response = await query(server, tools=[CODE])

    assert annotations(response)[0]["filename"] == "a.csv"


async def test_without_the_include_outputs_are_null_and_the_echo_is_as_it_was_sent() -> None:
    tool = {"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file-1"]}}
    server, _ = coding(Notebooks(), DRAW, stated("4"))

    response = await query(server, tools=[tool])

    assert response["output"][0]["outputs"] is None
    assert response["tools"] == [tool]


async def test_calls_in_one_container_run_in_sequence_while_other_tools_run_concurrently() -> None:
    order: list[str] = []
    servers_ran = asyncio.Event()

    async def run(use: Use) -> ToolOutcome:
        order.append(f"begin {use.arguments['code']}")
        await servers_ran.wait()
        order.append(f"end {use.arguments['code']}")
        return cell(use.arguments["code"])

    async def roll(use: Use) -> ToolOutcome:
        order.append("roll")
        servers_ran.set()
        return ToolOutcome("5", {"output": "5"})

    notebooks = Notebooks()
    notebooks.answer = run
    server, _ = coding(
        notebooks,
        calls(code("a"), code("b"), ("dice__roll", "{}")),
        stated("ok"),
        mcp=Servers(roll=roll),
    )
    events = await stream(server, tools=[CODE, MCP])

    assert_event_stream(events)
    assert types(events[-1]["response"]) == [
        "mcp_list_tools",
        *["code_interpreter_call"] * 2,
        "mcp_call",
        "message",
    ]
    assert order == ["begin a", "roll", "end a", "begin b", "end b"]


async def test_auto_goes_on_in_the_newest_container_of_the_conversation() -> None:
    notebooks = Notebooks()
    server, backend = coding(notebooks, DRAW, stated("1"), DRAW, stated("2"))
    first = await query(server, tools=[CODE])
    second = await query(server, tools=[CODE], previous_response_id=first["id"])

    assert [newest for _, _, newest in notebooks.requested] == ["", "cntr_1"]
    assert second["output"][0]["container_id"] == "cntr_1"
    assert backend.requests[2]["messages"][1]["tool_calls"][0]["function"] == {
        "name": "python",
        "arguments": '{"code": "draw()"}',
    }


async def test_a_conversation_continues_in_a_new_container_after_the_old_one_expired() -> None:
    notebooks = Notebooks()
    server, backend = coding(notebooks, DRAW, stated("2"))
    item = {
        "type": "code_interpreter_call",
        "id": "ci_9",
        "status": "completed",
        "container_id": "cntr_9",
    }
    response = await query(
        server,
        input=[
            {"role": "user", "content": "Hi"},
            {**item, "code": "1", "outputs": [{"type": "logs", "logs": "one"}]},
        ],
        tools=[CODE],
    )

    assert response["output"][0]["container_id"] == "cntr_1"
    assert reported(backend.requests[0]) == ["one"]


async def test_a_shell_and_code_share_a_container_and_a_named_one_comes_first() -> None:
    notebooks = Notebooks(cell("1"), printed("a\n"))
    notebooks.known.add("cntr_mine")
    server, backend = coding(
        notebooks, calls(code("1"), ("shell", '{"commands": ["ls"]}')), stated("ok")
    )
    named = {
        "type": "shell",
        "environment": {"type": "container_reference", "container_id": "cntr_mine"},
    }

    events = await stream(server, tools=[CODE, named])

    assert_event_stream(events)
    response = events[-1]["response"]
    assert types(response) == [
        "code_interpreter_call",
        "shell_call",
        "shell_call_output",
        "message",
    ]
    assert {use.container_id for use in notebooks.used} == {"cntr_mine"}
    assert reported(backend.requests[1]) == ["1", "a\n\n[exit code 0]"]


async def test_a_hosted_shell_is_echoed_with_its_container_and_answers_itself() -> None:
    server, backend = coding(
        Notebooks(printed("a\n")), called("shell", '{"commands": ["ls"]}'), stated("One file.")
    )
    response = await query(server, tools=[SHELL])

    environment = {"type": "container_reference", "container_id": "cntr_1"}
    assert response["tools"] == [{"type": "shell", "environment": environment}]
    call, output, _ = response["output"]
    assert (call["environment"], call["status"]) == (environment, "completed")
    assert output["call_id"] == call["call_id"]
    assert backend.requests[1]["messages"][-1]["content"] == "a\n\n[exit code 0]"


async def test_a_shell_of_the_client_stays_the_client_s_where_containers_are() -> None:
    notebooks = Notebooks()
    server, _ = coding(notebooks, called("shell", '{"commands": ["ls"]}'))
    response = await query(server, tools=[{"type": "shell", "environment": {"type": "local"}}])

    assert types(response) == ["shell_call"]
    assert (notebooks.requested, notebooks.used) == ([], [])


async def test_a_model_that_gives_every_shell_call_one_id_gets_a_new_id_for_each() -> None:
    ls = called("shell", '{"commands": ["ls"]}', "call_1")
    server, _ = coding(Notebooks(printed("a"), printed("b")), ls, ls, stated("ok"))
    response = await query(server, tools=[SHELL])

    ids = [item["call_id"] for item in response["output"] if item["type"] == "shell_call"]
    assert len(set(ids)) == 2
    assert response["status"] == "completed"


@pytest.mark.parametrize("name", ["python", "code_interpreter", "Python", "ipython", "run_python"])
async def test_code_is_run_under_every_name_that_models_remember(name: str) -> None:
    mine = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    server, _ = coding(Notebooks(), called(name, "print(4)"), stated("4"))
    response = await query(server, tools=[CODE, mine])

    assert response["output"][0]["code"] == "print(4)"


async def test_a_function_of_the_client_named_python_stays_the_client_s() -> None:
    mine = {"type": "function", "name": "python", "parameters": {"type": "object"}}
    server, backend = coding(Notebooks(), called("python", "{}"))
    response = await query(server, tools=[mine, CODE])

    assert types(response) == ["function_call"]
    assert len({tool["function"]["name"] for tool in backend.requests[0]["tools"]}) == 2


async def test_a_choice_demands_code_until_it_was_run() -> None:
    server, backend = coding(Notebooks(), DRAW, stated("4"))
    await query(server, tools=[CODE], tool_choice={"type": "code_interpreter"})

    assert backend.requests[0]["tool_choice"] == {
        "type": "function",
        "function": {"name": "python"},
    }
    assert backend.requests[1]["tool_choice"] == "auto"


async def test_code_that_is_not_among_the_allowed_tools_is_not_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    notebooks = Notebooks()
    mine = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    server, _ = coding(notebooks, DRAW)
    choice = {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": "look"}],
    }
    response = await query(server, tools=[CODE, mine], tool_choice=choice)

    assert (response["output"], notebooks.used) == ([], [])
    assert "Dropped a call of the tool 'python'" in caplog.text


async def test_a_tool_that_only_programs_may_call_is_left_out() -> None:
    notebooks = Notebooks()
    server, backend = coding(notebooks, stated("Hi"))
    await query(server, tools=[{**CODE, "allowed_callers": ["programmatic"]}])

    assert "tools" not in backend.requests[0]
    assert notebooks.requested == []


async def test_max_tool_calls_counts_code_and_commands() -> None:
    notebooks = Notebooks(cell("1"), printed("2"), cell("3"))
    shell = called("shell", '{"commands": ["ls"]}')
    server, backend = coding(notebooks, DRAW, shell, stated("ok"))
    response = await query(server, tools=[CODE, SHELL], max_tool_calls=2)

    assert types(response) == [
        "code_interpreter_call",
        "shell_call",
        "shell_call_output",
        "message",
    ]
    assert "tools" not in backend.requests[2]


async def test_code_that_fails_in_the_sandbox_is_a_failed_call_that_the_model_reads() -> None:
    result = ToolOutcome("Error: over its time.", {"outputs": []}, is_failed=True)
    server, backend = coding(Notebooks(result), DRAW, stated("Sorry."))
    events = await stream(server, tools=[CODE])

    assert_event_stream(events)
    assert events[-1]["response"]["output"][0]["status"] == "failed"
    assert "response.code_interpreter_call.completed" not in {event["type"] for event in events}
    assert reported(backend.requests[1]) == ["Error: over its time."]


async def test_a_call_without_code_fails_and_the_model_receives_where_to_put_it() -> None:
    notebooks = Notebooks()
    server, backend = coding(notebooks, called("python", "{}"), stated("Sorry."))
    response = await query(server, tools=[CODE])

    assert (response["output"][0]["status"], notebooks.used) == ("failed", [])
    assert 'Put the Python code into "code"' in reported(backend.requests[1])[0]


async def test_a_model_that_runs_the_same_code_for_ever_is_nudged() -> None:
    server, backend = coding(Notebooks(), *[DRAW] * 8)
    response = await query(server, tools=[CODE])

    assert response["status"] == "incomplete"
    assert any(
        "identical" in str(message["content"]) for message in backend.requests[-1]["messages"]
    )


# Files and figures.


async def test_a_later_turn_links_a_file_of_an_earlier_one_and_does_not_cite_its_figure_again() -> (
    None
):
    files = created("fig.png", is_figure=True), created("a.csv")
    link = stated("[a](sandbox:/mnt/data/a.csv)")
    server, _ = coding(Notebooks(cell("x", files=files, figures=1)), DRAW, stated("Drawn."), link)
    first = await query(server, tools=[CODE])
    second = await query(server, tools=[CODE], previous_response_id=first["id"])

    assert [one["filename"] for one in annotations(first)] == ["cfile_fig.png"]
    assert [
        (one["filename"], one["start_index"], one["end_index"]) for one in annotations(second)
    ] == [("a.csv", 4, 27)]


async def test_a_client_that_keeps_the_items_itself_cites_files_of_earlier_turns() -> None:
    server, backend = coding(
        Notebooks(cell("x", files=(created("a.csv"),))),
        DRAW,
        stated("Made."),
        stated("sandbox:/mnt/data/a.csv"),
    )
    first = await query(server, tools=[CODE], store=False)
    hello = {"role": "user", "content": "Hi"}
    second = await query(server, tools=[CODE], store=False, input=[hello, *first["output"], hello])

    assert annotations(second)[0]["file_id"] == "cfile_a"
    assert reported(backend.requests[2]) == ["x"]


async def test_a_figure_is_cited_by_the_message_behind_its_call_and_not_twice() -> None:
    figure = cell("x", files=(created("fig.png", is_figure=True),), figures=1)
    draw_and_state = [delta(content="I draw."), *DRAW]
    state_and_run = [delta(content="Here it is."), *called(*code("more()"))]
    server, _ = coding(Notebooks(figure, cell("y")), draw_and_state, state_and_run, stated("Done."))
    response = await query(server, tools=[CODE])

    cited = [
        [one["filename"] for part in item["content"] for one in part["annotations"]]
        for item in response["output"]
        if item["type"] == "message"
    ]
    assert cited == [[], ["cfile_fig.png"], []]


async def test_commands_make_files_that_are_cited() -> None:
    result = ToolOutcome("ok", printed("ok").fields, files=[created("a.csv")])
    link = stated("[a](sandbox:/mnt/data/a.csv)")
    server, _ = coding(Notebooks(result), called("shell", '{"commands": ["x"]}'), link, link)
    first = await query(server, tools=[SHELL])
    second = await query(server, tools=[SHELL], previous_response_id=first["id"])

    assert [annotations(one)[0]["file_id"] for one in (first, second)] == ["cfile_a"] * 2


@pytest.mark.parametrize("sees", [True, False])
@pytest.mark.parametrize("displayed", [True, False])
async def test_a_model_that_sees_gets_the_figure_and_any_other_a_text(
    sees: bool, displayed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DIALECTS, "generic", replace(DIALECTS["generic"], sees_images=sees))
    server, backend = coding(
        Notebooks(cell("drawn", figures=1)), DRAW, stated("Nice."), stated("Really.")
    )
    first = await query(server, tools=[CODE], include=OUTPUTS if displayed else [])
    await query(server, tools=[CODE], previous_response_id=first["id"])

    for request in backend.requests[1:]:
        messages = json.dumps(request["messages"])
        assert (PNG in messages) == sees
        assert "drawn" in messages


@pytest.mark.parametrize(("tool", "call"), [(CODE, DRAW), (SHELL, called("shell", '"x"'))])
async def test_output_of_code_does_not_count_as_provided_to_the_model(tool: Any, call: Any) -> None:
    url = "https://evil.example/?secret"
    result = ToolOutcome(url, {**cell(url).fields, **printed(url).fields})
    server, _ = coding(
        Notebooks(result), call, called("dice__roll", json.dumps({"e": "1"})), stated("ok")
    )
    servers = Servers()
    server.run.toolset = Toolset(code=server.run.toolset.code, mcp=servers)
    await query(server, tools=[tool, MCP], input="Draw")

    (use,) = servers.used
    assert use.was_provided("Draw")
    assert not use.was_provided(url)


@pytest.mark.parametrize(
    ("tool", "call"), [(CODE, DRAW), (SHELL, called("shell", '{"commands": ["x"]}'))]
)
@pytest.mark.parametrize("store", [True, False])
async def test_every_event_is_of_a_type_of_the_openai_package(
    tool: Any, call: Any, store: bool
) -> None:
    files = created("fig.png", is_figure=True), created("a.csv")
    result = ToolOutcome("ok", {**cell("1", figures=1).fields, **printed("1").fields}, files=files)
    server, _ = coding(Notebooks(result), call, stated("sandbox:/mnt/data/a.csv"))
    types_of_openai = OpenAITypes()
    events = await stream(server, tools=[tool], include=OUTPUTS, store=store)

    assert [error for event in events for error in types_of_openai.errors(event)] == []


# What the request says of the container.


@pytest.mark.parametrize(
    ("status", "message"), [(404, "Container not found."), (400, "Container is expired.")]
)
@pytest.mark.parametrize("tool", ["code", "shell"])
async def test_a_container_that_is_not_there_is_refused_before_the_stream(
    tool: str, status: int, message: str
) -> None:
    notebooks = Notebooks()
    notebooks.expired = {"cntr_x"} if status == 400 else set()
    server, backend = coding(notebooks)
    reference = {"type": "container_reference", "container_id": "cntr_x"}
    provided = (
        {**CODE, "container": "cntr_x"} if tool == "code" else {**SHELL, "environment": reference}
    )

    with pytest.raises(ClientError) as refused:
        await stream(server, tools=[provided])

    assert (refused.value.status, refused.value.message) == (status, message)
    assert backend.requests == []


async def test_without_containers_the_tools_are_left_out_and_a_demand_is_refused() -> None:
    server, backend = scripted_parts(stated("Hi"))
    await query(server, tools=[CODE, SHELL])
    assert "tools" not in backend.requests[0]

    for choice in ({"type": "code_interpreter"}, "required"):
        with pytest.raises(ClientError) as refused:
            await query(server, tools=[CODE], tool_choice=choice)
        assert refused.value.status == 400


async def test_a_request_without_these_tools_uses_no_container() -> None:
    notebooks = Notebooks()
    server, _ = coding(notebooks, stated("Hi"))
    await query(server)

    assert notebooks.requested == []
