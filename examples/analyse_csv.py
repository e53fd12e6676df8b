"""Let a model analyse a CSV file with code: `python analyse_csv.py sales.csv "Draw the sales by month."`."""

import sys
from pathlib import Path

from openai import OpenAI

path, task = sys.argv[1:]
client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")
table = client.files.create(file=Path(path), purpose="user_data")

response = client.responses.create(
    model="demo",
    input=task,
    tools=[{"type": "code_interpreter", "container": {"type": "auto", "file_ids": [table.id]}}],
)
print(response.output_text)
texts = [part for item in response.output if item.type == "message" for part in item.content]
for cited in [one for part in texts if part.type == "output_text" for one in part.annotations]:
    if cited.type == "container_file_citation":
        file = client.containers.files.content.retrieve(cited.file_id, container_id=cited.container_id)
        Path(path).with_name(Path(cited.filename).name).write_bytes(file.content)
        print("Saved", cited.filename)
