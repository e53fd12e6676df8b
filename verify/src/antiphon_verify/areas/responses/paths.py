"""Unknown paths, unsupported methods and invalid ids."""

from antiphon_verify.case import case
from antiphon_verify.exchange import Request
from antiphon_verify.reading import at
from antiphon_verify.refusal import is_envelope
from antiphon_verify.replies import Reply, error, states
from antiphon_verify.replies.bodies import RESPONSE
from antiphon_verify.replies.responses import paths as replies
from antiphon_verify.requirement import Stop, must, should
from antiphon_verify.trial import Steps, Trial, is_response

ODD = ("%00", "%27%20OR%201=1", "%F0%9F%8D%B5", "resp_%0d%0ax", "%7B%7B7*7%7D%7D")
"""Invalid ids, percent-encoded."""


@case(
    must("responses:paths:unknown", "spec 13", "An unknown path returns 404.", fault=[states({})]),
    should(
        "responses:paths:unknown-envelope",
        "spec 13",
        "The 404 of an unknown path has an error that SDKs can read.",
        fault=[Reply(404, b"404 page not found")],
    ),
    good=[replies.LOST],
)
def an_unknown_path_is_not_found(trial: Trial) -> Steps:
    """Request an unknown path."""
    exchange = yield from trial.get("/no-such-path")
    trial.expect("responses:paths:unknown", exchange.status == 404, exchange.came)
    trial.expect("responses:paths:unknown-envelope", is_envelope(exchange), exchange.came)


@case(
    should(
        "responses:paths:method",
        "http",
        "An unsupported method returns 405.",
        fault=[replies.BROKEN],
    ),
    should(
        "responses:paths:allow",
        "http",
        "A 405 lists the supported methods in `Allow`.",
        fault=[error("Not allowed.", 405)],
    ),
    good=[replies.NOT_ALLOWED],
)
def a_wrong_method_is_rejected(trial: Trial) -> Steps:
    """PUT to a path that supports POST."""
    exchange = yield from trial.send_request(Request(method="PUT", path="/responses", body={}))
    if exchange.status == 404:
        raise Stop("not offered", "status 404")
    trial.expect("responses:paths:method", exchange.status == 405, exchange.came)
    allowed = exchange.headers.get("allow", "")
    trial.expect(
        "responses:paths:allow", "POST" in allowed.upper(), f"Allow: {allowed or 'nothing'}"
    )


@case(
    should(
        "responses:paths:get-on-create",
        "http",
        "`GET /responses` returns a list, 405 or 404.",
        fault=[states({"data": []})],
    ),
    good=[replies.NOT_ALLOWED],
)
def creating_is_no_get(trial: Trial) -> Steps:
    """GET a path that supports POST."""
    exchange = yield from trial.get("/responses")
    is_list = exchange.is_ok and at(exchange.json, "object") == "list"
    trial.expect(
        "responses:paths:get-on-create", is_list or exchange.status in (404, 405), exchange.came
    )


@case(
    must(
        "responses:paths:odd-ids",
        "spec 13",
        "An id with unusual characters returns 404, never a 5xx.",
        fault=[replies.NOT_FOUND, replies.BROKEN, replies.NOT_FOUND],
    ),
    should(
        "responses:paths:odd-ids-envelope",
        "spec 13",
        "The 404 of such an id has an error that SDKs can read.",
        fault=[replies.NOT_FOUND, Reply(404, b"<h1>Not Found</h1>")],
    ),
    good=[replies.NOT_FOUND] * len(ODD),
)
def odd_ids_are_not_found(trial: Trial) -> Steps:
    """Request responses by ids with unusual characters."""
    for odd in ODD:
        exchange = yield from trial.get(f"/responses/{odd}")
        if exchange.status in (405, 501):
            raise Stop("not offered", f"status {exchange.status}")
        trial.expect("responses:paths:odd-ids", 400 <= exchange.status < 500, exchange.came)
        if exchange.status == 404:
            trial.expect("responses:paths:odd-ids-envelope", is_envelope(exchange), exchange.came)


@case(
    must(
        "responses:paths:long-id",
        "spec 13",
        "An id of 4,000 characters is rejected with a 4xx.",
        fault=[replies.BROKEN],
    ),
    good=[replies.NOT_FOUND],
)
def a_long_id_is_refused(trial: Trial) -> Steps:
    """Request a response by an id of 4,000 characters."""
    exchange = yield from trial.get(f"/responses/resp_{'x' * 4000}")
    trial.expect("responses:paths:long-id", 400 <= exchange.status < 500, exchange.came)


@case(
    should(
        "responses:paths:traversal",
        "spec 13",
        "Encoded dots and slashes in an id lead to no other path.",
        fault=[states({"object": "list", "data": []})],
    ),
    good=[replies.NOT_FOUND],
)
def dots_leave_no_path(trial: Trial) -> Steps:
    """Request a response by an id that encodes the path of the models."""
    exchange = yield from trial.get("/responses/..%2fmodels")
    trial.expect("responses:paths:traversal", 400 <= exchange.status < 500, exchange.came)


@case(
    must(
        "responses:paths:query",
        "http",
        "An unknown query parameter is ignored.",
        fault=[replies.BROKEN],
    ),
    good=[states(RESPONSE)],
)
def an_unknown_query_changes_nothing(trial: Trial) -> Steps:
    """Create a response with a query in the URL."""
    exchange = yield from trial.post(
        "/responses?api-version=2&x=%ff", trial.response_body("Say hello.")
    )
    trial.offered(exchange)
    trial.expect(
        "responses:paths:query", exchange.is_ok and is_response(exchange.json), exchange.came
    )


@case(
    must(
        "responses:paths:text-body",
        "http",
        "A body with another content type is accepted as JSON or rejected with a 4xx.",
        fault=[replies.BROKEN],
    ),
    good=[error("Send application/json.", 415)],
)
def another_content_type_is_no_fault_of_the_server(trial: Trial) -> Steps:
    """Send a valid request as plain text."""
    headers = {"content-type": "text/plain"}
    exchange = yield from trial.post(
        "/responses", trial.response_body("Say hello."), headers=headers
    )
    trial.supported(exchange)
    is_right = (exchange.is_ok and is_response(exchange.json)) or 400 <= exchange.status < 500
    trial.expect("responses:paths:text-body", is_right, exchange.came)
