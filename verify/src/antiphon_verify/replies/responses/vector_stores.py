"""Vector stores."""

from typing import Any

from antiphon_verify.replies import Reply, error, states

TEXT = b"The lighthouse of Brest was built in 1687.\n"

PLANTED = {0: "The quetzal sleeps.", 749: "The theremin hums.", 1499: "The axolotl waits."}
"""Sentences in the first, the middle and the last row of a long file, by the number of the row."""


COUNTS = {"in_progress": 0, "completed": 0, "failed": 0, "cancelled": 0, "total": 0}

STORE: dict[str, Any] = {
    "id": "vs_1",
    "object": "vector_store",
    "name": "antiphon verify",
    "status": "completed",
    "usage_bytes": 0,
    "file_counts": COUNTS,
    "metadata": {},
}

CREATED = states(STORE)

CHANGED = CREATED.patched("name", to="other").patched("metadata", to={"b": "2"})

DELETED = states({"id": "vs_1", "object": "vector_store.deleted", "deleted": True})

NOT_FOUND = error("No vector store found with id 'vs_1'.", 404)

LIFE = [CREATED, CREATED, CHANGED, DELETED, NOT_FOUND]


def page(*ids: str) -> Reply:
    """Return a page of vector stores with these ids."""
    data = [STORE | {"id": one} for one in ids]
    first, last = (ids[0], ids[-1]) if ids else (None, None)
    return states(
        {"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": False}
    )


LISTS = [
    *(CREATED.patched("id", to=f"vs_{number}") for number in range(3)),
    *(page("vs_2", "vs_1", "vs_0"), page("vs_1", "vs_0"), page("vs_2", "vs_1")),
]

FILE = states({"id": "file-1", "object": "file"})

BAD = states({"id": "file-2", "object": "file"})

STATIC = {"type": "static", "static": {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400}}

ENTRY = states(
    {
        "id": "file-1",
        "object": "vector_store.file",
        "vector_store_id": "vs_1",
        "status": "in_progress",
        "last_error": None,
        "chunking_strategy": STATIC,
    }
)

DONE = ENTRY.patched("status", to="completed")

WHOLE = CREATED.patched("file_counts", to=COUNTS | {"completed": 1, "total": 1}).patched(
    "usage_bytes", to=43
)

PARTS = [{"type": "text", "text": TEXT.decode()}]

HIT = {
    "file_id": "file-1",
    "filename": "lighthouse.txt",
    "score": 0.5,
    "attributes": {},
    "content": PARTS,
}

HITS = states(
    {
        "object": "vector_store.search_results.page",
        "search_query": ["x"],
        "data": [HIT],
        "has_more": False,
    }
)

NONE = HITS.patched("data", to=[])

CONTENT = states(
    {
        "object": "vector_store.file_content.page",
        "data": PARTS,
        "has_more": False,
        "next_page": None,
    }
)

DETACHED = states({"id": "file-1", "object": "vector_store.file.deleted", "deleted": True})

ATTACHED = [CREATED, FILE, ENTRY, ENTRY, DONE, WHOLE, HITS, NONE, CONTENT, DETACHED, NONE, FILE]

BATCH = states(
    {
        "id": "vsfb_1",
        "object": "vector_store.files_batch",
        "vector_store_id": "vs_1",
        "status": "in_progress",
        "file_counts": COUNTS | {"in_progress": 2, "total": 2},
    }
)

ENDED = BATCH.patched("status", to="completed").patched(
    "file_counts", to=COUNTS | {"completed": 1, "failed": 1, "total": 2}
)

FAILED = ENTRY.patched("id", to="file-2").patched("status", to="failed")

UNREADABLE = FAILED.patched(
    "last_error", to={"code": "invalid_file", "message": "The PDF is damaged."}
)

BATCHED = [CREATED, FILE, BAD, BATCH, ENDED, page("file-1", "file-2"), UNREADABLE]

LONG = [HITS.patched("data", 0, "content", 0, "text", to=f"7,{text}") for text in PLANTED.values()]

REASON = DONE.patched("status", to="failed").patched(
    "last_error", to={"code": "invalid_file", "message": "Too long."}
)

FOUND = [CREATED, FILE, ENTRY, ENTRY, DONE, *LONG]

WHOLLY = [*FOUND, *FOUND[:4], REASON]

CUT = [*FOUND[:4], REASON, *FOUND[:-1], NONE]

WRONG = [
    CREATED,
    NOT_FOUND,
    FILE,
    error("No such File object.", 404),
    error("Invalid type for 'attributes.tags'."),
]
