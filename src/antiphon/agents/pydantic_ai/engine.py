"""The journal of a response as an engine for durable runs of pydantic-ai.

Each unit of work, such as a request to a model or a call of a tool, is a step. A request to a model
of this server is none: within it, `AgentContext.call` is one, which a later attempt continues.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any

from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext, ToolDenied
from pydantic_ai.durable_exec import (
    JSON_CODEC,
    BaseDurabilityCapability,
    DurabilityEngineSpec,
    DurableOperationId,
    JournalCallableOperationBackend,
    ModelRequestId,
    RoleBasedOperationConfig,
    ToolsetCallToolId,
)
from pydantic_ai.models import ModelRequestContext

from antiphon.agents.context import AgentContext
from antiphon.agents.errors import StepInterrupted
from antiphon.agents.frameworks.tool_calls import REJECTED, EmittedCalls, RequestedCall
from antiphon.runs.tool_calls import INTERRUPTED

WithinTool = Callable[[], AbstractContextManager[None]]
BeforeRequest = Callable[[ModelRequestContext], Awaitable[None]]
Config = dict[str, Any]
"""The metadata of a tool."""


class JournalDurability(BaseDurabilityCapability[Any]):
    """Makes one run durable.

    `before_request` is called before each request to a model, and each call of a tool runs in
    `within_tool`. With `calls_server`, the agent's model is one of this server.
    """

    engine_spec = DurabilityEngineSpec(
        engine_name="Antiphon",
        durable_unit_noun="step",
        durable_container_noun="response",
        codec=JSON_CODEC,
        toolset_lifecycles={
            "function": "enter-always",
            "mcp": "enter-in-durable-unit",
            "dynamic": "enter-never",
        },
    )

    def __init__(
        self,
        ctx: AgentContext,
        emitted: EmittedCalls,
        before_request: BeforeRequest,
        within_tool: WithinTool,
        calls_server: bool,
    ) -> None:
        super().__init__(name="agent")
        self._ctx = ctx
        self._emitted = emitted
        self._before_request = before_request
        self._within_tool = within_tool
        self._calls_server = calls_server

    @property
    def in_durable_context(self) -> bool:
        """See `BaseDurabilityCapability`."""
        return True

    def get_durable_operation_backend(self) -> "_Steps":
        """See `BaseDurabilityCapability`."""
        return _Steps(self._ctx, self._within_tool, self._calls_server)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """See `AbstractCapability`."""
        await self._before_request(request_context)
        return await super().before_model_request(ctx, request_context)

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults:
        """See `AbstractCapability`: the client approves calls, and makes those of its own tools."""
        answers = await self._emitted.approvals(
            [
                RequestedCall(call.tool_call_id, call.tool_name, call.args_as_dict())
                for call in requests.approvals
            ]
        )
        approvals: dict[str, Any] = {
            call.tool_call_id: answer.approved or ToolDenied(answer.reason or REJECTED)
            for call, answer in zip(requests.approvals, answers, strict=True)
        }
        calls: dict[str, Any] = {
            call.tool_call_id: await self._ctx.client_call(call.tool_name, call.args_as_dict())
            for call in requests.calls
        }
        return requests.build_results(approvals=approvals, calls=calls)


def _metadata_of(_operation: DurableOperationId, tool: Any, _name: str) -> Config:
    return (None if tool is None else tool.tool_def.metadata) or {}


def _is_of_agents_model(operation_id: DurableOperationId) -> bool:
    """Whether this is a request to the model of the agent, not to another one of the run."""
    return isinstance(operation_id, ModelRequestId) and operation_id.model_id is None


class _Steps(JournalCallableOperationBackend[Config]):
    """Runs each unit as a step."""

    def __init__(self, ctx: AgentContext, within_tool: WithinTool, calls_server: bool) -> None:
        super().__init__(
            agent_name="agent",
            config=RoleBasedOperationConfig[Config](
                model={}, event={}, capability={}, tool={}, resolve_tool=_metadata_of
            ),
        )
        self._ctx = ctx
        self._within_tool = within_tool
        self._calls_server = calls_server

    async def execute(
        self,
        *,
        operation_id: DurableOperationId,
        name: str,
        body: Callable[[], Awaitable[object]],
        cache_key: tuple[object, ...],
        config: Config,
    ) -> object:
        """See `CallableOperationBackend`."""
        if self._calls_server and _is_of_agents_model(operation_id):
            return await body()
        if isinstance(operation_id, ToolsetCallToolId):
            return await self._call_tool(body, cache_key, is_once=bool(config.get("once")))

        async def execute() -> Any:
            return await body()

        return await self._ctx.step(name.removeprefix("agent__"), execute)

    async def _call_tool(
        self, body: Callable[[], Awaitable[object]], cache_key: tuple[Any, ...], *, is_once: bool
    ) -> object:
        name, arguments, context, _ = cache_key

        async def execute(_arguments: Any) -> Any:
            return await body()

        with self._within_tool():
            async with self._ctx.scope(f"call:{context.tool_call_id}"):
                try:
                    return await self._ctx.step(name, execute, arguments, once=is_once)
                except StepInterrupted:
                    return {"kind": "tool_return", "result": INTERRUPTED}
