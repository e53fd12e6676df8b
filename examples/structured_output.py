"""Get an answer as an object with a fixed structure."""

from openai import OpenAI
from pydantic import BaseModel

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")


class Tide(BaseModel):
    place: str
    time: str


# A real model needs only the first line. The scripted model demo writes the JSON of the second one.
text = 'High water in Dover is at 14:05.\nanswer {"place": "Dover", "time": "14:05"}'
response = client.responses.parse(model="demo", input=text, text_format=Tide)
print(response.output_parsed)
