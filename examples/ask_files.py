"""Upload a file, let the model search it, and print the answer with its source."""

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

store = client.vector_stores.create(name="tides")
client.vector_stores.files.upload_and_poll(
    vector_store_id=store.id, file=("tides.md", b"High water in Brest is at nine.")
)

response = client.responses.create(
    model="demo",
    input="When is high water in Brest?",
    tools=[{"type": "file_search", "vector_store_ids": [store.id]}],
)
print(response.output_text)
for item in response.output:
    for part in item.content if item.type == "message" else ():
        if part.type == "output_text":
            print("Source:", *(source.filename for source in part.annotations if source.type == "file_citation"))
