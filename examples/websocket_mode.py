"""Use WebSocket mode with the official client. The server stores nothing, and the connection has the history."""

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

previous: str | None = None
with client.responses.connect() as connection:
    for words in ("My name is Ada.", "What is my name?"):
        connection.response.create(model="demo", input=words, store=False, previous_response_id=previous)
        for event in connection:
            if event.type == "response.output_text.delta":
                print(event.delta, end="")
            elif event.type == "response.completed":
                previous = event.response.id
                print(f" ({event.response.usage.input_tokens if event.response.usage else 0} tokens read)")
                break
            elif event.type == "error":
                raise SystemExit(event.error.message)
