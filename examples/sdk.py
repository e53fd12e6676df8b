"""Use the `openai` package with a running server (`make serve`)."""

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

first = client.responses.create(model="demo", input="My name is Ada.")
print(first.output_text)

with client.responses.stream(model="demo", input="What is my name?", previous_response_id=first.id) as stream:
    for event in stream:
        if event.type == "response.output_text.delta":
            print(event.delta, end="", flush=True)
print()
