"""Webhook endpoints, created at an address where nothing listens, and deleted again."""

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.case import case
from antiphon_verify.reading import at, preview
from antiphon_verify.replies import replaced
from antiphon_verify.replies.responses import webhooks as replies
from antiphon_verify.replies.responses.webhooks import BODY, ENDED, URL
from antiphon_verify.requirement import must, should
from antiphon_verify.trial import Steps, Trial

PATH = "/webhook_endpoints"


@case(
    must(
        "responses:webhooks:created",
        "spec 12",
        "A new webhook endpoint is an object with id, name, URL and event types.",
        fault=replaced(replies.GOOD, 0, replies.CREATED.patched("url", to="x")),
    ),
    must(
        "responses:webhooks:secret-shown",
        "spec 12",
        "The signing secret is returned when the endpoint is created.",
        fault=replaced(replies.GOOD, 0, replies.FOUND),
    ),
    must(
        "responses:webhooks:secret-hidden",
        "spec 12",
        "The signing secret is not returned again.",
        fault=replaced(replies.GOOD, 1, replies.CREATED),
    ),
    must(
        "responses:webhooks:retrieved",
        "spec 12",
        "A webhook endpoint can be retrieved.",
        fault=replaced(replies.GOOD, 1, replies.NOT_FOUND),
    ),
    must(
        "responses:webhooks:listed",
        "spec 12",
        "Webhook endpoints are listed, newest first.",
        fault=replaced(replies.GOOD, 2, replies.LISTED.patched("data", to=[])),
    ),
    must(
        "responses:webhooks:updated",
        "spec 12",
        "Changing a webhook endpoint leaves omitted fields unchanged.",
        fault=replaced(replies.GOOD, 3, replies.CHANGED.patched("url", to="x")),
    ),
    must(
        "responses:webhooks:rotated",
        "spec 12",
        "Rotation returns a new signing secret.",
        fault=replaced(replies.GOOD, 4, replies.CREATED),
    ),
    must(
        "responses:webhooks:deleted",
        "spec 12",
        "A deleted webhook endpoint returns 404.",
        fault=replaced(replies.GOOD, 6, replies.FOUND),
    ),
    should(
        "responses:webhooks:deleted-body",
        "spec 12",
        "A deletion returns `webhook_endpoint.deleted` and the id.",
        fault=replaced(replies.GOOD, 5, replies.FOUND),
    ),
    good=replies.GOOD,
)
def an_endpoint_lives(trial: Trial) -> Steps:
    """Create a webhook endpoint, retrieve it, change it, rotate its secret, and delete it."""
    created = yield from trial.post(PATH, BODY)
    endpoint = trial.whole(created)
    path = f"{PATH}/{id_of(endpoint)}"
    is_whole = all(at(endpoint, name) == value for name, value in BODY.items())
    trial.expect("responses:webhooks:created", is_whole, created.came)
    secret = at(endpoint, "signing_secret")
    trial.expect(
        "responses:webhooks:secret-shown",
        isinstance(secret, str) and bool(secret),
        preview(secret)[:40],
    )
    found = yield from trial.get(path)
    trial.expect(
        "responses:webhooks:retrieved", found.is_ok and at(found.json, "url") == URL, found.came
    )
    hidden = not isinstance(at(found.json, "signing_secret"), str)
    trial.expect("responses:webhooks:secret-hidden", hidden, "The secret is returned.")
    listed = yield from trial.get(f"{PATH}?limit=1")
    trial.expect(
        "responses:webhooks:listed",
        at(listed.json, "data", 0, "id") == id_of(endpoint),
        listed.came,
    )
    changed = yield from trial.post(path, {"name": "changed"})
    is_changed = at(changed.json, "name") == "changed" and at(changed.json, "url") == URL
    trial.expect("responses:webhooks:updated", changed.is_ok and is_changed, changed.came)
    rotated = yield from trial.post(f"{path}/rotate_secret", {})
    other = at(rotated.json, "signing_secret")
    trial.expect(
        "responses:webhooks:rotated",
        isinstance(other, str) and other != secret,
        f"status {rotated.status}",
    )
    deleted = yield from trial.delete(path)
    missing = yield from trial.get(path)
    trial.expect(
        "responses:webhooks:deleted", deleted.is_ok and missing.status == 404, missing.came
    )
    is_deleted = at(deleted.json, "object") == "webhook_endpoint.deleted" and at(
        deleted.json, "id"
    ) == id_of(endpoint)
    trial.expect("responses:webhooks:deleted-body", is_deleted, deleted.came)


@case(
    must(
        "responses:webhooks:event-types",
        "spec 12",
        "The event types are listed, including those of responses.",
        fault=[replies.TYPES.patched("data", to=[])],
    ),
    good=[replies.TYPES],
)
def event_types_are_listed(trial: Trial) -> Steps:
    """List the event types."""
    listed = trial.whole((yield from trial.get("/webhook_event_types")))
    types = at(listed, "data")
    trial.expect(
        "responses:webhooks:event-types", isinstance(types, list) and ENDED in types, preview(types)
    )


@case(
    should(
        "responses:webhooks:https",
        "spec 12",
        "An invalid URL is rejected with 400.",
        fault=[replies.CREATED, replies.REJECTED],
    ),
    should(
        "responses:webhooks:unknown-type",
        "spec 12",
        "An unknown event type is rejected with 400.",
        fault=[replies.REJECTED, replies.CREATED],
    ),
    good=[replies.REJECTED, replies.REJECTED],
)
def endpoints_that_are_invalid_are_refused(trial: Trial) -> Steps:
    """Create webhook endpoints with an invalid URL, and with an unknown event type."""
    bad = yield from trial.post(PATH, BODY | {"url": "nowhere"})
    trial.supported(bad)
    trial.expect("responses:webhooks:https", bad.status == 400, bad.came)
    unknown = yield from trial.post(PATH, BODY | {"event_types": ["response.dreamed"]})
    trial.expect("responses:webhooks:unknown-type", unknown.status == 400, unknown.came)
