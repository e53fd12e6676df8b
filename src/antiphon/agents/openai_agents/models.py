"""The models of the Agents SDK: each call of one is an `AgentContext.call`."""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Protocol

from agents import Model, ModelProvider, OpenAIResponsesModel

from antiphon.agents.frameworks.client import CallingRun, ServerClient


class PreparedRun(CallingRun, Protocol):
    """The run of an agent of the SDK."""

    async def before_call(self, input: Any, tools: Iterable[Any]) -> None:
        """Prepare for a call with this input and these tools."""
        ...


FindRun = Callable[[], PreparedRun]


class ServerModels(ModelProvider):
    """Finds a model of this server by its name. `find` returns the run that calls one."""

    def __init__(self, find: FindRun) -> None:
        self._find = find

    def get_model(self, model_name: str | None) -> Model:
        """Return the model. Raises `ValueError` without a name."""
        if model_name is None:
            raise ValueError("The agent has no model. Name a model of this server.")
        return _CalledModel(model_name, self._find)


class _CalledModel(OpenAIResponsesModel):
    """The SDK builds the request and reads the response; only its client is replaced."""

    def __init__(self, name: str, find: FindRun) -> None:
        client: Any = ServerClient(find)
        super().__init__(name, client)
        self._find = find

    async def get_response(
        self, system_instructions: str | None, input: Any, *others: Any, **named: Any
    ) -> Any:
        """See `Model`."""
        await self._find().before_call(input, named["tools"] if "tools" in named else others[1])
        return await super().get_response(system_instructions, input, *others, **named)

    async def stream_response(
        self, system_instructions: str | None, input: Any, *others: Any, **named: Any
    ) -> AsyncIterator[Any]:
        """See `Model`. It has one event, at the end."""
        await self._find().before_call(input, named["tools"] if "tools" in named else others[1])
        async for event in super().stream_response(system_instructions, input, *others, **named):
            yield event
