"""A graph of LangGraph as a model of this server (`pip install 'antiphon[langgraph]'`)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from antiphon.agents.context import AgentContext
from antiphon.agents.emitted_items import Emit
from antiphon.agents.registration import Agent, agent
from antiphon.extras import require
from antiphon.protocol.response import Response

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool

__all__ = ["call", "chat_model", "durable_tool", "langgraph"]


def langgraph(
    graph: Any,
    *,
    name: str,
    input: Callable[[AgentContext], Any] | None = None,
    messages: str = "messages",
    version: str = "1",
    timeout: float = 3600,
    description: str = "",
) -> Agent:
    """Register a graph: clients call it as the model `name`.

    `graph` is a `StateGraph`, or a compiled one without a checkpointer. Its checkpoints are in the
    journal of the response: after a crash it continues with the tasks that had not ended, each from
    its beginning, and a `durable_tool` in them is a step. The new messages in the key `messages` of
    its state are in the output after each step of the graph. `interrupt()` ends the response with
    a request for approval, and returns `{"approved": bool, "reason": str}` once the client has
    answered. The next response in a chain continues with the state of the graph, so a fork of a
    chain is a fork of the thread. `input` returns the input of a run; without it, that is the new
    messages of the request, and at first those of the history before them, as texts. `timeout` is
    in seconds, for all attempts of a response together.

    Raises `ConfigError` if LangGraph is not installed, and `TypeError` for an object that is no
    graph, and for a graph with a checkpointer of its own.
    """
    require("langgraph", "antiphon.agents.langgraph")
    from antiphon.agents.langgraph.run import GraphRun, compiled  # noqa: PLC0415 - an extra

    runnable = compiled(graph)

    async def handle(ctx: AgentContext) -> None:
        await GraphRun(ctx, name, messages, input).run(runnable)

    return agent(name, version=version, timeout=timeout, description=description)(handle)


def durable_tool(tool: Any, *, once: bool = False) -> "BaseTool":
    """Return a tool, or an async function as a tool, with each call in a step.

    It runs at least once, or at most once with `once`: if its worker dies meanwhile, the model
    reads that the outcome is unknown. Call it with `ainvoke`, as a `ToolNode` does. Outside a
    response that does what the tool does.

    Raises `ConfigError` if LangGraph is not installed, and `TypeError` for a synchronous tool with
    `once`.
    """
    require("langgraph", "antiphon.agents.langgraph")
    from antiphon.agents.langgraph.tools import make_durable  # noqa: PLC0415 - an extra

    return make_durable(tool, is_once=once)


async def call(model: str, input: str | Sequence[Any], **parameters: Any) -> Response:
    """Call a model of this server in a node: see `AgentContext.call`. A node that runs again after
    a crash gets the response of a call that had ended.

    Raises `RuntimeError` outside a response.
    """
    from antiphon.agents.langgraph.tools import call_in_node  # noqa: PLC0415 - an extra

    return await call_in_node(model, input, parameters)


def chat_model(model: str, *, emit: Emit = "text", **parameters: Any) -> "BaseChatModel":
    """Return a model of this server as a chat model of LangChain, for the nodes of a graph.

    Each call is a step: a node that runs again after a crash gets the answer of a call that had
    ended. Its messages are sent to the client as they are generated, and not again with the step of
    the graph; with `emit="items"` so are its reasoning and the calls of hosted tools, and with
    `emit="nothing"` the client gets the messages that a node adds to the state, after its step.
    `parameters` are those of `AgentContext.call`, and `bind_tools` adds functions. Call it with
    `ainvoke`; its input has texts, calls of tools and their results.

    Raises `ConfigError` if LangGraph is not installed. A call outside a response raises
    `RuntimeError`, and one with other content `AgentError` (`unsupported_value`).
    """
    require("langgraph", "antiphon.agents.langgraph")
    from antiphon.agents.langgraph.chat_model import ServerModel  # noqa: PLC0415 - an extra

    return ServerModel(model=model, emit=emit, parameters=parameters)
