"""What an agent of pydantic-ai cannot keep after a crash is refused where it is written."""

from typing import Any

import pytest
from pydantic_ai import Agent

from antiphon.agents.pydantic_ai import pydantic_ai
from antiphon.agents.pydantic_ai.engine import JournalDurability
from antiphon.errors import ConfigError
from tests.support.extras import without


def with_tool(*, is_async: bool) -> "Agent[None, str]":
    agent = Agent()
    if is_async:

        @agent.tool_plain(metadata={"once": True})
        async def pay() -> str:
            return "paid"
    else:

        @agent.tool_plain(metadata={"once": True})
        def pay_in_a_thread() -> str:
            return "paid"

    return agent


def test_an_agent_needs_no_model_of_its_own() -> None:
    registered = pydantic_ai(with_tool(is_async=True), name="a", model="m", version="2")

    assert (registered.name, registered.version) == ("a", "2")


durable: Any = JournalDurability(None, None, None, None, False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("agent", "model", "reason"),
    [
        ("support", "m", "not a str"),
        (Agent(), None, "has no model"),
        (with_tool(is_async=False), "m", "async function"),
        (Agent("test", capabilities=[durable]), "m", "a durable engine of its own"),
    ],
)
def test_others_are_refused(agent: Any, model: str | None, reason: str) -> None:
    with pytest.raises((TypeError, ValueError), match=reason):
        pydantic_ai(agent, name="a", model=model)


def test_without_the_framework_the_command_that_installs_it_is_named() -> None:
    with without("pydantic-ai"), pytest.raises(ConfigError, match=r"antiphon\[pydantic-ai\]"):
        pydantic_ai(Agent(), name="a", model="m")
