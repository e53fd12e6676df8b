"""Uploads in parts."""

from typing import Any

from antiphon_verify.replies import Reply, error, states
from antiphon_verify.replies.responses.files import DELETED, FILE

PARTS = b"first ", b"second"

WHOLE = b"".join(PARTS)


UPLOAD: dict[str, Any] = {
    "id": "upload_1",
    "object": "upload",
    "bytes": len(WHOLE),
    "created_at": 1_790_000_000,
    "expires_at": 1_790_003_600,
    "filename": "notes.txt",
    "purpose": "user_data",
    "status": "pending",
    "file": None,
}

CREATED = states(UPLOAD)

ADDED = [
    states({"id": f"part_{n}", "object": "upload.part", "created_at": 1, "upload_id": "upload_1"})
    for n in (2, 1)
]

REJECTED = error("The parts have 6 bytes together.", param="part_ids")

DONE = states(UPLOAD | {"status": "completed", "file": FILE | {"bytes": len(WHOLE)}})

CONTENT = Reply(200, WHOLE)

LIFE = [CREATED, *ADDED, REJECTED, REJECTED, DONE, CONTENT, DELETED]

NOT_FOUND = error("No such Upload object: upload_0", 404, param="upload_id")

CANCELLED = CREATED.patched("status", to="cancelled")
