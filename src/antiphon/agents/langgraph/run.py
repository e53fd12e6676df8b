"""Runs a graph for one response."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot

from antiphon.agents.approvals import Approval
from antiphon.agents.context import AgentContext
from antiphon.agents.frameworks.items import as_dictionaries, text_of_content
from antiphon.agents.frameworks.tool_calls import EmittedCalls, ToolCall, text_of
from antiphon.agents.langgraph.chat_model import is_sent
from antiphon.agents.langgraph.saver import CONFIG, JournalSaver
from antiphon.agents.langgraph.tools import current
from antiphon.agents.records import Record


def compiled(graph: Any) -> "CompiledStateGraph[Any, Any, Any, Any]":
    """Return the compiled graph. Raises `TypeError` for other objects, and a graph with a
    checkpointer.
    """
    if isinstance(graph, StateGraph):
        return graph.compile()
    if not isinstance(graph, CompiledStateGraph):
        raise TypeError(f"langgraph() registers a StateGraph, not a {type(graph).__name__}.")
    if graph.checkpointer is not None:
        raise TypeError(
            "The graph is compiled with a checkpointer. Compile it without one: the checkpoints of "
            "an agent are in the journal of its response."
        )
    return graph


class GraphRun:
    """One response. `label` is the server of its tools in the output."""

    def __init__(
        self,
        ctx: AgentContext,
        label: str,
        messages: str,
        input: Callable[[AgentContext], Any] | None,
    ) -> None:
        self._ctx = ctx
        self._messages = messages
        self._input = input
        self._emitted = EmittedCalls(ctx, label)
        self._seen: set[str] = set()
        """The IDs of the messages that are in the output, or in that of earlier responses."""
        self._calls: dict[str, Any] = {}
        """The calls of tools in the messages, by their IDs."""

    async def run(self, graph: "CompiledStateGraph[Any, Any, Any, Any]") -> None:
        """Run the graph to its end, and emit its new messages. Raises `AgentError`."""
        saver = JournalSaver(self._ctx.records(), self._emit)
        graph = graph.copy({"checkpointer": saver})
        current.set(self._ctx)
        if self._ctx.state is not None:
            before = saver.begin_with(_record_of(self._ctx.state))
            self._seen = {str(one.id) for one in self._found(before)}
        begins = not await saver.restore()
        state = await graph.aget_state(CONFIG)
        if begins or not state.interrupts:
            new = self._new_input() if begins else None
            await graph.ainvoke(new, CONFIG, durability="sync")
            state = await graph.aget_state(CONFIG)
        while state.interrupts:
            await graph.ainvoke(await self._answers(state), CONFIG, durability="sync")
            state = await graph.aget_state(CONFIG)
        newest = saver.state()
        data = b64encode(newest.data).decode()
        await self._ctx.save({"format": newest.format, "data": data})

    def _new_input(self) -> Any:
        if self._input is not None:
            return self._input(self._ctx)
        items = self._ctx.input if self._ctx.state else [*self._ctx.history, *self._ctx.input]
        found = [_message(one) for one in as_dictionaries(items) if "role" in one]
        return {self._messages: found}

    async def _answers(self, state: StateSnapshot) -> Any:
        """Return the client's answers to the interrupts, as the graph continues with them."""
        names = {one.id: task.name for task in state.tasks for one in task.interrupts}
        answers = await self._ctx.approvals(
            [(names.get(one.id, "interrupt"), one.value) for one in state.interrupts]
        )
        return Command(
            resume={
                one.id: _resumed(answer)
                for one, answer in zip(state.interrupts, answers, strict=True)
            }
        )

    def _found(self, values: Any) -> Sequence[BaseMessage]:
        found = values.get(self._messages, ()) if isinstance(values, Mapping) else ()
        return [one for one in found if isinstance(one, BaseMessage)]

    async def _emit(self, values: Mapping[str, Any]) -> None:
        """Emit the messages of the model, and the calls of tools that have ended, once each."""
        for message in self._found(values):
            if str(message.id) in self._seen:
                continue
            self._seen.add(str(message.id))
            if isinstance(message, AIMessage):
                self._calls |= {str(one["id"]): one for one in message.tool_calls}
                if message.text and not is_sent(message):
                    async with self._ctx.message(key=f"message:{message.id}") as text:
                        await text.write(str(message.text))
            elif isinstance(message, ToolMessage) and message.tool_call_id in self._calls:
                await self._emitted.emit([self._ended(message)])

    def _ended(self, message: ToolMessage) -> ToolCall:
        call = self._calls[message.tool_call_id]
        arguments = json.dumps(call["args"], separators=(",", ":"))
        return ToolCall(message.tool_call_id, call["name"], arguments, text_of(message.content))


def _record_of(state: Any) -> Record:
    return Record(state["format"], b64decode(state["data"]))


def _resumed(answer: Approval) -> dict[str, Any]:
    return {"approved": answer.approved, "reason": answer.reason}


def _message(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message of the API as LangGraph reads it."""
    return {"role": item["role"], "content": text_of_content(item["content"])}
