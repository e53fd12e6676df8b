"""Shows steps to the client, each as the item of a call: a step of the handler as an `mcp_call`
with the agent as its server, a hosted tool as its own item.

The item opens before the step begins, and closes with its result; it is stored in the transaction
of the step, or in a later one. So an attempt can find a step without its item, and emits that then.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from antiphon.agents.output import AgentOutput
from antiphon.agents.results import encoded
from antiphon.protocol.tool_bindings import Offer
from antiphon.runs.tool_calls import INTERRUPTED, failure, result_of
from antiphon.storage.records.steps import Step, StepState
from antiphon.tools.base import ToolOutcome
from antiphon.translation.hosted_call import HostedCall

FAILED = "The step failed."
"""What a client sees of an error: its text may not be for it."""


class DisplayedCall:
    """The item of one step; `outcome` returns the result of the step. See `StepDisplay`."""

    def __init__(
        self,
        output: AgentOutput,
        key: str,
        call_id: str,
        offer: Offer,
        arguments: str,
        outcome: Callable[[Step], ToolOutcome],
    ) -> None:
        self._output = output
        self._key = f"{key}/item"
        self._call = call_id, arguments
        self._offer = offer
        self._outcome = outcome

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Callable[[Step], None]]:
        """See `StepDisplay`."""
        output = self._output
        if output.is_emitted(self._key, f"{self._offer.kind}_call"):
            yield lambda step: None
            return
        call: HostedCall | None = None

        def show(step: Step) -> None:
            nonlocal call
            if call is not None:
                output.close_call(call, self._key, result_of(self._outcome_of(step)))
                call = None

        async with output.order.with_calls():
            call_id, arguments = self._call
            call = output.open_call(self._offer, call_id, arguments)
            try:
                yield show
            finally:
                # One that a later attempt opens again stays open.
                if call is not None and not output.is_over():
                    output.close_call(call, self._key, None)

    async def catch_up(self, step: Step) -> None:
        """See `StepDisplay`."""
        async with self.opened() as show:
            show(step)

    def _outcome_of(self, step: Step) -> ToolOutcome:
        kind = self._offer.kind
        if step.state is StepState.BEGUN:
            return failure(kind, INTERRUPTED)
        if step.state is StepState.FAILED:
            return failure(kind, FAILED)
        return self._outcome(step)


def own_offer(agent: str, name: str, approval_request_id: str | None) -> Offer:
    """Return a step of the handler as a tool of the agent."""
    return Offer(
        "",
        "mcp",
        name,
        namespace=agent,
        is_hosted=True,
        approval_request_id=approval_request_id,
    )


def own_outcome(step: Step) -> ToolOutcome:
    """Return the result of a step of the handler as that of a tool: a text as it is, else JSON."""
    value = msgspec.json.decode(step.body)
    text = value if isinstance(value, str) else step.body.decode()
    return ToolOutcome(text, {"output": text, "error": None})


def own_arguments(function: Callable[..., Any], arguments: Sequence[Any]) -> str:
    """Return the arguments of a step as a JSON object, with the names of the parameters."""
    try:
        named = dict(inspect.signature(function).bind(*arguments).arguments)
    except (TypeError, ValueError):  # a function of C has no signature
        named = {str(number): each for number, each in enumerate(arguments, 1)}
    return encoded(named, "the arguments").decode()
