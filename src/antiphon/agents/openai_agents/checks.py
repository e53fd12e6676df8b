"""Rejects at registration what an agent of the Agents SDK could not continue after a crash."""

import inspect
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from agents import Agent, FunctionTool, Handoff, Model
from agents.realtime import RealtimeAgent

from antiphon.agents.frameworks.checks import check_once
from antiphon.agents.openai_agents.tools import is_agent


def check(starting_agent: Any, once: Collection[str]) -> None:
    """See `openai_agents` for what this raises.

    Agents that a handoff creates by a function, and tools of MCP servers, are not known yet.
    """
    if isinstance(starting_agent, RealtimeAgent):
        raise TypeError(
            f"{starting_agent.name!r} is a realtime agent. A response has no audio: register an "
            "agents.Agent."
        )
    if not isinstance(starting_agent, Agent):
        raise TypeError(
            f"openai_agents() registers an agents.Agent, not a {type(starting_agent).__name__}."
        )
    found = list(_reachable(starting_agent))
    for agent in found:
        _check_agent(agent)
    tools = [tool for agent in found for tool in agent.tools if isinstance(tool, FunctionTool)]
    for tool in tools:
        _check_tool(tool, once)
    has_all = not any(agent.mcp_servers for agent in found)
    if has_all and (unknown := sorted({*once}.difference(tool.name for tool in tools))):
        raise ValueError(f"once names the tool {unknown[0]!r}, which no agent has.")


def _reachable(agent: Agent[Any]) -> Iterator[Agent[Any]]:
    """Yield an agent, and those that it uses as tools or hands off to."""
    seen: set[int] = set()
    waiting = [agent]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += _next(one)


def _next(agent: Agent[Any]) -> Iterable[Agent[Any]]:
    for handoff in agent.handoffs:
        reference = getattr(handoff, "_agent_ref", None)
        other = reference() if isinstance(handoff, Handoff) and reference else handoff
        if isinstance(other, Agent):
            yield other
    for tool in agent.tools:
        other = getattr(tool, "_agent_instance", None)
        if isinstance(other, Agent):
            yield other


def _check_agent(agent: Agent[Any]) -> None:
    if isinstance(agent.model, Model):
        raise TypeError(
            f"The model of the agent {agent.name!r} is a {type(agent.model).__name__}, and its "
            "calls would not be recorded. Name a model of this server instead."
        )
    if not agent.model:
        raise ValueError(
            f"The agent {agent.name!r} has no model. Name one of this server: Agent(model=...)."
        )
    settings = agent.model_settings
    if settings.extra_headers or settings.extra_query:
        raise TypeError(
            f"The model settings of the agent {agent.name!r} have extra_headers or extra_query. "
            "The models of this server are not called over HTTP, so nothing would send them."
        )


def _check_tool(tool: FunctionTool, once: Collection[str]) -> None:
    if tool.name not in once:
        return
    if is_agent(tool):
        raise TypeError(
            f"The tool {tool.name!r} is an agent, which is continued after a crash. Name those of "
            "its tools that run at most once."
        )
    function = getattr(tool, "__wrapped__", None)
    check_once(tool.name, is_async=function is None or inspect.iscoroutinefunction(function))
