"""A model that repeats itself is told so once, then stopped; the response says that it is
incomplete.
"""

from typing import Any

import pytest

from antiphon.testing import check_event_stream
from antiphon.upstream.options import BackendOptions
from tests.support.parts import called, query, scripted_parts, stated, stream
from tests.support.replay import delta

RUN = {"type": "function", "name": "run"}
LINE = "Wait, let me check that again. "


def history(count: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for number in range(count):
        call = {"call_id": f"call_{number}", "name": "run", "arguments": "{}"}
        items += [{"type": "function_call", **call}]
        items += [{"type": "function_call_output", "call_id": f"call_{number}", "output": "exit 1"}]
    return items


async def test_a_model_that_repeats_a_call_too_often_receives_a_note() -> None:
    created, backend = scripted_parts(called("run"), called("run"))
    await query(created, tools=[RUN], input=history(3))
    response = await query(created, tools=[RUN], input=history(4))

    assert backend.requests[0]["messages"][-1]["role"] == "tool"
    reported = backend.requests[1]["messages"][-1]
    assert (reported["role"], "last 4 rounds" in reported["content"]) == ("user", True)
    assert reported["content"].startswith("[System message ")
    assert [item["type"] for item in response["output"]] == ["function_call"]


async def test_a_machine_that_continues_nevertheless_is_not_used_again() -> None:
    created, backend = scripted_parts()
    events = await stream(created, tools=[RUN], input=history(8))
    response = events[-1]["response"]

    assert backend.requests == []
    assert (response["status"], response["output"]) == ("incomplete", [])
    assert response["incomplete_details"] == {"reason": "max_messages"}
    assert check_event_stream(events) == []


@pytest.mark.parametrize(
    ("dialect", "options"),
    [("openai", BackendOptions()), ("generic", BackendOptions(loop_calls=0))],
)
async def test_services_and_a_limit_of_0_let_the_model_go_on(
    dialect: str, options: BackendOptions
) -> None:
    created, backend = scripted_parts(called("run"), dialect=dialect)
    created.models.backends[0].update(options=options)
    await query(created, tools=[RUN], input=history(20))
    assert backend.requests[0]["messages"][-1]["role"] == "tool"


@pytest.mark.parametrize("field", ["content", "reasoning_content"])
async def test_text_and_reasoning_that_only_repeat_themselves_end_the_answer(field: str) -> None:
    chunks = [delta(**{field: LINE}) for _ in range(2000)]
    created, _ = scripted_parts((*chunks, delta("stop")))  # a tuple comes chunk by chunk
    events = await stream(created)
    response = events[-1]["response"]

    assert (response["status"], response["incomplete_details"]) == (
        "incomplete",
        {"reason": "max_output_tokens"},
    )
    assert response["output"][-1]["status"] == "incomplete"
    assert 260 < sum(event["type"].endswith(".delta") for event in events) <= 1024
    assert check_event_stream(events) == []


async def test_a_long_answer_without_repetition_is_received_to_its_end() -> None:
    created, _ = scripted_parts(stated(*(f"Line {number} of it. " for number in range(3000))))
    events = await stream(created)
    assert events[-1]["type"] == "response.completed"


@pytest.mark.parametrize(
    ("dialect", "options"), [("openai", BackendOptions()), ("generic", BackendOptions(loop_text=0))]
)
async def test_text_of_services_and_without_a_limit_may_repeat_itself(
    dialect: str, options: BackendOptions
) -> None:
    created, _ = scripted_parts(stated(*[LINE] * 2000), dialect=dialect)
    created.models.backends[0].update(options=options)
    assert (await stream(created))[-1]["type"] == "response.completed"


async def test_the_operators_setting_for_a_backend_overrides_its_family() -> None:
    created, _ = scripted_parts(stated(*[LINE] * 2000), stated(*[LINE] * 2000), dialect="openai")
    created.models.backends[0].update(options=BackendOptions(check_answers=True))
    assert (await stream(created))[-1]["type"] == "response.incomplete"
    created.models.backends[0].update(options=BackendOptions())
    assert (await stream(created))[-1]["type"] == "response.completed"
