"""Ask a question about the files of a folder: `python file_search.py FOLDER "When is …?"`."""

import sys
from pathlib import Path

from openai import OpenAI

folder, question = sys.argv[1:]
client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")
store = client.vector_stores.create(name="documents")
files = [path for path in Path(folder).iterdir() if path.is_file()]
batch = client.vector_stores.file_batches.upload_and_poll(store.id, files=files)
print("Vector store", store.id, batch.file_counts.to_dict())

response = client.responses.create(
    model="demo", input=question, tools=[{"type": "file_search", "vector_store_ids": [store.id]}]
)
print(response.output_text)
for item in response.output:
    for part in item.content if item.type == "message" else ():
        if part.type == "output_text":
            print("Cited:", *(cited.filename for cited in part.annotations if cited.type == "file_citation"))
