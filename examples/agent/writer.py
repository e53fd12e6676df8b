from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

from antiphon.agents.langgraph import call, durable_tool, langgraph


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


async def publish(text: str) -> str:
    """Publish a text."""
    return f"Published {len(text)} characters."


publish_once = durable_tool(publish, once=True)


async def write(state: State) -> dict[str, Any]:
    found = await call("demo", str(state["messages"][-1].content))
    return {"messages": [AIMessage(found.output_text)]}


async def publish_if_approved(state: State) -> dict[str, Any]:
    text = str(state["messages"][-1].content)
    answer = interrupt({"text": text})
    result = await publish_once.ainvoke({"text": text}) if answer["approved"] else "Not published."
    return {"messages": [AIMessage(result)]}


graph = StateGraph(State)
graph.add_node("write", write)
graph.add_node("publish", publish_if_approved)
graph.add_edge(START, "write")
graph.add_edge("write", "publish")
graph.add_edge("publish", END)
writer = langgraph(graph, name="writer", messages="messages")
