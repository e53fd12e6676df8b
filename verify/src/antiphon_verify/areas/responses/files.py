"""Files, if the server supports them."""

from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.case import case
from antiphon_verify.exchange import Request
from antiphon_verify.reading import at, is_integer, is_text, listed, preview, unlike
from antiphon_verify.replies import Reply, error, replaced, states
from antiphon_verify.replies.responses import files as replies
from antiphon_verify.replies.responses.files import CONTENT, NAME
from antiphon_verify.requirement import must, should
from antiphon_verify.trial import ExchangeSteps, Steps, Trial

SOURCE = "spec files"


BOUNDARY = "antiphon-verify-1f"

FORM = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}


def form(file: str, content: bytes, **fields: str) -> bytes:
    """Return a form with a file in the field `file`, omitted if it is empty."""
    parts = [_part(f'name="{name}"', value.encode()) for name, value in fields.items()]
    if file:
        parts.append(_part(f'name="{file}"; filename="{NAME}"', content))
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def _part(disposition: str, content: bytes) -> bytes:
    return (
        f"--{BOUNDARY}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n".encode()
        + content
        + b"\r\n"
    )


def upload(
    trial: Trial, purpose: str, content: bytes = CONTENT, *, file: str = "file", **fields: str
) -> ExchangeSteps:
    """Upload a file."""
    return trial.send_request(
        Request(
            method="POST",
            path="/files",
            content=form(file, content, purpose=purpose, **fields),
            headers=FORM,
        )
    )


@case(
    must(
        "responses:files:created",
        SOURCE,
        "A form with `file` and `purpose` creates a file with an id.",
        fault=replaced(replies.LIFE, 0, replies.UPLOADED.without("id")),
    ),
    must(
        "responses:files:object",
        SOURCE,
        "A file has `bytes`, `created_at`, `filename` and `purpose` as sent.",
        fault=replaced(replies.LIFE, 0, replies.UPLOADED.patched("bytes", to=1)),
    ),
    should(
        "responses:files:status",
        SOURCE,
        "The status of a file is `processed`, which SDKs wait for.",
        fault=replaced(replies.LIFE, 0, replies.UPLOADED.patched("status", to="uploaded")),
    ),
    must(
        "responses:files:retrieved",
        SOURCE,
        "A file can be retrieved by its id.",
        fault=replaced(replies.LIFE, 1, replies.UPLOADED.patched("id", to="file-2")),
    ),
    must(
        "responses:files:content",
        SOURCE,
        "The content of a file is returned byte for byte.",
        fault=replaced(replies.LIFE, 2, Reply(200, CONTENT[:4])),
    ),
    should(
        "responses:files:deleted-body",
        SOURCE,
        "A deletion returns `deleted` and the id.",
        fault=replaced(replies.LIFE, 3, states({})),
    ),
    must(
        "responses:files:deleted",
        SOURCE,
        "A deleted file returns 404.",
        fault=replaced(replies.LIFE, 4, replies.UPLOADED),
    ),
    good=replies.LIFE,
)
def a_file_lives(trial: Trial) -> Steps:
    """Upload a file, retrieve it and its content, delete it."""
    exchange = yield from upload(trial, "user_data")
    trial.supported(exchange)
    created = exchange.json
    is_created = exchange.is_ok and is_text(at(created, "id")) and at(created, "object") == "file"
    trial.expect("responses:files:created", is_created, exchange.came)
    trial.succeed(exchange)
    values = [at(created, name) for name in ("bytes", "filename", "purpose")]
    is_whole = values == [len(CONTENT), NAME, "user_data"] and is_integer(at(created, "created_at"))
    trial.expect("responses:files:object", is_whole, exchange.came)
    trial.expect("responses:files:status", at(created, "status") == "processed", exchange.came)
    path = f"/files/{id_of(created)}"
    found = yield from trial.get(path)
    trial.expect(
        "responses:files:retrieved",
        found.is_ok and at(found.json, "id") == id_of(created),
        found.came,
    )
    content = yield from trial.get(f"{path}/content")
    trial.expect(
        "responses:files:content",
        content.is_ok and content.body == CONTENT,
        preview(content.body.hex()),
    )
    deleted = yield from trial.delete(path)
    is_right = at(deleted.json, "deleted") is True and at(deleted.json, "id") == id_of(created)
    trial.expect("responses:files:deleted-body", is_right, deleted.came)
    missing = yield from trial.get(path)
    trial.expect("responses:files:deleted", deleted.is_ok and missing.status == 404, missing.came)


