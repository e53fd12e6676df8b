"""Runs an agent of the Agents SDK for one response, and emits the calls of its tools."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import agents
from agents import (
    MessageOutputItem,
    RunConfig,
    Runner,
    RunResult,
    RunState,
    ToolApprovalItem,
    ToolOriginType,
)
from agents.exceptions import (
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    OutputGuardrailTripwireTriggered,
)

from antiphon.agents.context import AgentContext
from antiphon.agents.emitted_items import Emit
from antiphon.agents.errors import AgentError
from antiphon.agents.frameworks.items import as_dictionaries
from antiphon.agents.frameworks.tool_calls import (
    REJECTED,
    EmittedCalls,
    RequestedCall,
    ToolCall,
    text_of,
)
from antiphon.agents.openai_agents.models import FindRun, ServerModels
from antiphon.agents.openai_agents.tools import current, make_durable

SdkItem = Mapping[str, Any]
"""An item as the SDK has it in a list of input: a dictionary of the API."""


class AgentsRun:
    """One response. `label` is the server of its tools in the output."""

    def __init__(
        self,
        ctx: AgentContext,
        label: str,
        once: Collection[str],
        calls: str = "model",
        emit: Emit = "items",
    ) -> None:
        self.ctx = ctx
        self.once = once
        self.calls = calls
        self.emit = emit
        self._label = label
        self._emitted = EmittedCalls(ctx, label)

    def within(self, calls: str) -> "AgentsRun":
        """Return this run for agents within it: their output is not that of the response."""
        return AgentsRun(self.ctx, self._label, self.once, calls, "nothing")

    async def run(self, agent: "agents.Agent[Any]", context: Any, max_turns: int) -> Any:
        """Run the agent to its end; return an answer that no model gave, None for one that is in
        the output. Raises `AgentError`.
        """
        current.set(self)
        try:
            result = await self._run(agent, self._input(), context, max_turns)
            while questions := _questions_of(result):
                state = await self._answered(result, questions)
                result = await self._run(agent, state, context, max_turns)
        except MaxTurnsExceeded as error:
            raise AgentError(
                f"The agent has not come to an end within {max_turns} calls of models.",
                code="agent_max_turns",
            ) from error
        except (InputGuardrailTripwireTriggered, OutputGuardrailTripwireTriggered) as error:
            name = error.guardrail_result.guardrail.get_name()
            raise AgentError(
                f"The guardrail {name!r} ended the response.", code="agent_guardrail"
            ) from error
        await self._emitted.emit(_ended(result.to_input_list()))
        # An approval of an MCP server is in the output; the answer to it begins a new response.
        if result.interruptions or isinstance(result.new_items[-1], MessageOutputItem):
            return None
        return result.final_output

    async def _run(self, agent: Any, input: Any, context: Any, max_turns: int) -> RunResult:
        return await Runner.run(
            agent,
            input,
            context=context,
            max_turns=max_turns,
            run_config=config_of(current.get),
        )

    async def _answered(
        self, result: RunResult, questions: Sequence[ToolApprovalItem]
    ) -> RunState[Any]:
        """Return the state from which the run continues, with the answers of the client."""
        answers = await self._emitted.approvals(
            [
                RequestedCall(
                    str(one.call_id), str(one.tool_name), json.loads(one.arguments or "{}")
                )
                for one in questions
            ]
        )
        state = result.to_state()
        for question, answer in zip(questions, answers, strict=True):
            if answer.approved:
                state.approve(question)
            else:
                state.reject(question, rejection_message=answer.reason or REJECTED)
        return state

    async def before_call(self, input: str | Sequence[SdkItem], tools: Iterable[Any]) -> None:
        """See `PreparedRun`: the calls before this one come before its items in the output."""
        make_durable(tools)
        if self.emit != "nothing" and not isinstance(input, str):
            await self._emitted.emit(_ended(input))

    def _input(self) -> list[Any]:
        """Return the history and the new items, for the SDK."""
        found: list[Any] = []
        for item in as_dictionaries([*self.ctx.history, *self.ctx.input]):
            call = self._emitted.of_history(item)
            found += [item] if call is None else _of(call)
        self._emitted.know(call.call_id for call in _ended(found))
        return found


def _questions_of(result: RunResult) -> list[ToolApprovalItem]:
    """Return the calls of function tools that wait for the client's approval.

    Raises `TypeError` for a tool of a local MCP server: a run that continues gets another object
    for it, which is not a step.
    """
    found = []
    for one in result.interruptions:
        if one.tool_origin is not None and one.tool_origin.type is ToolOriginType.MCP:
            raise TypeError(
                f"The tool {one.tool_name!r} of an MCP server of the agent needs approval. Use "
                "HostedMCPTool: this server calls it, and asks for approval."
            )
        raw = one.raw_item
        kind = raw.get("type") if isinstance(raw, dict) else getattr(raw, "type", None)
        if kind == "function_call":
            found.append(one)
    return found


def config_of(find: FindRun) -> RunConfig:
    """Return the configuration of a run of the SDK. It exports no traces to OpenAI."""
    return RunConfig(model_provider=ServerModels(find), tracing_disabled=True)


def _of(call: ToolCall) -> list[dict[str, Any]]:
    """Return what the SDK had of a call."""
    return [
        {
            "type": "function_call",
            "call_id": call.call_id,
            "name": call.name,
            "arguments": call.arguments,
        },
        {"type": "function_call_output", "call_id": call.call_id, "output": call.output},
    ]


def _ended(items: Iterable[SdkItem]) -> list[ToolCall]:
    """Return the calls that have ended, in the order of the models."""
    items = list(items)
    outputs = {
        one["call_id"]: one["output"] for one in items if one.get("type") == "function_call_output"
    }
    return [
        ToolCall(one["call_id"], one["name"], one["arguments"], text_of(outputs[one["call_id"]]))
        for one in items
        if one.get("type") == "function_call" and one["call_id"] in outputs
    ]
