"""Tools of LangChain with each call in a step."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools import tool as tool_of
from langgraph.config import get_config

from antiphon.agents.context import AgentContext
from antiphon.agents.errors import StepInterrupted
from antiphon.agents.frameworks.checks import check_once
from antiphon.protocol.response import Response
from antiphon.runs.tool_calls import INTERRUPTED

current: ContextVar[AgentContext] = ContextVar("graph_context")
"""The context of the response that the graph computes."""


def make_durable(tool: Any, *, is_once: bool) -> BaseTool:
    """See `durable_tool`."""
    inner: BaseTool = tool if isinstance(tool, BaseTool) else tool_of(tool)
    if is_once and isinstance(inner, StructuredTool):
        check_once(inner.name, is_async=inner.coroutine is not None)
    return _DurableTool(
        name=inner.name,
        description=inner.description,
        args_schema=inner.args_schema,
        return_direct=inner.return_direct,
        inner=inner,
        is_once=is_once,
    )


class _DurableTool(BaseTool):
    inner: BaseTool
    is_once: bool

    def _run(self, *values: Any, **named: Any) -> Any:
        raise NotImplementedError(
            f"The tool {self.name!r} is a step of a response, which only async code can await. "
            "Call it with `await tool.ainvoke(...)`."
        )

    async def ainvoke(self, input: Any, config: Any = None, **named: Any) -> Any:
        """See `BaseTool`."""
        ctx = current.get(None)
        if ctx is None:
            return await self.inner.ainvoke(input, config, **named)

        async def execute(_arguments: Any) -> Any:
            result = await self.inner.ainvoke(input, config, **named)
            if isinstance(result, ToolMessage):
                return {"message": result.model_dump(mode="json")}
            return {"value": result}

        is_call = isinstance(input, Mapping) and input.get("type") == "tool_call"
        arguments = input["args"] if is_call else input
        scope = f"call:{input['id']}" if is_call else f"task:{task()}"
        async with ctx.scope(scope):
            try:
                found = await ctx.step(self.name, execute, arguments, once=self.is_once)
            except StepInterrupted:
                if not is_call:
                    return INTERRUPTED
                return ToolMessage(INTERRUPTED, name=self.name, tool_call_id=input["id"])
        return ToolMessage(**found["message"]) if "message" in found else found["value"]


async def call_in_node(
    model: str, input: str | Sequence[Any], parameters: Mapping[str, Any]
) -> Response:
    """Call a model of this server, in the scope of the running task.

    Raises `RuntimeError` outside a response.
    """
    ctx = current.get(None)
    if ctx is None:
        raise RuntimeError(
            "A model of this server works only while a graph computes a response: call it in a "
            "node."
        )
    async with ctx.scope(f"task:{task()}"):
        return await ctx.call(model, input, **parameters)


def task() -> str:
    """Return the ID of the running task, which is the same after a crash."""
    return str(get_config()["configurable"].get("checkpoint_ns", ""))
