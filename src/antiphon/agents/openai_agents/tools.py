"""Makes function tools of the Agents SDK durable: each call of one is a step.

A tool is changed in place when a model is called with it, because only then all are known: also
those of MCP servers, and of agents that are tools. Outside a run it does what it did before.
"""

from collections.abc import Collection, Iterable
from contextvars import ContextVar
from typing import Any, Protocol

from agents import FunctionTool, ToolOriginType
from agents.tool_context import ToolContext
from pydantic import BaseModel

from antiphon.agents.context import AgentContext
from antiphon.agents.errors import StepInterrupted
from antiphon.runs.tool_calls import INTERRUPTED


class ToolRunner(Protocol):
    """The run that calls tools."""

    ctx: AgentContext
    once: Collection[str]
    """The names of tools that run at most once."""

    def within(self, calls: str) -> Any:
        """Return this run for agents within it."""
        ...


current: ContextVar[Any] = ContextVar("agents_run")
"""The run of the running code; tasks inherit it."""


def is_agent(tool: FunctionTool) -> bool:
    """Whether a tool is another agent."""
    origin = getattr(tool, "_tool_origin", None)
    return origin is not None and origin.type is ToolOriginType.AGENT_AS_TOOL


def make_durable(tools: Iterable[Any]) -> None:
    """Let each call of these tools be a step of the run in which it is made."""
    for tool in tools:
        if isinstance(tool, FunctionTool) and not isinstance(tool.on_invoke_tool, _DurableCall):
            tool.on_invoke_tool = _DurableCall(tool)


class _DurableCall:
    """Invokes a tool; its other attributes are those of the SDK's own invoker."""

    def __init__(self, tool: FunctionTool) -> None:
        self._invoke = tool.on_invoke_tool
        self._is_agent = is_agent(tool)

    def __getattr__(self, name: str) -> Any:
        if name == "_invoke":  # of a copy that is being made
            raise AttributeError(name)
        return getattr(self._invoke, name)

    async def __call__(self, context: ToolContext[Any], arguments: str) -> Any:
        run: ToolRunner | None = current.get(None)
        if run is None:
            return await self._invoke(context, arguments)
        token = current.set(run.within("model"))
        try:
            async with run.ctx.scope(f"call:{context.tool_call_id}"):
                if self._is_agent:
                    return await self._invoke(context, arguments)
                return await self._step(run, context, arguments)
        finally:
            current.reset(token)

    async def _step(self, run: ToolRunner, context: ToolContext[Any], arguments: str) -> Any:
        async def execute(arguments: str) -> Any:
            return _recorded(await self._invoke(context, arguments))

        name = context.tool_name
        try:
            return await run.ctx.step(name, execute, arguments, once=name in run.once)
        except StepInterrupted:
            return INTERRUPTED


def _recorded(result: Any) -> Any:
    """Return what the journal can have of a result: what the SDK would send to the model."""
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json", exclude_none=True)
    if isinstance(result, list | tuple):
        return [_recorded(each) for each in result]
    if isinstance(result, str | int | float | bool | dict | None):
        return result
    return str(result)
