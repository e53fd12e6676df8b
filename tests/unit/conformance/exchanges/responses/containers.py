"""Containers and their files."""

from typing import Any

from antiphon_verify.areas.responses import containers
from antiphon_verify.areas.responses.files import CONTENT
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown
from tests.unit.conformance.exchanges.responses.files import DELETED, MADE, instead

CONTAINER: dict[str, Any] = {
    "id": "cntr_1",
    "object": "container",
    "created_at": 1_790_000_000,
    "last_active_at": 1_790_000_000,
    "status": "running",
    "name": containers.NAME,
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

CREATED = says(CONTAINER)
REMOVED = says({"id": "cntr_1", "object": "container.deleted", "deleted": True})
UNKNOWN = error("Container not found.", 404)
INVALID = error("Invalid request.")
LIFE = [CREATED, CREATED, REMOVED, UNKNOWN]

SHORT = CREATED.patched("expires_after", "minutes", to=5)

ADDED = says(FILE)
BYTES = Answer(200, CONTENT, {"content-type": "application/octet-stream"})
FILE_REMOVED = says({"id": "cfile_1", "object": "container.file.deleted", "deleted": True})
FILE_LIFE = [CREATED, ADDED, ADDED, BYTES, FILE_REMOVED, error("Container file not found.", 404), REMOVED]


def page(item: dict[str, Any], *ids: str, has_more: bool = False, **fields: Any) -> Answer:
    return says({"object": "list", "data": [item | {"id": one} | fields for one in ids], "has_more": has_more})


LIST_NAME = f"{containers.NAME} list"
SECOND = CREATED.patched("id", to="cntr_2")
LISTS = [
    *(CREATED, SECOND, page(CONTAINER, "cntr_2", "cntr_0", "cntr_1"), page(CONTAINER, "cntr_2", name=LIST_NAME)),
    *(page(CONTAINER, "cntr_2", has_more=True), page(CONTAINER, "cntr_1"), REMOVED, REMOVED),
]
FILE_LISTS = [
    *(MADE, CREATED, ADDED, ADDED.patched("id", to="cfile_2"), page(FILE, "cfile_2", "cfile_1")),
    *(page(FILE, "cfile_1", has_more=True), page(FILE, "cfile_2"), REMOVED, DELETED),
]
OPTIONS = [MADE, SHORT, page(FILE, "cfile_1"), REMOVED, DELETED]
UNKNOWNS = [CREATED, UNKNOWN, ADDED, error("Container file not found.", 404), INVALID, REMOVED]
BAD = [INVALID, INVALID]

EXCHANGES: dict[str, Shown] = {
    **shown(
        containers.a_container_lives,
        LIFE,
        {
            "responses:containers:created": instead(LIFE, 0, CREATED.patched("status", to="starting")),
            "responses:containers:object": instead(LIFE, 0, CREATED.patched("id", to="box_1")),
            "responses:containers:defaults": instead(LIFE, 0, CREATED.without("memory_limit")),
            "responses:containers:retrieved": instead(LIFE, 1, CREATED.patched("id", to="cntr_2")),
            "responses:containers:deleted-body": instead(LIFE, 2, REMOVED.without("deleted")),
            "responses:containers:deleted": instead(LIFE, 3, CREATED),
        },
    ),
    **shown(
        containers.a_container_is_created_with_options,
        OPTIONS,
        {
            "responses:containers:expires-after": instead(OPTIONS, 1, CREATED),
            "responses:containers:file-ids": instead(OPTIONS, 2, page(FILE)),
        },
    ),
    **shown(
        containers.containers_are_listed,
        LISTS,
        {
            "responses:containers:listed": instead(LISTS, 2, page(CONTAINER, "cntr_1", "cntr_2")),
            "responses:containers:named": instead(LISTS, 3, page(CONTAINER, "cntr_2", "cntr_0")),
            "responses:containers:paged": instead(LISTS, 5, page(CONTAINER, "cntr_2", "cntr_1")),
        },
    ),
    **shown(
        containers.a_file_of_a_container_lives,
        FILE_LIFE,
        {
            "responses:containers:file-uploaded": instead(FILE_LIFE, 1, ADDED.patched("object", to="file")),
            "responses:containers:file-object": instead(FILE_LIFE, 1, ADDED.patched("bytes", to=1)),
            "responses:containers:file-path": instead(FILE_LIFE, 1, ADDED.patched("path", to="/tmp/notes")),
            "responses:containers:file-retrieved": instead(FILE_LIFE, 2, ADDED.without("path")),
            "responses:containers:file-content": instead(FILE_LIFE, 3, Answer(200, CONTENT[:4])),
            "responses:containers:file-deleted": instead(FILE_LIFE, 5, ADDED),
        },
    ),
    **shown(
        containers.files_of_a_container_are_listed,
        FILE_LISTS,
        {
            "responses:containers:file-attached": instead(FILE_LISTS, 2, ADDED.patched("bytes", to=0)),
            "responses:containers:file-listed": instead(FILE_LISTS, 4, page(FILE, "cfile_1")),
            "responses:containers:file-paged": instead(FILE_LISTS, 6, page(FILE, "cfile_1", "cfile_2")),
        },
    ),
    **shown(
        containers.unknown_containers_and_files_are_rejected,
        UNKNOWNS,
        {
            "responses:containers:unknown": instead(UNKNOWNS, 1, CREATED),
            "responses:containers:unknown-file": instead(UNKNOWNS, 3, INVALID),
            "responses:containers:no-file": instead(UNKNOWNS, 4, ADDED),
        },
    ),
    **shown(
        containers.bad_containers_are_rejected,
        BAD,
        {
            "responses:containers:no-name": instead(BAD, 0, CREATED),
            "responses:containers:memory-limit": instead(BAD, 1, CREATED),
        },
    ),
}
