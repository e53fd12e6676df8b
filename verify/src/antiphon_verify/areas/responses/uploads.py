"""Uploads in parts, if the server supports them."""

from hashlib import md5
from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.areas.responses.files import FORM, form
from antiphon_verify.case import case
from antiphon_verify.exchange import Request
from antiphon_verify.reading import at, is_text, unlike
from antiphon_verify.replies import Reply, error, replaced
from antiphon_verify.replies.responses import uploads as replies
from antiphon_verify.replies.responses.uploads import PARTS, WHOLE
from antiphon_verify.requirement import must, should
from antiphon_verify.trial import ExchangeSteps, Steps, Trial

SOURCE = "spec uploads"


def create(trial: Trial) -> ExchangeSteps:
    """Begin an upload."""
    body = {
        "filename": "notes.txt",
        "purpose": "user_data",
        "bytes": len(WHOLE),
        "mime_type": "text/plain",
    }
    return trial.post("/uploads", body)


def add(trial: Trial, upload: str, content: bytes) -> ExchangeSteps:
    """Add a part."""
    return trial.send_request(
        Request(
            method="POST",
            path=f"/uploads/{upload}/parts",
            content=form("data", content),
            headers=FORM,
        )
    )


def complete(trial: Trial, upload: str, *parts: Any, **fields: Any) -> ExchangeSteps:
    """Complete an upload."""
    return trial.post(f"/uploads/{upload}/complete", {"part_ids": list(parts), **fields})


@case(
    must(
        "responses:uploads:created",
        SOURCE,
        "A new upload is `pending` and has an id.",
        fault=replaced(replies.LIFE, 0, replies.CREATED.without("status")),
    ),
    must(
        "responses:uploads:part",
        SOURCE,
        "A part is accepted, and has an id and the id of its upload.",
        fault=replaced(replies.LIFE, 1, replies.ADDED[0].without("upload_id")),
    ),
    should(
        "responses:uploads:short",
        SOURCE,
        "Completing with fewer bytes than announced is rejected with 400; the upload stays pending.",  # noqa: E501 - one text, or a row of a table
        fault=replaced(replies.LIFE, 3, replies.DONE),
    ),
    should(
        "responses:uploads:md5",
        SOURCE,
        "Completing with another `md5` is rejected with 400; the upload stays pending.",
        fault=replaced(replies.LIFE, 4, replies.DONE),
    ),
    must(
        "responses:uploads:completed",
        SOURCE,
        "A completed upload has its file.",
        fault=replaced(replies.LIFE, 5, replies.DONE.patched("status", to="pending")),
    ),
    must(
        "responses:uploads:joined",
        SOURCE,
        "The file has the parts in the order of `part_ids`.",
        fault=replaced(replies.LIFE, 6, Reply(200, b"secondfirst ")),
    ),
    good=replies.LIFE,
)
def an_upload_becomes_a_file(trial: Trial) -> Steps:
    """Upload two parts, the second first; complete with one of them, with a wrong MD5, then
    correctly.
    """
    created = yield from create(trial)
    trial.supported(created)
    is_created = is_text(at(created.json, "id")) and at(created.json, "status") == "pending"
    trial.expect("responses:uploads:created", created.is_ok and is_created, created.came)
    trial.succeed(created)
    upload = id_of(created.json)
    parts: list[str] = []
    for content in reversed(PARTS):
        part = yield from add(trial, upload, content)
        is_part = (
            part.is_ok and is_text(at(part.json, "id")) and at(part.json, "upload_id") == upload
        )
        trial.expect("responses:uploads:part", is_part, part.came)
        trial.succeed(part)
        parts.insert(0, id_of(part.json))
    short = yield from complete(trial, upload, parts[0])
    wrong = yield from complete(
        trial, upload, *parts, md5=md5(b"other", usedforsecurity=False).hexdigest()
    )
    done = yield from complete(
        trial, upload, *parts, md5=md5(WHOLE, usedforsecurity=False).hexdigest()
    )
    trial.expect(
        "responses:uploads:short", short.status == 400 and (done.is_ok or wrong.is_ok), short.came
    )
    trial.expect("responses:uploads:md5", wrong.status == 400 and done.is_ok, wrong.came)
    file = at(done.json, "file")
    is_done = (
        done.is_ok and at(done.json, "status") == "completed" and at(file, "bytes") == len(WHOLE)
    )
    trial.expect("responses:uploads:completed", is_done, done.came)
    trial.succeed(done)
    joined = yield from trial.get(f"/files/{id_of(file)}/content")
    trial.expect("responses:uploads:joined", joined.is_ok and joined.body == WHOLE, joined.came)
    yield from trial.delete(f"/files/{id_of(file)}")


@case(
    should(
        "responses:uploads:cancelled",
        SOURCE,
        "An upload can be cancelled, and then accepts no parts.",
        fault=[replies.CREATED, replies.CANCELLED, replies.ADDED[0]],
    ),
    good=[replies.CREATED, replies.CANCELLED, error("It was cancelled.")],
)
def an_upload_is_cancelled(trial: Trial) -> Steps:
    """Begin an upload, cancel it, and add a part."""
    created = yield from create(trial)
    trial.succeed(created)
    cancelled = yield from trial.post(f"/uploads/{id_of(created.json)}/cancel", {})
    late = yield from add(trial, id_of(created.json), PARTS[0])
    is_over = cancelled.is_ok and at(cancelled.json, "status") == "cancelled" and late.status == 400
    trial.expect("responses:uploads:cancelled", is_over, f"{cancelled.came}; then {late.came}")


@case(
    should(
        "responses:uploads:unknown",
        SOURCE,
        "An unknown upload returns 404.",
        fault=[replies.CREATED, replies.CREATED],
    ),
    good=[replies.CREATED, replies.NOT_FOUND],
)
def an_unknown_upload_is_not_found(trial: Trial) -> Steps:
    """Cancel an unknown upload."""
    created = yield from create(trial)
    trial.succeed(created)
    exchange = yield from trial.post(f"/uploads/{unlike(id_of(created.json))}/cancel", {})
    trial.supported(exchange)
    trial.expect("responses:uploads:unknown", exchange.status == 404, exchange.came)
