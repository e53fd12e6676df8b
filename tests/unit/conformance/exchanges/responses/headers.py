"""Headers."""

from dataclasses import replace

from antiphon_verify.areas.responses import headers
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled
from tests.unit.conformance.exchanges.bodies import RESPONSE

ALL = {
    "content-type": "application/json",
    "x-request-id": "req_1",
    "openai-processing-ms": "3",
    "openai-version": "2020-10-01",
    "x-content-type-options": "nosniff",
    "access-control-expose-headers": "X-Request-ID",
}


def headed(**changes: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in changes.items()}
    return replace(says(RESPONSE), headers=ALL | named)


GOOD = headed()

REFUSED = replace(error("Invalid type."), headers=ALL | {"x-request-id": "req_2"})

WRONG = replace(error("Incorrect API key provided: sk-wr***.", 401), headers={"www-authenticate": "Bearer"})

EXCHANGES: dict[str, Shown] = {
    **shown(
        headers.replies_have_their_headers,
        [GOOD, REFUSED],
        {
            "responses:headers:json": [headed(content_type="text/plain"), REFUSED],
            "responses:headers:error-json": [GOOD, replace(REFUSED, headers={"content-type": "text/plain"})],
            "responses:headers:request-id": [headed(x_request_id=""), REFUSED],
            "responses:headers:request-ids-differ": [headed(x_request_id="req_2"), REFUSED],
            "responses:headers:error-request-id": [GOOD, error("Invalid type.")],
            "responses:headers:processing-ms": [headed(openai_processing_ms=""), REFUSED],
            "responses:headers:version": [headed(openai_version=""), REFUSED],
            "responses:headers:nosniff": [headed(x_content_type_options=""), REFUSED],
            "responses:headers:expose": [headed(access_control_expose_headers=""), REFUSED],
        },
    ),
    **spoiled(headers.a_browser_asks_first, [error("Not allowed.", 405)], [error("Internal Server Error", 500)]),
    **shown(
        headers.a_wrong_key_is_not_repeated,
        [WRONG],
        {
            "responses:headers:key-not-told": [error(f"Incorrect API key provided: {headers.WRONG_KEY}.", 401)],
            "responses:headers:challenge": [Answer(401, b"Unauthorized")],
        },
    ),
    **spoiled(headers.an_odd_key_breaks_nothing, [WRONG], [error("Internal Server Error", 500)]),
}
