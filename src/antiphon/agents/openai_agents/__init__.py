"""An agent of the OpenAI Agents SDK as a model of this server (`pip install
'antiphon[openai-agents]'`).

>>> from agents import Agent
>>> from antiphon.agents.openai_agents import openai_agents
>>> pilot = openai_agents(Agent(name="Pilot", model="demo"), name="pilot")
>>> from antiphon.testing.agents import AgentHarness
>>> AgentHarness(pilot).run("Hello").output[0].role
'assistant'
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from antiphon.agents.context import AgentContext
from antiphon.agents.registration import Agent, agent
from antiphon.extras import require

if TYPE_CHECKING:
    import agents

__all__ = ["openai_agents", "run_config"]


def openai_agents(
    starting_agent: "agents.Agent[Any]",
    *,
    name: str,
    once: Collection[str] = (),
    context: Callable[[AgentContext], Any] | None = None,
    max_turns: int = 10,
    version: str = "1",
    timeout: float = 3600,
    description: str = "",
) -> Agent:
    """Register an agent of the Agents SDK: clients call it as the model `name`.

    The models of the agent, and of those that it hands off to or uses as tools, are models of this
    server, by their names. Each call of a model is an `AgentContext.call`, each call of a function
    tool a step: after a crash, those that ended are not repeated. Tools named in `once` run at most
    once; if their worker dies meanwhile, the model reads that the outcome is unknown. The response
    has the messages and reasoning of the models as they are generated, and each call of a tool as
    an `mcp_call`. The history of a chain or conversation is the input before the new items, so no
    session is needed. `context` returns the object that tools find as `context`; `max_turns` limits
    the calls of models, and `timeout` the seconds of all attempts together.

    Raises `ConfigError` if the SDK is not installed, `ValueError` for an agent without a model and
    a name in `once` that no tool has, and `TypeError` for what cannot be continued after a crash:
    a realtime agent, a model that is an object, and a synchronous tool or an agent in `once`.
    """
    require("openai-agents", "antiphon.agents.openai_agents")
    from antiphon.agents.openai_agents.checks import check  # noqa: PLC0415 - the SDK is an extra
    from antiphon.agents.openai_agents.run import AgentsRun  # noqa: PLC0415 - the SDK is an extra

    check(starting_agent, {*once})

    async def handle(ctx: AgentContext) -> Any:
        return await AgentsRun(ctx, name, {*once}).run(
            starting_agent, None if context is None else context(ctx), max_turns
        )

    return agent(name, version=version, timeout=timeout, description=description)(handle)


def run_config(name: str) -> "agents.RunConfig":
    """Return the configuration for a run of another agent within this one, such as that of a
    guardrail: `Runner.run(checker, text, run_config=run_config("checker"))`.

    Its calls of models belong to the response, under this name, and are not in its output. Inside a
    tool, `ToolContext.run_config` does the same. Raises `RuntimeError` outside a response.
    """
    from antiphon.agents.openai_agents.run import config_of  # noqa: PLC0415 - the SDK is an extra
    from antiphon.agents.openai_agents.tools import current  # noqa: PLC0415 - the SDK is an extra

    run = current.get(None)
    if run is None:
        raise RuntimeError("run_config() works only while an agent computes a response.")
    within = run.within(name)
    return config_of(lambda: within)
