"""Start a background response, then retrieve it until it is done. It completes even if this program ends."""

import time

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

response = client.responses.create(model="demo", input="Write a story.", background=True)
print(response.status)

while response.status in ("queued", "in_progress"):
    time.sleep(0.5)
    response = client.responses.retrieve(response.id)
print(response.status)
print(response.output_text)
