"""Ask questions about files, with a running server (`make serve`). Any model can read their text."""

from base64 import b64encode

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

TABLE = b"meal,hour\nbreakfast,8\ntea,16\n"

first = client.responses.create(
    model="demo",
    input=[
        {
            "role": "user",
            "content": [
                {
                    "type": "input_file",
                    "filename": "meals.csv",
                    "file_data": f"data:text/csv;base64,{b64encode(TABLE).decode()}",
                },
                {"type": "input_text", "text": "When is tea?"},
            ],
        }
    ],
)
print(first.output_text)

# The file is part of the conversation, so later requests do not send it again.
then = client.responses.create(model="demo", input="And breakfast?", previous_response_id=first.id)
print(then.output_text)

# Upload a file once if many requests use it.
stored = client.files.create(file=("meals.csv", TABLE), purpose="user_data")
again = client.responses.create(
    model="demo",
    input=[{"role": "user", "content": [{"type": "input_file", "file_id": stored.id}]}],
)
print(again.output_text)
