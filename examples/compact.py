"""Shorten a long conversation in three ways, with a running server (`make serve`)."""

from typing import Any

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

STORY = "The tide was high in Dover, and the ship went out. " * 100
CONVERSATION: list[Any] = [
    {"role": "user", "content": "My name is Ada. Write a story."},
    {"role": "assistant", "content": STORY},
    {"role": "user", "content": "Continue the story."},
]


def tokens(**context: Any) -> int:
    return client.responses.input_tokens.count(model="demo", **context).input_tokens


print("Before:", tokens(input=CONVERSATION), "tokens")

# 1. When you request it: the output is the input of the next request.
short = client.responses.compact(model="demo", input=CONVERSATION)
stored = [item.model_dump(exclude_unset=True, warnings=False) for item in short.output]
print("Compacted:", tokens(input=stored), "tokens in", [item["type"] for item in stored])

# 2. Automatically, when it exceeds a threshold: the response contains the compaction.
long = client.responses.create(
    model="demo", input=CONVERSATION, context_management=[{"type": "compaction", "compact_threshold": 1000}]
)
print("Automatically:", [item.type for item in long.output])

# 3. With a trigger as the last item of the input: the response is only the compaction.
third = client.responses.create(model="demo", input=[*CONVERSATION, {"type": "compaction_trigger"}])
print("On a trigger:", [item.type for item in third.output])
print("Next request:", tokens(input="And then?", previous_response_id=third.id), "tokens")
