"""A model that repeats itself is told so once, then stopped; the response says that it is incomplete."""

from typing import Any

import pytest

from antiphon.testing import check_event_stream
from antiphon.upstream.options import BackendOptions
from tests.support.parts import ask, called, said, scripted_parts, stream
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


async def test_a_model_that_made_the_same_call_too_often_is_told_so() -> None:
    made, backend = scripted_parts(called("run"), called("run"))
    await ask(made, tools=[RUN], input=history(3))
    response = await ask(made, tools=[RUN], input=history(4))

    assert backend.requests[0]["messages"][-1]["role"] == "tool"
    told = backend.requests[1]["messages"][-1]
    assert (told["role"], "last 4 rounds" in told["content"]) == ("user", True)
    assert told["content"].startswith("[System message ")
    assert [item["type"] for item in response["output"]] == ["function_call"]


async def test_one_that_goes_on_nevertheless_is_not_asked_any_more() -> None:
    made, backend = scripted_parts()
    events = await stream(made, tools=[RUN], input=history(8))
    response = events[-1]["response"]

    assert backend.requests == []
    assert (response["status"], response["output"]) == ("incomplete", [])
    assert response["incomplete_details"] == {"reason": "max_messages"}
    assert check_event_stream(events) == []


@pytest.mark.parametrize(
    ("dialect", "options"), [("openai", BackendOptions()), ("generic", BackendOptions(loop_calls=0))]
)
async def test_services_and_a_limit_of_0_let_the_model_go_on(dialect: str, options: BackendOptions) -> None:
    made, backend = scripted_parts(called("run"), dialect=dialect)
    made.models.backends[0].update(options=options)
    await ask(made, tools=[RUN], input=history(20))
    assert backend.requests[0]["messages"][-1]["role"] == "tool"


@pytest.mark.parametrize("field", ["content", "reasoning_content"])
async def test_text_and_reasoning_that_only_repeat_themselves_end_the_answer(field: str) -> None:
    chunks = [delta(**{field: LINE}) for _ in range(2000)]
    made, _ = scripted_parts((*chunks, delta("stop")))  # a tuple comes chunk by chunk
    events = await stream(made)
    response = events[-1]["response"]

    assert (response["status"], response["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert response["output"][-1]["status"] == "incomplete"
    assert 260 < sum(event["type"].endswith(".delta") for event in events) <= 1024
    assert check_event_stream(events) == []


async def test_a_long_answer_that_does_not_repeat_itself_is_heard_to_its_end() -> None:
    made, _ = scripted_parts(said(*(f"Line {number} of it. " for number in range(3000))))
    events = await stream(made)
    assert events[-1]["type"] == "response.completed"


@pytest.mark.parametrize(
    ("dialect", "options"), [("openai", BackendOptions()), ("generic", BackendOptions(loop_text=0))]
)
async def test_text_of_services_and_without_a_limit_may_repeat_itself(dialect: str, options: BackendOptions) -> None:
    made, _ = scripted_parts(said(*[LINE] * 2000), dialect=dialect)
    made.models.backends[0].update(options=options)
    assert (await stream(made))[-1]["type"] == "response.completed"


async def test_what_an_operator_says_of_a_backend_counts_more_than_its_family() -> None:
    made, _ = scripted_parts(said(*[LINE] * 2000), said(*[LINE] * 2000), dialect="openai")
    made.models.backends[0].update(options=BackendOptions(check_answers=True))
    assert (await stream(made))[-1]["type"] == "response.incomplete"
    made.models.backends[0].update(options=BackendOptions())
    assert (await stream(made))[-1]["type"] == "response.completed"
