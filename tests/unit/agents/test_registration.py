"""What can be registered as an agent, and what is refused where it is written."""

from typing import Any

import pytest

from antiphon.agents import AgentContext, agent


async def handler(ctx: AgentContext) -> None: ...


def test_an_agent_has_the_name_under_which_clients_call_it() -> None:
    created = agent("refunds", version="2", description="Refunds orders")(handler)

    assert (created.name, created.version, created.timeout) == ("refunds", "2", 3600)
    assert created.handler is handler


@pytest.mark.parametrize("name", ["", " a", "a\n", "a\x00b", "x" * 129])
def test_a_name_that_no_model_can_have_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="128"):
        agent(name)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_that_is_not_positive_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        agent("a", timeout=timeout)


def test_a_parameter_that_no_request_has_is_refused() -> None:
    with pytest.raises(ValueError, match="warmth"):
        agent("a", accepts=["temperature", "warmth"])


def _sync(ctx: AgentContext) -> None: ...


async def _none() -> None: ...


async def _two(ctx: AgentContext, other: int) -> None: ...


@pytest.mark.parametrize("wrong", [_sync, _none, _two, 5, print])
def test_what_is_no_async_function_with_one_parameter_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="AgentContext"):
        agent("a")(wrong)
