"""The calls of tools that a framework makes, in the output of the response: each is an `mcp_call`
with the name of the agent as its server.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from antiphon.agents.approvals import Approval
from antiphon.agents.context import AgentContext
from antiphon.protocol.items.hosted import McpCall

REJECTED = "The user rejected this call."
"""What the model reads if the client rejects a call without a reason."""


class ToolCall(Struct, frozen=True):
    """A call of a tool that has ended."""

    call_id: str
    name: str
    arguments: str
    """As JSON."""
    output: str


class RequestedCall(Struct, frozen=True):
    """A call of a tool that needs the client's approval."""

    call_id: str
    name: str
    arguments: Any


class EmittedCalls:
    """The calls of one response. `label` is the name of the agent."""

    def __init__(self, ctx: AgentContext, label: str) -> None:
        self._ctx = ctx
        self._label = label
        self._known: set[str] = set()
        self._approvals: dict[str, str] = {}
        """The requests for approval that the client has answered, by the IDs of the calls."""

    def of_history(self, item: Mapping[str, Any]) -> ToolCall | None:
        """Return the call that an earlier response emitted as this item; None for other items."""
        if item.get("type") != "mcp_call" or item.get("server_label") != self._label:
            return None
        self._known.add(item["id"])
        return ToolCall(item["id"], item["name"], item["arguments"], item.get("output") or "")

    def know(self, call_ids: Iterable[str]) -> None:
        """Do not emit these calls: they are in the history."""
        self._known |= {*call_ids}

    async def approvals(self, calls: Sequence[RequestedCall]) -> list[Approval]:
        """Ask the client to approve calls: see `AgentContext.approvals`."""
        answers = await self._ctx.approvals([(one.name, one.arguments) for one in calls])
        self._approvals |= {
            call.call_id: answer.request_id for call, answer in zip(calls, answers, strict=True)
        }
        return answers

    async def emit(self, calls: Iterable[ToolCall]) -> None:
        """Emit those that are new, in this order."""
        for call in calls:
            if call.call_id in self._known:
                continue
            self._known.add(call.call_id)
            item = McpCall(
                id="",
                name=call.name,
                arguments=call.arguments,
                server_label=self._label,
                output=call.output,
                status="completed",
                approval_request_id=self._approvals.get(call.call_id) or UNSET,
            )
            await self._ctx.emit(item, key=f"emitted:{call.call_id}")


def text_of(output: Any) -> str:
    """Return the output of a tool as text."""
    return output if isinstance(output, str) else msgspec.json.encode(output).decode()
