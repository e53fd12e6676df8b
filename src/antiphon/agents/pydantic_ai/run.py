"""Runs an agent of pydantic-ai for one response."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import Any

from pydantic_ai import Agent, AgentRunResult, ModelMessage, ToolCallPart, UsageLimits
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from antiphon.agents.context import AgentContext
from antiphon.agents.emitted_items import Emit
from antiphon.agents.errors import AgentError
from antiphon.agents.frameworks.client import ServerClient
from antiphon.agents.frameworks.items import as_dictionaries
from antiphon.agents.frameworks.tool_calls import EmittedCalls
from antiphon.agents.pydantic_ai.engine import JournalDurability
from antiphon.agents.pydantic_ai.history import ended_calls, messages_of

_current: ContextVar["AgentRunner"] = ContextVar("agent_runner")
_in_tool: ContextVar[bool] = ContextVar("in_tool", default=False)
"""Whether the running code is a tool: what models answer there is not the client's."""


def with_server_model(agent: Agent[Any, Any], name: str) -> Agent[Any, Any]:
    """Return the agent with a model of this server; the framework builds its requests."""
    client: Any = ServerClient(_current.get)
    copied = copy(agent)
    copied.model = OpenAIResponsesModel(name, provider=OpenAIProvider(openai_client=client))
    return copied


class AgentRunner:
    """One response. `label` is the server of its tools in the output."""

    calls = "model"

    def __init__(self, ctx: AgentContext, label: str, *, calls_server: bool) -> None:
        self.ctx = ctx
        self._emitted = EmittedCalls(ctx, label)
        self._calls_server = calls_server
        self._forms: set[str] = set()
        """The tools that are forms of the answer, and not of the agent."""

    @property
    def emit(self) -> Emit:
        """See `CallingRun`."""
        return "nothing" if _in_tool.get() else "items"

    async def run(self, agent: Agent[Any, Any], deps: Any, limits: UsageLimits | None) -> Any:
        """Run the agent to its end; return an answer that is not in the output yet, else None.
        Raises `AgentError`.
        """
        items = as_dictionaries([*self.ctx.history, *self.ctx.input])
        durability = JournalDurability(
            self.ctx, self._emitted, self._before_request, _within_tool, self._calls_server
        )
        _current.set(self)
        try:
            result = await agent.run(
                message_history=messages_of(items, self._emitted),
                deps=deps,
                usage_limits=limits,
                capabilities=[durability],
            )
        except UsageLimitExceeded as error:
            raise AgentError(str(error), code="agent_usage_limit") from error
        await self._emit(result.all_messages())
        return None if self._is_emitted(result) else result.output

    async def _before_request(self, request: ModelRequestContext) -> None:
        """Emit the calls of tools before the items of the next request to a model."""
        self._forms = {one.name for one in request.model_request_parameters.output_tools}
        await self._emit(request.messages)

    async def _emit(self, messages: Sequence[ModelMessage]) -> None:
        calls = ended_calls(messages)
        await self._emitted.emit(call for call in calls if call.name not in self._forms)

    def _is_emitted(self, result: AgentRunResult[Any]) -> bool:
        """Whether the answer is a message of a model, and in the output."""
        parts = result.response.parts
        return self._calls_server and not any(isinstance(one, ToolCallPart) for one in parts)


@contextmanager
def _within_tool() -> Iterator[None]:
    token = _in_tool.set(True)
    try:
        yield
    finally:
        _in_tool.reset(token)
