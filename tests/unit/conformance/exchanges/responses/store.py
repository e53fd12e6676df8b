"""Stored responses."""

from antiphon_verify.areas.responses import store
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import RESPONSE
from tests.unit.testing.events.streams import STREAMS

CREATED = says(RESPONSE)

GONE = error("Response with id 'resp_1' not found.", 404)

DELETED = says({"id": "resp_1", "object": "response", "deleted": True})

REFUSED = error("Invalid value: 'everything'.", 400, "invalid_value", "include[0]")

STREAM = streams(STREAMS["answer"])

STREAMED = says(STREAMS["answer"][-1]["response"])

EXCHANGES: dict[str, Shown] = {
    **shown(
        store.a_response_is_retrieved,
        [CREATED, CREATED, CREATED, REFUSED],
        {
            "responses:store:retrieved": [CREATED, GONE],
            "responses:store:same": [CREATED, CREATED.patched("status", to="in_progress")],
            "responses:store:include": [CREATED, CREATED, REFUSED],
            "responses:store:include-unknown": [CREATED, CREATED, CREATED, CREATED],
        },
    ),
    **shown(
        store.a_streamed_response_is_retrieved,
        [STREAM, STREAMED],
        {
            "responses:store:stream-retrieved": [STREAM, GONE],
            "responses:store:stream-same": [STREAM, STREAMED.patched("output", to=[])],
        },
    ),
    **spoiled(store.an_unstored_response_is_not_found, [CREATED, GONE], [CREATED, CREATED]),
    **shown(
        store.an_unknown_response_is_not_found,
        [CREATED, GONE, GONE],
        {
            "responses:store:unknown": [CREATED, CREATED],
            "responses:store:unknown-envelope": [CREATED, Answer(404, b'{"detail": "Response not found"}')],
            "responses:store:delete-unknown": [CREATED, GONE, error("Internal Server Error", 500)],
        },
    ),
    **shown(
        store.a_response_is_deleted,
        [CREATED, DELETED, GONE, GONE],
        {
            "responses:store:deleted": [CREATED, DELETED, CREATED],
            "responses:store:deleted-body": [CREATED, says({})],
            "responses:store:deleted-twice": [CREATED, DELETED, GONE, DELETED],
        },
    ),
}
