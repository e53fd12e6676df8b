"""Continue a conversation: the second request sends only the new message and the id of the first response."""

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

first = client.responses.create(model="demo", input="My name is Ada.")
second = client.responses.create(model="demo", input="What is my name?", previous_response_id=first.id)
print(second.output_text)
