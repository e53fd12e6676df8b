"""What an agent of the Agents SDK cannot keep after a crash is refused where it is written."""

from collections.abc import Collection
from typing import Any

import pytest
from agents import Agent, ModelSettings, OpenAIResponsesModel, function_tool, handoff
from agents.realtime import RealtimeAgent
from openai import AsyncOpenAI

from antiphon.agents.openai_agents import openai_agents, run_config
from antiphon.errors import ConfigError
from tests.support.extras import without


@function_tool
async def pay() -> str:
    return "paid"


@function_tool
def pay_in_a_thread() -> str:
    return "paid"


def one(**values: Any) -> "Agent[Any]":
    return Agent(**{"name": "one", "model": "m", **values})


def test_tools_of_all_agents_can_run_at_most_once() -> None:
    last = one(tools=[pay])
    first = one(handoffs=[handoff(one(tools=[last.as_tool("last", "Calls the last.")]))])
    last.handoffs.append(first)

    registered = openai_agents(first, name="first", once={"pay"}, version="2", timeout=60)

    assert (registered.name, registered.version, registered.timeout) == ("first", "2", 60)


client = AsyncOpenAI(api_key="none")


@pytest.mark.parametrize(
    ("starting_agent", "once", "reason"),
    [
        (RealtimeAgent(name="voice"), (), "has no audio"),
        ("support", (), "not a str"),
        (one(model=None), (), "has no model"),
        (one(model=OpenAIResponsesModel("m", client)), (), "would not be recorded"),
        (one(handoffs=[one(model=None)]), (), "has no model"),
        (one(handoffs=[handoff(one(model=None))]), (), "has no model"),
        (one(tools=[one(model=None).as_tool("a", "b")]), (), "has no model"),
        (one(model_settings=ModelSettings(extra_headers={"a": "b"})), (), "over HTTP"),
        (one(), {"pay"}, "no agent has"),
        (one(tools=[pay_in_a_thread]), {"pay_in_a_thread"}, "async function"),
        (one(tools=[one().as_tool("a", "b")]), {"a"}, "is an agent"),
    ],
)
def test_others_are_refused(starting_agent: Any, once: Collection[str], reason: str) -> None:
    with pytest.raises((TypeError, ValueError), match=reason):
        openai_agents(starting_agent, name="a", once=once)


def test_without_the_sdk_the_command_that_installs_it_is_named() -> None:
    with without("openai-agents"), pytest.raises(ConfigError, match=r"antiphon\[openai-agents\]"):
        openai_agents(one(), name="a")


def test_outside_a_response_there_is_no_configuration_of_a_run() -> None:
    with pytest.raises(RuntimeError, match="while an agent computes a response"):
        run_config("checker")
