"""What a large answer needs, or a module that is loaded late, never holds the event loop."""

import json
import subprocess
import sys
from typing import Any

import pytest

from antiphon.gateway.parts import Parts
from antiphon.runs.step_loop import LARGE_ANSWER
from tests.support.parts import called, plain, query, scripted_parts, stated, stream

TOOL: dict[str, Any] = {"type": "function", "name": "run", "parameters": {"type": "object"}}
LARGE = json.dumps({"cmd": "x" * LARGE_ANSWER})
FORM = {"format": {"type": "json_schema", "name": "s", "schema": {"type": "object"}}}
IN_TEXT = f'<tool_call>\n{{"name": "run", "arguments": {LARGE}}}\n</tool_call>'


def alongside(created: Parts, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that run in threads."""
    names: list[str] = []
    in_thread = created.run.offload.in_thread

    async def noted(tenant: str, function: Any, *args: Any, **kwargs: Any) -> Any:
        names.append(function.__name__)
        return await in_thread(tenant, function, *args, **kwargs)

    monkeypatch.setattr(created.run.offload, "in_thread", noted)
    return names


@pytest.mark.parametrize(
    ("answer", "request_of", "kinds"),
    [
        (plain(IN_TEXT), {"tools": [TOOL]}, ["function_call"]),
        (plain(LARGE), {"text": FORM}, ["message"]),
        (plain("x" * 2 * LARGE_ANSWER), {"tools": [TOOL]}, ["message"]),
    ],
)
async def test_a_large_plain_answer_is_checked_in_a_thread(
    answer: Any, request_of: dict[str, Any], kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    created, _ = scripted_parts(answer)
    names = alongside(created, monkeypatch)
    response = await query(created, **request_of)

    assert [item["type"] for item in response["output"]] == kinds
    assert names == ["finish", "next"]


async def test_a_large_event_of_a_stream_is_read_in_a_thread_and_the_small_ones_around_it_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    created, _ = scripted_parts(stated("I ", "run.\n", IN_TEXT))
    names = alongside(created, monkeypatch)
    events = await stream(created, tools=[TOOL])
    output: list[Any] = events[-1]["response"]["output"]

    assert [item["type"] for item in output] == ["message", "function_call"]
    assert json.loads(output[1]["arguments"]) == json.loads(LARGE)
    assert names[0] == "feed"
    assert names[-2:] == ["finish", "next"]


@pytest.mark.parametrize(
    ("answer", "request_of"),
    [
        (plain("Hi"), {"tools": [TOOL]}),
        (plain("{}"), {"text": FORM}),
        (plain("x" * 2 * LARGE_ANSWER), {}),
    ],
)
async def test_small_answers_and_answers_that_are_not_checked_use_no_thread(
    answer: Any, request_of: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    created, _ = scripted_parts(answer)
    names = alongside(created, monkeypatch)
    await query(created, **request_of)

    assert names == []


async def test_a_large_second_attempt_is_judged_in_a_thread_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    created, backend = scripted_parts(called("run", '{"cmd": "echo'), called("run", LARGE))
    names = alongside(created, monkeypatch)
    response = await query(created, tools=[TOOL])

    assert json.loads(response["output"][0]["arguments"]) == json.loads(LARGE)
    assert (len(backend.requests), names[-3:]) == (2, ["finish", "next", "next"])


LOADING = """
import asyncio, sys, threading
from tests.support.parts import query, called, scripted_parts, plain

class Watch:
    where = {}
    def find_spec(self, name, path=None, target=None):
        if name in ("json_repair", "jsonschema_rs"):
            self.where[name] = threading.current_thread() is threading.main_thread()

sys.meta_path.insert(0, Watch())
TOOL = {"type": "function", "name": "run", "parameters": {"type": "object"}}
FORM = {"format": {"type": "json_schema", "name": "s", "schema": {"type": "object"}}}

async def main():
    made, backend = scripted_parts(*ANSWERS)
    response = await query(made, REQUEST)
    print(len(backend.requests), response["output"][0].get("arguments"), sorted(Watch.where.items()))

asyncio.run(main())
"""  # noqa: E501 - the lines of a text
BOTH_IN_THREAD = "[('json_repair', False), ('jsonschema_rs', False)]"


@pytest.mark.wide
@pytest.mark.parametrize(
    ("answers", "request_of", "displayed"),
    [
        ('called("run", \'{"cmd": 1,}\')', "tools=[TOOL]", '1 {"cmd":1} ' + BOTH_IN_THREAD),
        ('called("run", \'{"cmd": 1}\')', "tools=[TOOL]", '1 {"cmd": 1} []'),
        ("plain('```json\\n{\"a\": 1}\\n```')", "text=FORM", "1 None " + BOTH_IN_THREAD),
        ('plain("Hi")', "", "1 None []"),
    ],
)
def test_what_repairs_and_judges_is_loaded_in_a_thread_and_only_for_an_answer_that_needs_it(
    answers: str, request_of: str, displayed: str
) -> None:
    program = LOADING.replace("*ANSWERS", answers).replace("made, REQUEST", f"made, {request_of}")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (done.stdout.strip(), done.stderr) == (displayed, "")
