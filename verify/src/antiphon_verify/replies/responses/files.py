"""Files."""

from typing import Any

from antiphon_verify.replies import Reply, error, states

CONTENT = b"one\r\n--two\r\n\0\xff"
"""Bytes that a careless form parser would cut or change."""

NAME = "notes \u00e9.txt"


FILE: dict[str, Any] = {
    "id": "file-1",
    "object": "file",
    "bytes": len(CONTENT),
    "created_at": 1_790_000_000,
    "expires_at": None,
    "filename": NAME,
    "purpose": "user_data",
    "status": "processed",
    "status_details": None,
}

UPLOADED = states(FILE)

DOWNLOADED = Reply(200, CONTENT, {"content-type": "application/octet-stream"})

DELETED = states({"id": "file-1", "object": "file", "deleted": True})

NOT_FOUND = error("No such File object: file-1", 404, param="id")

LIFE = [UPLOADED, UPLOADED, DOWNLOADED, DELETED, NOT_FOUND]

EVALS = UPLOADED.patched("purpose", to="evals")

EXPIRING = UPLOADED.patched("expires_at", to=1_790_003_600)


def page(*ids: str, has_more: bool = False) -> Reply:
    """Return a page of files with these ids."""
    data = [FILE | {"id": one, "purpose": "evals"} for one in ids]
    return states({"object": "list", "data": data, "has_more": has_more})


LISTS = [
    *(EVALS, EVALS.patched("id", to="file-2"), page("file-2", "file-1")),
    *(page("file-2", has_more=True), page("file-1"), DELETED, DELETED),
]
