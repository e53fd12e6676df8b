"""Anthropic's SDK: text, a tool and its result, thinking, stop sequences, counts, models and
errors, plain and streamed. Prints what it saw as JSON.
"""

import json
import sys
from typing import Any

import anthropic

MODEL = "fake-model"
TOOL: Any = {
    "name": "tide",
    "description": "Tells the tide.",
    "input_schema": {"type": "object", "properties": {"port": {"type": "string"}}},
}
client = anthropic.Anthropic(base_url=sys.argv[1], api_key="sk-test", max_retries=0)


def body(content: Any, more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": content}] if isinstance(content, str) else content
    return {"model": MODEL, "max_tokens": 1000, "messages": messages, **more}


def create(content: Any, **more: Any) -> Any:
    return client.messages.create(**body(content, more))


def stream(content: Any, **more: Any) -> Any:
    with client.messages.stream(**body(content, more)) as running:
        return running.get_final_message()


def conversation(send: Any) -> list[Any]:
    """A tool and its result, with the thinking before it."""
    thinking = {"type": "enabled", "budget_tokens": 1024, "display": "summarized"}
    first = send("How is the tide?", tools=[TOOL], thinking=thinking)
    use = next(block for block in first.content if block.type == "tool_use")
    answered = {"type": "tool_result", "tool_use_id": use.id, "content": "High."}
    history = [
        {"role": "user", "content": "How is the tide?"},
        {"role": "assistant", "content": [block.model_dump() for block in first.content]},
        {"role": "user", "content": [answered]},
    ]
    second = send(history, tools=[TOOL], thinking=thinking)
    kinds = [block.type for block in first.content]
    return [kinds, first.stop_reason, use.input, second.content[-1].text]


def refusal() -> list[Any]:
    try:
        client.messages.create(
            model="none", max_tokens=1, messages=[{"role": "user", "content": "a"}]
        )
    except anthropic.NotFoundError as error:
        return [error.status_code, bool(error.request_id), error.body["error"]["type"]]  # type: ignore[index]
    return []


seen = {
    "plain": conversation(create),
    "streamed": conversation(stream),
    "stopped": create("Go.", stop_sequences=["END"]).stop_sequence,
    "counted": client.messages.count_tokens(
        model=MODEL, messages=[{"role": "user", "content": "Hi"}]
    ).input_tokens,
    "models": [model.id for model in client.models.list(limit=1000)],
    "refused": refusal(),
}
print(json.dumps(seen))
