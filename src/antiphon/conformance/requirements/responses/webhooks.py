"""Webhook endpoints. What is delivered to them no request can show."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must(
        "responses:webhooks:created",
        "spec 12",
        "A webhook endpoint is created, an object with id, name, URL and event types.",
    ),
    must("responses:webhooks:secret-shown", "spec 12", "Its signing secret is shown when it is created."),
    must("responses:webhooks:secret-hidden", "spec 12", "Its signing secret is not shown again."),
    must("responses:webhooks:retrieved", "spec 12", "A webhook endpoint can be retrieved."),
    must("responses:webhooks:listed", "spec 12", "Webhook endpoints are listed, the newest first."),
    must("responses:webhooks:updated", "spec 12", "A webhook endpoint can be changed, and keeps what is not given."),
    must("responses:webhooks:rotated", "spec 12", "Rotation gives another signing secret, and shows it."),
    must("responses:webhooks:deleted", "spec 12", "A webhook endpoint can be deleted, and is then a 404."),
    should(
        "responses:webhooks:deleted-body", "spec 12", "Deletion answers with `webhook_endpoint.deleted` and the id."
    ),
    must("responses:webhooks:event-types", "spec 12", "The event types are listed, with those of responses."),
    should("responses:webhooks:https", "spec 12", "A URL that is none is refused with 400."),
    should("responses:webhooks:unknown-type", "spec 12", "An event type that there is not is refused with 400."),
)
