"""Rejects at registration what an agent of pydantic-ai could not continue after a crash."""

from typing import Any

from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.durable_exec import BaseDurabilityCapability

from antiphon.agents.frameworks.checks import check_once


def check(starting_agent: Any, model: str | None) -> None:
    """See `pydantic_ai` for what this raises. Tools that are found only in a run are not known."""
    if not isinstance(starting_agent, Agent):
        raise TypeError(
            f"pydantic_ai() registers a pydantic_ai.Agent, not a {type(starting_agent).__name__}."
        )
    if model is None and starting_agent.model is None:
        raise ValueError("The agent has no model. Name one of this server: model=...")
    found: list[Any] = []
    starting_agent.root_capability.apply(found.append)
    if engines := [one for one in found if isinstance(one, BaseDurabilityCapability)]:
        raise TypeError(
            f"The agent has a durable engine of its own, {engines[0].engine_name}. Its steps would "
            "be recorded twice: remove one of the two."
        )
    for toolset in starting_agent.toolsets:
        if isinstance(toolset, FunctionToolset):
            for tool in toolset.tools.values():
                if (tool.metadata or {}).get("once"):
                    check_once(tool.name, is_async=tool.function_schema.is_async)
