"""Upload a file, search it, and handle errors by their class, without a server."""

from antiphon import Antiphon, NotFoundError

with Antiphon() as client:
    store = client.vector_stores.create(name="tides")
    client.vector_stores.files.upload_and_poll(
        vector_store_id=store.id, file=("dover.txt", b"High tide in Dover is at 14:05.")
    )
    for found in client.vector_stores.search(store.id, query="high tide", timeout=30):
        print(found.filename, found.content[0].text)
    try:
        client.files.retrieve("file-none")
    except NotFoundError as error:
        print(error.status_code, error.message)
