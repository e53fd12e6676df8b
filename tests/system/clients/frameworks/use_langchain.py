"""LangChain: a system message in the middle, and a first call that is forced.

It goes on where a call that LangChain could not read has ended the turn.
"""

from typing import Any

import task
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI

TURNS = 6
"""Calls of the model that a task may need."""


def begin(url: str, model: str, schema: Any) -> task.Send:
    llm = ChatOpenAI(
        model=model, base_url=url, api_key="sk-test", use_responses_api=True, max_retries=0
    )
    described = {"tide": ("Tell the tide.", schema), "ping": ("Ping.", {"type": "object"})}
    tools = [
        {
            "type": "function",
            "function": {"name": name, "description": text, "parameters": parameters},
        }
        for name, (text, parameters) in described.items()
    ]

    async def send(streamed: bool) -> str:
        stated: list[Any] = [SystemMessage("Be brief.")]
        for rule, spoken in zip(task.RULES, task.SPOKEN, strict=True):
            stated += [SystemMessage(rule), HumanMessage(spoken)]
        for number in range(TURNS):
            bound: Any = llm.bind_tools(tools, **({} if number else {"tool_choice": "any"}))
            answer = await whole(bound, stated) if streamed else await bound.ainvoke(stated)
            if answer.text:
                return str(answer.text)
            stated.append(answer)
            stated += [
                ToolMessage(task.tide(**call["args"]), tool_call_id=call["id"])
                for call in answer.tool_calls
            ]
            if not answer.tool_calls:
                stated.append(HumanMessage("Go on."))
        return "It never ended."

    return send


async def whole(bound: Any, stated: list[Any]) -> Any:
    """A streamed answer, put together."""
    answer: Any = None
    async for piece in bound.astream(stated):
        answer = piece if answer is None else answer + piece
    return answer


task.run(begin)