@case(
    must(
        "responses:files:listed",
        SOURCE,
        "Files are listed, and `purpose` filters the list.",
        fault=replaced(replies.LISTS, 2, replies.UPLOADED),
    ),
    should(
        "responses:files:paged",
        SOURCE,
        "`limit`, `order` and `after` page through the list.",
        fault=replaced(replies.LISTS, 4, replies.page("file-2")),
    ),
    good=replies.LISTS,
)
def files_are_listed(trial: Trial) -> Steps:
    """Upload two files of a purpose, list the files of that purpose, page through the list, delete
    both.
    """
    names = []
    for content in (b"1", b"2"):
        exchange = yield from upload(trial, "evals", content)
        trial.succeed(exchange)
        names.append(id_of(exchange.json))
    page = yield from trial.get("/files?purpose=evals&order=desc")
    trial.supported(page)
    data = listed(page.json, "data")
    newest = [at(one, "id") for one in data][:2]
    is_filtered = at(page.json, "object") == "list" and all(
        at(one, "purpose") == "evals" for one in data
    )
    trial.expect(
        "responses:files:listed",
        is_filtered and sorted(map(str, newest)) == sorted(names),
        page.came,
    )
    first = yield from trial.get("/files?purpose=evals&order=desc&limit=1")
    rest = yield from trial.get(f"/files?purpose=evals&order=desc&limit=1&after={names[1]}")
    pages: list[Any] = [
        [at(one, "id") for one in listed(one.json, "data")] for one in (first, rest)
    ]
    is_paged = pages == [[names[1]], [names[0]]] and at(first.json, "has_more") is True
    trial.expect("responses:files:paged", is_paged, preview(pages))
    for name in names:
        yield from trial.delete(f"/files/{name}")


@case(
    should(
        "responses:files:expires-after",
        SOURCE,
        "`expires_after` sets `expires_at`.",
        fault=[replies.UPLOADED, replies.DELETED],
    ),
    good=[replies.EXPIRING, replies.DELETED],
)
def a_file_expires(trial: Trial) -> Steps:
    """Upload a file with `expires_after`, and delete it."""
    fields = {"expires_after[anchor]": "created_at", "expires_after[seconds]": "3600"}
    exchange = yield from upload(trial, "user_data", CONTENT, file="file", **fields)
    trial.succeed(exchange)
    created = at(exchange.json, "created_at")
    expires = at(exchange.json, "expires_at")
    is_set = is_integer(created) and expires == created + 3600
    trial.expect("responses:files:expires-after", is_set, exchange.came)
    yield from trial.delete(f"/files/{id_of(exchange.json)}")


@case(
    should(
        "responses:files:unknown",
        SOURCE,
        "An unknown file returns 404.",
        fault=[replies.UPLOADED, replies.UPLOADED, replies.DELETED],
    ),
    good=[replies.UPLOADED, replies.NOT_FOUND, replies.DELETED],
)
def an_unknown_file_is_not_found(trial: Trial) -> Steps:
    """Retrieve an unknown file."""
    created = yield from upload(trial, "user_data")
    trial.succeed(created)
    exchange = yield from trial.get(f"/files/{unlike(id_of(created.json))}")
    trial.supported(exchange)
    trial.expect("responses:files:unknown", exchange.status == 404, exchange.came)
    yield from trial.delete(f"/files/{id_of(created.json)}")


@case(
    should(
        "responses:files:no-file",
        SOURCE,
        "A form without `file` is rejected with 400.",
        fault=[replies.UPLOADED],
    ),
    good=[error("Missing required parameter: 'file'.")],
)
def a_form_without_a_file_is_refused(trial: Trial) -> Steps:
    """Send a form without a file."""
    exchange = yield from upload(trial, "user_data", file="")
    trial.supported(exchange)
    trial.expect("responses:files:no-file", exchange.status == 400, exchange.came)


@case(
    should(
        "responses:files:purpose",
        SOURCE,
        "An unknown `purpose` is rejected with 400.",
        fault=[replies.UPLOADED],
    ),
    good=[error("Invalid value.", param="purpose")],
)
def an_unknown_purpose_is_refused(trial: Trial) -> Steps:
    """Upload a file with an invalid purpose."""
    exchange = yield from upload(trial, "no such purpose")
    trial.supported(exchange)
    trial.expect("responses:files:purpose", exchange.status == 400, exchange.came)
