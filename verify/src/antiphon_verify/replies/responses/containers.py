"""Containers and their files."""

from typing import Any

from antiphon_verify.replies import Reply, error, states
from antiphon_verify.replies.responses.files import CONTENT, DELETED, UPLOADED

NAME = "antiphon verify"


CONTAINER: dict[str, Any] = {
    "id": "cntr_1",
    "object": "container",
    "created_at": 1_790_000_000,
    "last_active_at": 1_790_000_000,
    "status": "running",
    "name": NAME,
    "expires_after": {"anchor": "last_active_at", "minutes": 20},
    "memory_limit": "1g",
}
FILE: dict[str, Any] = {
    "id": "cfile_1",
    "object": "container.file",
    "created_at": 1_790_000_000,
    "bytes": len(CONTENT),
    "container_id": "cntr_1",
    "path": "/mnt/data/0123-notes é.txt",
    "source": "user",
}

CREATED = states(CONTAINER)
REMOVED = states({"id": "cntr_1", "object": "container.deleted", "deleted": True})
UNKNOWN = error("Container not found.", 404)
INVALID = error("Invalid request.")
LIFE = [CREATED, CREATED, REMOVED, UNKNOWN]

SHORT = CREATED.patched("expires_after", "minutes", to=5)

ADDED = states(FILE)
BYTES = Reply(200, CONTENT, {"content-type": "application/octet-stream"})
FILE_REMOVED = states({"id": "cfile_1", "object": "container.file.deleted", "deleted": True})
FILE_LIFE = [
    CREATED,
    ADDED,
    ADDED,
    BYTES,
    FILE_REMOVED,
    error("Container file not found.", 404),
    REMOVED,
]


def page(item: dict[str, Any], *ids: str, has_more: bool = False, **fields: Any) -> Reply:
    """Return a page of copies of an item, with these ids."""
    return states(
        {
            "object": "list",
            "data": [item | {"id": one} | fields for one in ids],
            "has_more": has_more,
        }
    )


LIST_NAME = f"{NAME} list"
SECOND = CREATED.patched("id", to="cntr_2")
LISTS = [
    *(
        CREATED,
        SECOND,
        page(CONTAINER, "cntr_2", "cntr_0", "cntr_1"),
        page(CONTAINER, "cntr_2", name=LIST_NAME),
    ),
    *(page(CONTAINER, "cntr_2", has_more=True), page(CONTAINER, "cntr_1"), REMOVED, REMOVED),
]
FILE_LISTS = [
    *(
        UPLOADED,
        CREATED,
        ADDED,
        ADDED.patched("id", to="cfile_2"),
        page(FILE, "cfile_2", "cfile_1"),
    ),
    *(page(FILE, "cfile_1", has_more=True), page(FILE, "cfile_2"), REMOVED, DELETED),
]
OPTIONS = [UPLOADED, SHORT, page(FILE, "cfile_1"), REMOVED, DELETED]
UNKNOWNS = [CREATED, UNKNOWN, ADDED, error("Container file not found.", 404), INVALID, REMOVED]
BAD = [INVALID, INVALID]
