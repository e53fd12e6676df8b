"""Models of this server as chat models of LangChain, for the nodes of a graph.

A message that is sent to the client while it is generated is marked, because it comes again in the
state of the graph. The mark is in the message, and so in the checkpoint: a later attempt reads it
there, although it does not call the model.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from antiphon.agents.frameworks.items import text_of_content
from antiphon.agents.langgraph.tools import call_in_node
from antiphon.protocol.items.messages import FunctionCall, Message
from antiphon.protocol.response import Response
from antiphon.translation.writer import output_text

SENT = "antiphon_sent"
"""The mark, in the metadata of a message."""


class ServerModel(BaseChatModel):
    """A model of this server: each call is a step. See `chat_model`."""

    model: str
    emit: str
    parameters: Mapping[str, Any]

    @property
    def _llm_type(self) -> str:
        return "antiphon"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **named: Any
    ) -> "Runnable[Any, AIMessage]":
        """See `BaseChatModel`."""
        choice = {} if tool_choice is None else {"tool_choice": _choice(tool_choice)}
        return self.bind(functions=[_function(one) for one in tools], **choice, **named)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **named: Any,
    ) -> ChatResult:
        raise NotImplementedError(
            f"The model {self.model!r} is called in a step of a response, which only async code "
            "can await. Call it with `await model.ainvoke(...)`."
        )

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        *,
        functions: Sequence[Mapping[str, Any]] = (),
        **named: Any,
    ) -> ChatResult:
        if stop:
            raise ValueError("The Responses API has no stop sequences.")
        parameters = {**self.parameters, **named}
        if tools := [*self.parameters.get("tools", ()), *functions]:
            parameters["tools"] = tools
        items = [item for one in messages for item in _items(one)]
        found = await call_in_node(self.model, items, {"emit": self.emit, **parameters})
        message = _message(found, is_sent=self.emit != "nothing")
        return ChatResult(generations=[ChatGeneration(message=message)])


def is_sent(message: AIMessage) -> bool:
    """Whether the client received a message while it was generated."""
    return SENT in message.response_metadata


def _message(found: Response, *, is_sent: bool) -> AIMessage:
    """Return what a model answered: its text, and the functions that it calls."""
    calls = [
        {"name": one.name, "args": json.loads(one.arguments), "id": one.call_id}
        for one in found.output
        if isinstance(one, FunctionCall)
    ]
    ids = [str(one.id) for one in found.output if isinstance(one, Message)]
    usage = found.usage
    return AIMessage(
        output_text(found),
        id=ids[0] if ids else found.id,
        tool_calls=calls,
        response_metadata={SENT: found.id} if is_sent else {},
        usage_metadata=None
        if usage is None
        else {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
        },
    )


def _items(message: BaseMessage) -> Iterator[dict[str, Any]]:
    """Yield a message as items of a request. Raises `AgentError` for content other than text."""
    [found] = convert_to_openai_messages([message])
    text = text_of_content(found.get("content") or "")
    if found["role"] == "tool":
        yield {
            "type": "function_call_output",
            "call_id": found["tool_call_id"],
            "output": text,
        }
        return
    if text or not found.get("tool_calls"):
        yield {"role": found["role"], "content": text}
    for one in found.get("tool_calls") or ():
        yield {"type": "function_call", "call_id": one["id"], **one["function"]}


def _function(tool: Any) -> dict[str, Any]:
    return {"type": "function", **convert_to_openai_tool(tool)["function"]}


def _choice(choice: str) -> Any:
    if choice == "any":
        return "required"
    names = ("auto", "none", "required")
    return choice if choice in names else {"type": "function", "name": choice}
