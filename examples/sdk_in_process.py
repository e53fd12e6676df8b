"""Run the `openai` package and Antiphon in one process, without a server."""

from openai import OpenAI

import antiphon

# To use your own model, pass `backend="http://127.0.0.1:11434/v1"`. Without a backend, the model is demo.
with OpenAI(api_key="none", http_client=antiphon.http_client()) as client:
    first = client.responses.create(model="demo", input="My name is Ada.")
    with client.responses.stream(model="demo", input="What is my name?", previous_response_id=first.id) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                print(event.delta, end="", flush=True)
print()
