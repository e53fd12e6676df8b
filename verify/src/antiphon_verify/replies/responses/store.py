"""Stored responses."""

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import error, states, streams
from antiphon_verify.replies.bodies import RESPONSE

CREATED = states(RESPONSE)

NOT_FOUND = error("Response with id 'resp_1' not found.", 404)

DELETED = states({"id": "resp_1", "object": "response", "deleted": True})

REJECTED = error("Invalid value: 'everything'.", 400, "invalid_value", "include[0]")

STREAM = streams(STREAMS["answer"])

STREAMED = states(STREAMS["answer"][-1]["response"])
