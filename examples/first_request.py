"""Send a request and print the answer."""

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

response = client.responses.create(model="demo", input="Hello!")
print(response.output_text)
