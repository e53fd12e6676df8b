"""Files."""

from typing import Any

from antiphon_verify.areas.responses import files
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled

FILE: dict[str, Any] = {
    "id": "file-1",
    "object": "file",
    "bytes": len(files.CONTENT),
    "created_at": 1_790_000_000,
    "expires_at": None,
    "filename": files.NAME,
    "purpose": "user_data",
    "status": "processed",
    "status_details": None,
}

MADE = says(FILE)

CONTENT = Answer(200, files.CONTENT, {"content-type": "application/octet-stream"})

DELETED = says({"id": "file-1", "object": "file", "deleted": True})

GONE = error("No such File object: file-1", 404, param="id")

LIFE = [MADE, MADE, CONTENT, DELETED, GONE]

EVALS = MADE.patched("purpose", to="evals")

EXPIRING = MADE.patched("expires_at", to=1_790_003_600)


def page(*ids: str, has_more: bool = False) -> Answer:
    data = [FILE | {"id": one, "purpose": "evals"} for one in ids]
    return says({"object": "list", "data": data, "has_more": has_more})


LISTS = [
    *(EVALS, EVALS.patched("id", to="file-2"), page("file-2", "file-1")),
    *(page("file-2", has_more=True), page("file-1"), DELETED, DELETED),
]


def instead(script: list[Answer], place: int, answer: Answer) -> list[Answer]:
    """The script with another answer at a place."""
    return [*script[:place], answer, *script[place + 1 :]]


EXCHANGES: dict[str, Shown] = {
    **shown(
        files.a_file_lives,
        LIFE,
        {
            "responses:files:created": instead(LIFE, 0, MADE.without("id")),
            "responses:files:object": instead(LIFE, 0, MADE.patched("bytes", to=1)),
            "responses:files:status": instead(LIFE, 0, MADE.patched("status", to="uploaded")),
            "responses:files:retrieved": instead(LIFE, 1, MADE.patched("id", to="file-2")),
            "responses:files:content": instead(LIFE, 2, Answer(200, files.CONTENT[:4])),
            "responses:files:deleted-body": instead(LIFE, 3, says({})),
            "responses:files:deleted": instead(LIFE, 4, MADE),
        },
    ),
    **shown(
        files.files_are_listed,
        LISTS,
        {
            "responses:files:listed": instead(LISTS, 2, MADE),
            "responses:files:paged": instead(LISTS, 4, page("file-2")),
        },
    ),
    **spoiled(files.a_file_expires, [EXPIRING, DELETED], [MADE, DELETED]),
    **spoiled(files.an_unknown_file_is_not_found, [MADE, GONE, DELETED], [MADE, MADE, DELETED]),
    **spoiled(files.a_form_without_a_file_is_refused, [error("Missing required parameter: 'file'.")], [MADE]),
    **spoiled(files.an_unknown_purpose_is_refused, [error("Invalid value.", param="purpose")], [MADE]),
}
