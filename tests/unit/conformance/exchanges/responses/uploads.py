"""Uploads in parts."""

from typing import Any

from antiphon_verify.areas.responses import uploads
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled
from tests.unit.conformance.exchanges.responses.files import DELETED, FILE, instead

UPLOAD: dict[str, Any] = {
    "id": "upload_1",
    "object": "upload",
    "bytes": len(uploads.WHOLE),
    "created_at": 1_790_000_000,
    "expires_at": 1_790_003_600,
    "filename": "notes.txt",
    "purpose": "user_data",
    "status": "pending",
    "file": None,
}

MADE = says(UPLOAD)

PARTS = [says({"id": f"part_{n}", "object": "upload.part", "created_at": 1, "upload_id": "upload_1"}) for n in (2, 1)]

REFUSED = error("The parts have 6 bytes together.", param="part_ids")

DONE = says(UPLOAD | {"status": "completed", "file": FILE | {"bytes": len(uploads.WHOLE)}})

CONTENT = Answer(200, uploads.WHOLE)

LIFE = [MADE, *PARTS, REFUSED, REFUSED, DONE, CONTENT, DELETED]

GONE = error("No such Upload object: upload_0", 404, param="upload_id")

CANCELLED = MADE.patched("status", to="cancelled")

EXCHANGES: dict[str, Shown] = {
    **shown(
        uploads.an_upload_becomes_a_file,
        LIFE,
        {
            "responses:uploads:created": instead(LIFE, 0, MADE.without("status")),
            "responses:uploads:part": instead(LIFE, 1, PARTS[0].without("upload_id")),
            "responses:uploads:short": instead(LIFE, 3, DONE),
            "responses:uploads:md5": instead(LIFE, 4, DONE),
            "responses:uploads:completed": instead(LIFE, 5, DONE.patched("status", to="pending")),
            "responses:uploads:joined": instead(LIFE, 6, Answer(200, b"secondfirst ")),
        },
    ),
    **spoiled(
        uploads.an_upload_is_cancelled,
        [MADE, CANCELLED, error("It was cancelled.")],
        [MADE, CANCELLED, PARTS[0]],
    ),
    **spoiled(uploads.an_unknown_upload_is_not_found, [MADE, GONE], [MADE, MADE]),
}
