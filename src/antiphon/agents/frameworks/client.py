"""A client for frameworks that call models through the `openai` package: each request is an
`AgentContext.call`.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol

import msgspec
from openai import NotGiven, Omit
from openai.types.responses import Response, ResponseCompletedEvent

from antiphon.agents.context import AgentContext
from antiphon.agents.emitted_items import Emit

NOT_SENT = ("extra_headers", "extra_query", "extra_body", "stream", "timeout")
"""What a framework passes to its client; `extra_body` has parameters, the others concern HTTP."""


class CallingRun(Protocol):
    """The run that calls models."""

    ctx: AgentContext
    calls: str
    """The name of its calls in the journal."""

    @property
    def emit(self) -> Emit:
        """Which items of a call the response has."""
        ...


FindRun = Callable[[], CallingRun]


class ServerClient:
    """What frameworks use of an `AsyncOpenAI`. `find` returns the run that calls."""

    base_url = "antiphon:"

    def __init__(self, find: FindRun) -> None:
        self.responses = _CalledResponses(find)


class _CalledResponses:
    def __init__(self, find: FindRun) -> None:
        self._find = find

    async def create(self, *, model: str, input: Any, **parameters: Any) -> Any:
        """Return the response of a model; with `stream`, its last event."""
        sent = _without_omitted({**parameters, **(parameters.get("extra_body") or {})})
        run = self._find()
        found = await run.ctx.call(
            model,
            input,
            name=run.calls,
            emit=run.emit,
            **{name: value for name, value in sent.items() if name not in NOT_SENT},
        )
        response = Response.construct(**msgspec.to_builtins(found))
        return _completed(response) if sent.get("stream") else response


def _without_omitted(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in parameters.items()
        if value is not None and not isinstance(value, Omit | NotGiven)
    }


async def _completed(response: Response) -> AsyncIterator[ResponseCompletedEvent]:
    yield ResponseCompletedEvent(response=response, sequence_number=0, type="response.completed")
