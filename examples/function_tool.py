"""Let the model call a function of your program, then send it the result."""

import json

from openai import OpenAI
from openai.types.responses import FunctionToolParam

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")


def tide_at(place: str) -> str:
    return f"High water in {place} is at 14:05."


TIDE: FunctionToolParam = {
    "type": "function",
    "name": "tide_at",
    "description": "Return the time of high water.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    "strict": None,
}

# A real model decides when to call the function. The scripted model demo calls it because of the second line.
question = 'When is high water in Dover?\ncall tide_at {"place": "Dover"}'
first = client.responses.create(model="demo", input=question, tools=[TIDE])
call = next(item for item in first.output if item.type == "function_call")
print("The model calls", call.name, "with", call.arguments)

second = client.responses.create(
    model="demo",
    previous_response_id=first.id,
    input=[{"type": "function_call_output", "call_id": call.call_id, "output": tide_at(**json.loads(call.arguments))}],
    tools=[TIDE],
)
print(second.output_text)
