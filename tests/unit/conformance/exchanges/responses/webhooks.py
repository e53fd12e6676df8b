"""Webhook endpoints."""

from antiphon_verify.areas.responses import webhooks
from antiphon_verify.areas.responses.webhooks import BODY
from tests.unit.conformance.exchanges import Shown, error, says, shown

ENDPOINT = {"id": "we_1", "object": "webhook_endpoint", "created_at": 1, "updated_at": 1, **BODY}
MADE = says({**ENDPOINT, "signing_secret": "whsec_MQ==", "signing_secret_hint": "whsec_...MQ=="})
FOUND = says(ENDPOINT)
LISTED = says({"object": "list", "data": [ENDPOINT], "has_more": False})
CHANGED = says(ENDPOINT | {"name": "changed"})
ROTATED = MADE.patched("signing_secret", to="whsec_Mg==")
DELETED = says({"id": "we_1", "object": "webhook_endpoint.deleted", "deleted": True})
GONE = error("Webhook endpoint with id 'we_1' not found.", 404)
GOOD = [MADE, FOUND, LISTED, CHANGED, ROTATED, DELETED, GONE]
TYPES = says({"object": "list", "data": ["response.completed"]})
REFUSED = error("Invalid value.")


def instead(index: int, answer: object) -> list[object]:
    """The good script with one other answer."""
    return [*GOOD[:index], answer, *GOOD[index + 1 :]]


EXCHANGES: dict[str, Shown] = {
    **shown(
        webhooks.an_endpoint_lives,
        GOOD,
        {
            "responses:webhooks:created": instead(0, MADE.patched("url", to="x")),
            "responses:webhooks:secret-shown": instead(0, FOUND),
            "responses:webhooks:secret-hidden": instead(1, MADE),
            "responses:webhooks:retrieved": instead(1, GONE),
            "responses:webhooks:listed": instead(2, LISTED.patched("data", to=[])),
            "responses:webhooks:updated": instead(3, CHANGED.patched("url", to="x")),
            "responses:webhooks:rotated": instead(4, MADE),
            "responses:webhooks:deleted": instead(6, FOUND),
            "responses:webhooks:deleted-body": instead(5, FOUND),
        },  # type: ignore[arg-type]
    ),
    **shown(
        webhooks.event_types_are_listed, [TYPES], {"responses:webhooks:event-types": [TYPES.patched("data", to=[])]}
    ),
    **shown(
        webhooks.endpoints_that_are_none_are_refused,
        [REFUSED, REFUSED],
        {"responses:webhooks:https": [MADE, REFUSED], "responses:webhooks:unknown-type": [REFUSED, MADE]},
    ),
}
