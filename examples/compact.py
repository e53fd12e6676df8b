"""A long conversation made short, in three ways, against a running server (`make serve`)."""

from typing import Any

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

TALE = "The tide was high in Dover, and the ship went out. " * 100
TALK: list[Any] = [
    {"role": "user", "content": "My name is Ada. Tell me a tale."},
    {"role": "assistant", "content": TALE},
    {"role": "user", "content": "Go on."},
]


def tokens(**context: Any) -> int:
    return client.responses.input_tokens.count(model="demo", **context).input_tokens


print("As it is:", tokens(input=TALK), "tokens")

# 1. When you say so: the output is the next request's input.
short = client.responses.compact(model="demo", input=TALK)
kept = [item.model_dump(exclude_unset=True, warnings=False) for item in short.output]
print("Compacted:", tokens(input=kept), "tokens in", [item["type"] for item in kept])

# 2. When it gets long: the response brings the compaction along.
long = client.responses.create(
    model="demo", input=TALK, context_management=[{"type": "compaction", "compact_threshold": 1000}]
)
print("By itself:", [item.type for item in long.output])

# 3. As the last item of an input: nothing but the compaction is made.
told = client.responses.create(model="demo", input=[*TALK, {"type": "compaction_trigger"}])
print("On a trigger:", [item.type for item in told.output])
print("What follows:", tokens(input="And then?", previous_response_id=told.id), "tokens")
