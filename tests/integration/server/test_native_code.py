"""Backends that speak Responses run code themselves, also where this server has containers."""

from typing import Any

import pytest

from antiphon.errors import BackendError
from antiphon.tools.registry import Toolset
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.native import answering, message
from tests.support.notebooks import CODE, OUTPUTS, SHELL, Notebooks, printed
from tests.support.parts import called, stated
from tests.support.replay import ReplayBackend
from tests.support.server import serve

RAN = {
    "id": "ci_up",
    "type": "code_interpreter_call",
    "status": "completed",
    "code": "2 + 2",
    "container_id": "cntr_up",
    "outputs": [{"type": "logs", "logs": "4"}],
}
NATIVE = BackendOptions(api="responses")


@pytest.mark.parametrize("container", [{"type": "auto"}, "cntr_up"])
async def test_code_of_such_a_backend_and_its_containers_pass_through(container: Any) -> None:
    notebooks = Notebooks()
    backend = ReplayBackend(answering([RAN, message("4")]), speaks_responses=True)
    async with backend.serve(), serve(HttpBackend("n", backend.url), shares={"n": NATIVE}) as one:
        one.parts.run.toolset = Toolset(code=notebooks)
        tools: Any = [{**CODE, "container": container}, SHELL]
        response = (
            await one.sdk.responses.create(model="m", input="Hi", tools=tools, include=OUTPUTS)
        ).to_dict()  # type: ignore[arg-type]

    assert backend.requests[0]["tools"] == tools
    output: Any = response["output"]
    assert {**output[0], "id": "ci_up"} == RAN
    assert response["tools"] == tools
    assert (notebooks.requested, notebooks.used) == ([], [])


async def test_code_that_ran_here_reaches_such_a_backend_as_a_function_s_call() -> None:
    backend = ReplayBackend(answering([message("4, as I said.")]), speaks_responses=True)
    chats = ScriptedBackend(
        [called("python", '{"code": "2 + 2"}'), stated("4")], name="c", models=["c"]
    )
    async with (
        backend.serve(),
        serve(HttpBackend("n", backend.url), chats, shares={"n": NATIVE}) as one,
    ):
        one.parts.run.toolset = Toolset(code=Notebooks())
        first = await one.sdk.responses.create(model="c", input="Hi", tools=[CODE])  # type: ignore[list-item]
        await one.sdk.responses.create(model="m", input="Sure?", previous_response_id=first.id)

    _, call, output, *_ = backend.requests[0]["input"]
    assert (call["type"], call["name"], call["arguments"]) == (
        "function_call",
        "code_interpreter",
        '{"code": "2 + 2"}',
    )
    assert (output["type"], output["call_id"], output["output"]) == (
        "function_call_output",
        call["call_id"],
        "4",
    )


async def test_commands_that_ran_here_reach_such_a_backend_without_their_container() -> None:
    backend = ReplayBackend(answering([message("One.")]), speaks_responses=True)
    chats = ScriptedBackend(
        [called("shell", '{"commands": ["ls"]}'), stated("One.")], name="c", models=["c"]
    )
    async with (
        backend.serve(),
        serve(HttpBackend("n", backend.url), chats, shares={"n": NATIVE}) as one,
    ):
        one.parts.run.toolset = Toolset(code=Notebooks(printed("a.csv")))
        first = await one.sdk.responses.create(model="c", input="Hi", tools=[SHELL])
        await one.sdk.responses.create(model="m", input="Sure?", previous_response_id=first.id)

    _, call, output, *_ = backend.requests[0]["input"]
    assert (call["type"], "environment" in call) == ("shell_call", False)
    assert (output["output"][0]["stdout"], "encrypted_content" in output) == ("a.csv", False)


async def test_a_chat_backend_that_takes_over_runs_the_code_here() -> None:
    def broken(request: Any) -> Any:
        return BackendError("It is down.")

    run = called("python", '{"code": "2 + 2"}')
    speaks = ScriptedBackend(broken, name="b", models=["m"])
    chats = ScriptedBackend([run, stated("4")], name="c", models=["m"])
    notebooks = Notebooks()
    dialects = {"b": "openai", "c": "generic"}
    async with serve(
        speaks, chats, dialects=dialects, shares={"b": BackendOptions(weight=1e9)}
    ) as one:
        one.parts.run.toolset = Toolset(code=notebooks)
        response = await one.sdk.responses.create(model="m", input="Hi", tools=[CODE], stream=False)  # type: ignore[list-item]
        item: Any = response.to_dict()["output"][0]  # type: ignore[index]

    assert speaks.requests
    assert item["container_id"] == notebooks.used[0].container_id != ""
