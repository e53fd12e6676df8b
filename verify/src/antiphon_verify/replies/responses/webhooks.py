"""Webhook endpoints."""

from antiphon_verify.replies import error, says

URL = "https://example.com/antiphon-verify"

ENDED = "response.completed"

BODY = {"name": "antiphon verify", "url": URL, "event_types": [ENDED]}

ENDPOINT = {"id": "we_1", "object": "webhook_endpoint", "created_at": 1, "updated_at": 1, **BODY}
CREATED = says({**ENDPOINT, "signing_secret": "whsec_MQ==", "signing_secret_hint": "whsec_...MQ=="})
FOUND = says(ENDPOINT)
LISTED = says({"object": "list", "data": [ENDPOINT], "has_more": False})
CHANGED = says(ENDPOINT | {"name": "changed"})
ROTATED = CREATED.patched("signing_secret", to="whsec_Mg==")
DELETED = says({"id": "we_1", "object": "webhook_endpoint.deleted", "deleted": True})
NOT_FOUND = error("Webhook endpoint with id 'we_1' not found.", 404)
GOOD = [CREATED, FOUND, LISTED, CHANGED, ROTATED, DELETED, NOT_FOUND]
TYPES = says({"object": "list", "data": ["response.completed"]})
REJECTED = error("Invalid value.")
