"""Resume the stream of a background response after the connection is lost, with a running server (`make serve`)."""

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

last, response_id = -1, ""
with client.responses.create(model="demo", input="Write a story.", background=True, stream=True) as stream:
    for event in stream:
        if event.type == "response.created":
            response_id = event.response.id
            print(event.response.status)
        last = event.sequence_number
        if event.type == "response.output_text.delta":
            print(event.delta, end="")
            break  # the connection is lost here

with client.responses.stream(response_id=response_id, starting_after=last) as again:
    for event in again:
        if event.type == "response.output_text.delta":
            print(event.delta, end="")
    final = again.get_final_response()

print(f"\n{final.status}; retrieved: {client.responses.retrieve(response_id).status}")
