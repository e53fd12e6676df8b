"""An agent of pydantic-ai as a model of this server (`pip install 'antiphon[pydantic-ai]'`).

>>> from pydantic_ai import Agent
>>> from antiphon.agents.pydantic_ai import pydantic_ai
>>> pilot = pydantic_ai(Agent(), name="pilot", model="demo")
>>> from antiphon.testing.agents import AgentHarness
>>> AgentHarness(pilot).run("Hello").output[0].role
'assistant'
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from antiphon.agents.context import AgentContext
from antiphon.agents.registration import Agent, agent
from antiphon.extras import require

if TYPE_CHECKING:
    import pydantic_ai as framework

__all__ = ["pydantic_ai"]


def pydantic_ai(
    starting_agent: "framework.Agent[Any, Any]",
    *,
    name: str,
    model: str | None = None,
    deps: Callable[[AgentContext], Any] | None = None,
    usage_limits: "framework.UsageLimits | None" = None,
    version: str = "1",
    timeout: float = 3600,
    description: str = "",
) -> Agent:
    """Register an agent of pydantic-ai: clients call it as the model `name`.

    `model` is a model of this server, by its name: each request to it is an `AgentContext.call`,
    and its messages are sent to the client as they are generated. Without it the agent uses its own
    model, and the client receives the answer at the end. Each request to a model and each call of a
    tool is a step: after a crash, those that ended are not repeated. A tool with
    `metadata={"once": True}` runs at most once; if its worker dies meanwhile, the model reads that
    the outcome is unknown. The response has each call of a tool as an `mcp_call`. The history of a
    chain or conversation is the agent's message history. `deps` returns what tools find as `deps`.
    `timeout` is in seconds, for all attempts of a response together.

    Raises `ConfigError` if pydantic-ai is not installed, `ValueError` for an agent without a model,
    and `TypeError` for what cannot be continued after a crash: a synchronous tool with `once`, or
    an agent with a durable engine of its own.
    """
    require("pydantic-ai", "antiphon.agents.pydantic_ai")
    from antiphon.agents.pydantic_ai.checks import check  # noqa: PLC0415 - pydantic-ai is an extra
    from antiphon.agents.pydantic_ai.run import (  # noqa: PLC0415 - pydantic-ai is an extra
        AgentRunner,
        with_server_model,
    )

    check(starting_agent, model)
    registered = starting_agent if model is None else with_server_model(starting_agent, model)

    async def handle(ctx: AgentContext) -> Any:
        run = AgentRunner(ctx, name, calls_server=model is not None)
        return await run.run(registered, None if deps is None else deps(ctx), usage_limits)

    return agent(name, version=version, timeout=timeout, description=description)(handle)
