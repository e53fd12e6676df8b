"""Vector stores."""

from typing import Any

from antiphon_verify.areas.responses import vector_stores
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown

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

MADE = says(STORE)

CHANGED = MADE.patched("name", to="other").patched("metadata", to={"b": "2"})

DELETED = says({"id": "vs_1", "object": "vector_store.deleted", "deleted": True})

GONE = error("No vector store found with id 'vs_1'.", 404)

LIFE = [MADE, MADE, CHANGED, DELETED, GONE]


def page(*ids: str) -> Answer:
    data = [STORE | {"id": one} for one in ids]
    first, last = (ids[0], ids[-1]) if ids else (None, None)
    return says({"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": False})


LISTS = [
    *(MADE.patched("id", to=f"vs_{number}") for number in range(3)),
    *(page("vs_2", "vs_1", "vs_0"), page("vs_1", "vs_0"), page("vs_2", "vs_1")),
]

FILE = says({"id": "file-1", "object": "file"})

BAD = says({"id": "file-2", "object": "file"})

STATIC = {"type": "static", "static": {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400}}

ENTRY = says(
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

WHOLE = MADE.patched("file_counts", to=COUNTS | {"completed": 1, "total": 1}).patched("usage_bytes", to=43)

TEXT = [{"type": "text", "text": vector_stores.TEXT.decode()}]

HIT = {"file_id": "file-1", "filename": "lighthouse.txt", "score": 0.5, "attributes": {}, "content": TEXT}

HITS = says({"object": "vector_store.search_results.page", "search_query": ["x"], "data": [HIT], "has_more": False})

NONE = HITS.patched("data", to=[])

CONTENT = says({"object": "vector_store.file_content.page", "data": TEXT, "has_more": False, "next_page": None})

DETACHED = says({"id": "file-1", "object": "vector_store.file.deleted", "deleted": True})

ATTACHED = [MADE, FILE, ENTRY, ENTRY, DONE, WHOLE, HITS, NONE, CONTENT, DETACHED, NONE, FILE]

BATCH = says(
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

UNREADABLE = FAILED.patched("last_error", to={"code": "invalid_file", "message": "The PDF is damaged."})

BATCHED = [MADE, FILE, BAD, BATCH, ENDED, page("file-1", "file-2"), UNREADABLE]

LONG = [HITS.patched("data", 0, "content", 0, "text", to=f"7,{text}") for text in vector_stores.PLANTED.values()]

REASON = DONE.patched("status", to="failed").patched("last_error", to={"code": "invalid_file", "message": "Too long."})

FOUND = [MADE, FILE, ENTRY, ENTRY, DONE, *LONG]

WHOLLY = [*FOUND, *FOUND[:4], REASON]

CUT = [*FOUND[:4], REASON, *FOUND[:-1], NONE]

WRONG = [MADE, GONE, FILE, error("No such File object.", 404), error("Invalid type for 'attributes.tags'.")]


def instead(script: list[Answer], place: int, answer: Answer) -> list[Answer]:
    """The script with another answer at a place."""
    return [*script[:place], answer, *script[place + 1 :]]


EXCHANGES: dict[str, Shown] = {
    **shown(
        vector_stores.a_store_lives,
        LIFE,
        {
            "responses:vector-stores:made": instead(LIFE, 0, MADE.patched("status", to="in_progress")),
            "responses:vector-stores:retrieved": instead(LIFE, 1, MADE.patched("id", to="vs_2")),
            "responses:vector-stores:changed": instead(LIFE, 2, MADE),
            "responses:vector-stores:deleted-body": instead(LIFE, 3, says({})),
            "responses:vector-stores:deleted": instead(LIFE, 4, MADE),
        },
    ),
    **shown(
        vector_stores.stores_are_listed,
        LISTS,
        {
            "responses:vector-stores:listed": instead(LISTS, 3, page("vs_0", "vs_1", "vs_2")),
            "responses:vector-stores:paged": instead(LISTS, 5, page("vs_2")),
        },
    ),
    **shown(
        vector_stores.a_file_is_attached,
        ATTACHED,
        {
            "responses:vector-stores:attached": instead(ATTACHED, 4, FAILED),
            "responses:vector-stores:chunking": instead(
                ATTACHED, 4, DONE.patched("chunking_strategy", to={"type": "auto"})
            ),
            "responses:vector-stores:counted": instead(ATTACHED, 5, MADE),
            "responses:vector-stores:searched": instead(ATTACHED, 6, HITS.patched("data", 0, "score", to=3)),
            "responses:vector-stores:filtered": instead(ATTACHED, 7, HITS),
            "responses:vector-stores:content": instead(ATTACHED, 8, CONTENT.patched("data", to=[])),
            "responses:vector-stores:detached": instead(ATTACHED, 10, HITS),
        },
    ),
    **shown(
        vector_stores.a_long_file_is_found_whole,
        WHOLLY,
        {"responses:vector-stores:whole": CUT},
    ),
    **shown(
        vector_stores.a_batch_is_attached,
        BATCHED,
        {
            "responses:vector-stores:batch": instead(BATCHED, 5, page("file-1")),
            "responses:vector-stores:failed": instead(BATCHED, 6, FAILED),
        },
    ),
    **shown(
        vector_stores.what_is_wrong_is_refused,
        WRONG,
        {
            "responses:vector-stores:unknown": instead(WRONG, 1, MADE),
            "responses:vector-stores:unknown-file": instead(WRONG, 3, ENTRY),
            "responses:vector-stores:bad-attributes": instead(WRONG, 4, ENTRY),
        },
    ),
}
