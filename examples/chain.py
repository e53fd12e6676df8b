"""Continue a response after a tool call: each request sends only the new items, the server has the others."""

import json

from openai import OpenAI
from openai.types.responses import FunctionToolParam

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

TIDE: FunctionToolParam = {
    "type": "function",
    "name": "tide_at",
    "description": "Return when the tide is high.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    "strict": None,
}

# A real model decides what to call. The scripted model demo makes the calls that its input spells out.
question = 'When is the tide high in Dover?\ncall tide_at {"place": "Dover"}'
requested = client.responses.create(model="demo", input=question, tools=[TIDE])
call = next(item for item in requested.output if item.type == "function_call")
print("The model calls", call.name, "with", json.loads(call.arguments))

answered = client.responses.create(
    model="demo",
    previous_response_id=requested.id,
    input=[{"type": "function_call_output", "call_id": call.call_id, "output": "At 14:05."}],
    tools=[TIDE],  # tools and instructions are not inherited
)
print(answered.output_text)

used = client.responses.input_items.list(answered.id, order="asc")
print("The input of the answer:", ", ".join(item.type for item in used))
