"""Offer tools of several types, with a running server (`make serve`). Each call has the form of its type."""

from openai import OpenAI
from openai.types.responses import ToolParam

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

PLACE: ToolParam = {
    "type": "custom",
    "name": "note_place",
    "description": "Note a place.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: /[A-Z][a-z]+/"},
}
TIDES: ToolParam = {
    "type": "namespace",
    "name": "tides",
    "description": "Tables of the tide.",
    "tools": [{"type": "function", "name": "high_at", "parameters": {"properties": {"place": {"type": "string"}}}}],
}
TOOLS: list[ToolParam] = [
    PLACE,
    TIDES,
    {"type": "shell", "environment": {"type": "local"}},
    {"type": "image_generation"},
]

# A real model decides what to call. The scripted model demo makes the calls that its input spells out.
CALLS = ('note_place {"input": "Dover"}', 'tides__high_at {"place": "Dover"}', 'shell {"commands": ["date"]}')

for call in CALLS:
    reply = client.responses.with_raw_response.create(model="demo", input=f"call {call}", tools=TOOLS)
    for item in reply.parse().output:
        if item.type == "custom_tool_call":
            print("custom", item.name, item.input)
        elif item.type == "function_call":
            print("function", item.namespace, item.name, item.arguments)
        elif item.type == "shell_call":
            print("shell", item.action.commands)
print("Not offered to the model:", reply.headers.get("antiphon-ignored-tools", "nothing"))
