"""The description of vector stores in `/openapi.json`."""

from collections.abc import Sequence

from antiphon.protocol.vector_stores import (
    AttachFile,
    CreateFileBatch,
    CreateVectorStore,
    SearchVectorStore,
    StoreFilesQuery,
    UpdateStoreFile,
    UpdateVectorStore,
    VectorStoresQuery,
)
from antiphon.server.resources.openapi_console import Described

ONE = "/v1/vector_stores/{vector_store_id}"
FILE = f"{ONE}/files/{{file_id}}"
BATCH = f"{ONE}/file_batches/{{batch_id}}"

VECTOR_STORES: Sequence[Described] = (
    Described("post", "/v1/vector_stores", "Create a vector store", CreateVectorStore),
    Described("get", "/v1/vector_stores", "List vector stores", query=VectorStoresQuery),
    Described("get", ONE, "Get a vector store"),
    Described("post", ONE, "Update a vector store", UpdateVectorStore),
    Described("delete", ONE, "Delete a vector store"),
    Described("post", f"{ONE}/search", "Search a vector store", SearchVectorStore),
    Described("post", f"{ONE}/reindex", "Ingest all files of a vector store again"),
    Described("post", f"{ONE}/files", "Attach a file", AttachFile),
    Described("get", f"{ONE}/files", "List the files of a vector store", query=StoreFilesQuery),
    Described("get", FILE, "Get a file in a vector store"),
    Described("post", FILE, "Replace its attributes", UpdateStoreFile),
    Described("delete", FILE, "Remove a file from a vector store"),
    Described("get", f"{FILE}/content", "Get its text"),
    Described("post", f"{ONE}/file_batches", "Attach files together", CreateFileBatch),
    Described("get", BATCH, "Get a batch"),
    Described("post", f"{BATCH}/cancel", "Cancel a batch"),
    Described("get", f"{BATCH}/files", "List the files of a batch", query=StoreFilesQuery),
)
"""Every endpoint of vector stores."""
