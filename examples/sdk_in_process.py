"""The `openai` package in one process with Antiphon: no server, no port."""

from openai import OpenAI

import antiphon

# `backend="http://127.0.0.1:11434/v1"` names your own; without one it is the scripted model demo.
with OpenAI(api_key="none", http_client=antiphon.http_client()) as client:
    first = client.responses.create(model="demo", input="My name is Ada.")
    with client.responses.stream(model="demo", input="What is my name?", previous_response_id=first.id) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                print(event.delta, end="", flush=True)
print()
