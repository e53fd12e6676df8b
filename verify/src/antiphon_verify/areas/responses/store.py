"""Responses stored, retrieved and deleted."""

from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.case import case
from antiphon_verify.reading import at, preview, unlike
from antiphon_verify.refusal import is_envelope
from antiphon_verify.replies import Reply, error, states
from antiphon_verify.replies.responses import store as replies
from antiphon_verify.requirement import must, should
from antiphon_verify.trial import Steps, Trial

LATER = {"output_text"}
"""Keys that a server can add only when it creates a response: the SDK's own convenience."""


@case(
    must(
        "responses:store:retrieved",
        "spec 1",
        "A response is stored by default, and can be retrieved.",
        fault=[replies.CREATED, replies.NOT_FOUND],
    ),
    must(
        "responses:store:same",
        "issue ogx#2299",
        "A retrieved response equals the response that was returned.",
        fault=[replies.CREATED, replies.CREATED.patched("status", to="in_progress")],
    ),
    must(
        "responses:store:include",
        "spec 10",
        "`include[]` is accepted when a response is retrieved.",
        fault=[replies.CREATED, replies.CREATED, replies.REJECTED],
    ),
    should(
        "responses:store:include-unknown",
        "spec 10",
        "An unknown `include[]` is rejected with 400.",
        fault=[replies.CREATED, replies.CREATED, replies.CREATED, replies.CREATED],
    ),
    good=[replies.CREATED, replies.CREATED, replies.CREATED, replies.REJECTED],
)
def a_response_is_retrieved(trial: Trial) -> Steps:
    """Create a response, and retrieve it."""
    created = trial.response((yield from trial.respond("Say hello.", metadata={"a": "1"})))
    path = f"/responses/{id_of(created)}"
    stored = trial.whole((yield from trial.get(path)))
    trial.expect(
        "responses:store:retrieved", at(stored, "id") == id_of(created), preview(at(stored, "id"))
    )
    trial.expect("responses:store:same", *sameness(created, stored))
    included = yield from trial.get(f"{path}?include[]=message.input_image.image_url")
    is_included = included.is_ok and at(included.json, "id") == id_of(created)
    trial.expect("responses:store:include", is_included, included.came)
    refused = yield from trial.get(f"{path}?include[]=everything")
    trial.expect("responses:store:include-unknown", refused.status == 400, refused.came)


def sameness(answered: Any, stored: dict[str, Any]) -> tuple[bool, str]:
    """Return whether a response is stored as it was returned, and in words which keys differ."""
    answer = answered if isinstance(answered, dict) else {}
    differing = sorted(key for key in answer.keys() - LATER if at(stored, key) != answer[key])
    return not differing, f"These differ: {', '.join(differing)}."


@case(
    must(
        "responses:store:stream-retrieved",
        "spec 1",
        "A streamed response can be retrieved after its last event.",
        fault=[replies.STREAM, replies.NOT_FOUND],
    ),
    must(
        "responses:store:stream-same",
        "issue ogx#2299",
        "A retrieved response equals the response in the stream's last event.",
        fault=[replies.STREAM, replies.STREAMED.patched("output", to=[])],
    ),
    good=[replies.STREAM, replies.STREAMED],
)
def a_streamed_response_is_retrieved(trial: Trial) -> Steps:
    """Stream a response, and retrieve it."""
    last = trial.streamed((yield from trial.respond("Say hello.", stream=True)))[-1]
    response_id = id_of(at(last, "response"))
    stored = trial.whole((yield from trial.get(f"/responses/{response_id}")))
    trial.expect(
        "responses:store:stream-retrieved",
        at(stored, "id") == response_id,
        preview(at(stored, "id")),
    )
    trial.expect("responses:store:stream-same", *sameness(at(last, "response"), stored))


@case(
    must(
        "responses:store:unstored",
        "spec 10",
        "A response with `store: false` cannot be retrieved.",
        fault=[replies.CREATED, replies.CREATED],
    ),
    good=[replies.CREATED, replies.NOT_FOUND],
)
def an_unstored_response_is_not_found(trial: Trial) -> Steps:
    """Create a response that is not stored, and try to retrieve it."""
    created = trial.response((yield from trial.respond("Say hello.", store=False)))
    exchange = yield from trial.get(f"/responses/{id_of(created)}")
    trial.supported(exchange)
    trial.expect("responses:store:unstored", exchange.status == 404, exchange.came)


@case(
    must(
        "responses:store:unknown",
        "spec 13",
        "An unknown response returns 404.",
        fault=[replies.CREATED, replies.CREATED],
    ),
    should(
        "responses:store:unknown-envelope",
        "spec 13",
        "The 404 of an unknown response has an error that SDKs can read.",
        fault=[replies.CREATED, Reply(404, b'{"detail": "Response not found"}')],
    ),
    must(
        "responses:store:delete-unknown",
        "spec 13",
        "Deleting an unknown response returns 404, never a 5xx.",
        fault=[replies.CREATED, replies.NOT_FOUND, error("Internal Server Error", 500)],
    ),
    good=[replies.CREATED, replies.NOT_FOUND, replies.NOT_FOUND],
)
def an_unknown_response_is_not_found(trial: Trial) -> Steps:
    """Retrieve and delete an unknown response."""
    path = f"/responses/{unlike(id_of(trial.response((yield from trial.respond('Say hello.')))))}"
    exchange = yield from trial.get(path)
    trial.supported(exchange)
    trial.expect("responses:store:unknown", exchange.status == 404, exchange.came)
    trial.expect("responses:store:unknown-envelope", is_envelope(exchange), exchange.came)
    exchange = yield from trial.delete(path)
    trial.supported(exchange)
    trial.expect("responses:store:delete-unknown", exchange.status == 404, exchange.came)


@case(
    must(
        "responses:store:deleted",
        "spec 1",
        "A deleted response returns 404.",
        fault=[replies.CREATED, replies.DELETED, replies.CREATED],
    ),
    should(
        "responses:store:deleted-body",
        "spec 1",
        "A deletion returns the id and `deleted: true`.",
        fault=[replies.CREATED, states({})],
    ),
    must(
        "responses:store:deleted-twice",
        "spec 1",
        "Deleting a response again returns 404.",
        fault=[replies.CREATED, replies.DELETED, replies.NOT_FOUND, replies.DELETED],
    ),
    good=[replies.CREATED, replies.DELETED, replies.NOT_FOUND, replies.NOT_FOUND],
)
def a_response_is_deleted(trial: Trial) -> Steps:
    """Create a response, delete it, and retrieve it."""
    path = f"/responses/{id_of(trial.response((yield from trial.respond('Say hello.'))))}"
    deleted = yield from trial.delete(path)
    trial.succeed(deleted)
    is_right = at(deleted.json, "deleted") is True and path.endswith(str(at(deleted.json, "id")))
    trial.expect("responses:store:deleted-body", is_right, deleted.came)
    missing = yield from trial.get(path)
    trial.expect("responses:store:deleted", missing.status == 404, missing.came)
    again = yield from trial.delete(path)
    trial.expect("responses:store:deleted-twice", again.status == 404, again.came)
