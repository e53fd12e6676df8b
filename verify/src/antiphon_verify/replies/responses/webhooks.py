"""Webhook endpoints."""

from antiphon_verify.replies import error, states

URL = "https://example.com/antiphon-verify"

ENDED = "response.completed"

BODY = {"name": "antiphon verify", "url": URL, "event_types": [ENDED]}

ENDPOINT = {"id": "we_1", "object": "webhook_endpoint", "created_at": 1, "updated_at": 1, **BODY}
CREATED = states(
    {**ENDPOINT, "signing_secret": "whsec_MQ==", "signing_secret_hint": "whsec_...MQ=="}
)
FOUND = states(ENDPOINT)
LISTED = states({"object": "list", "data": [ENDPOINT], "has_more": False})
CHANGED = states(ENDPOINT | {"name": "changed"})
ROTATED = CREATED.patched("signing_secret", to="whsec_Mg==")
DELETED = states({"id": "we_1", "object": "webhook_endpoint.deleted", "deleted": True})
NOT_FOUND = error("Webhook endpoint with id 'we_1' not found.", 404)
GOOD = [CREATED, FOUND, LISTED, CHANGED, ROTATED, DELETED, NOT_FOUND]
TYPES = states({"object": "list", "data": ["response.completed"]})
REJECTED = error("Invalid value.")
