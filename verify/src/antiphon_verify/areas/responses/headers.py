"""Headers and API keys."""

from dataclasses import replace

from antiphon_verify.case import case
from antiphon_verify.exchange import Exchange, Request
from antiphon_verify.refusal import is_envelope
from antiphon_verify.replies import Reply, error
from antiphon_verify.replies.responses import headers as replies
from antiphon_verify.requirement import Stop, may, must, should
from antiphon_verify.trial import Steps, Trial

WRONG_KEY = "sk-wrong-0123456789abcdefghijklmnopqrstuvwxyz"

ODD_KEY = "Bearer ' OR '1'='1"


@case(
    must(
        "responses:headers:json",
        "spec 14",
        "The content type of a non-streamed response is `application/json`.",
        fault=[replies.headed(content_type="text/plain"), replies.REJECTED],
    ),
    must(
        "responses:headers:error-json",
        "spec 13",
        "The content type of an error is `application/json`.",
        fault=[replies.GOOD, replace(replies.REJECTED, headers={"content-type": "text/plain"})],
    ),
    should(
        "responses:headers:request-id",
        "spec 14",
        "Every response has an `x-request-id`.",
        fault=[replies.headed(x_request_id=""), replies.REJECTED],
    ),
    should(
        "responses:headers:request-ids-differ",
        "spec 14",
        "Every response has a different `x-request-id`.",
        fault=[replies.headed(x_request_id="req_2"), replies.REJECTED],
    ),
    should(
        "responses:headers:error-request-id",
        "spec 14",
        "An error has an `x-request-id`.",
        fault=[replies.GOOD, error("Invalid type.")],
    ),
    may(
        "responses:headers:processing-ms",
        "spec 14",
        "`openai-processing-ms` contains the processing time.",
        fault=[replies.headed(openai_processing_ms=""), replies.REJECTED],
    ),
    may(
        "responses:headers:version",
        "spec 14",
        "`openai-version` contains the version of the API.",
        fault=[replies.headed(openai_version=""), replies.REJECTED],
    ),
    may(
        "responses:headers:nosniff",
        "spec 13",
        "Every response has `x-content-type-options: nosniff`.",
        fault=[replies.headed(x_content_type_options=""), replies.REJECTED],
    ),
    may(
        "responses:headers:expose",
        "spec 14",
        "CORS headers let browsers read `x-request-id`.",
        fault=[replies.headed(access_control_expose_headers=""), replies.REJECTED],
    ),
    good=[replies.GOOD, replies.REJECTED],
)
def replies_have_their_headers(trial: Trial) -> Steps:
    """Create a response, and read its headers; then send an invalid request."""
    exchange = yield from trial.respond("Say hello.")
    trial.succeed(exchange)
    headers = exchange.headers
    request_id = exchange.headers.get("x-request-id", "")
    trial.expect("responses:headers:json", *jsonness(exchange))
    trial.expect("responses:headers:request-id", bool(request_id), "The header is missing.")
    present = {"processing-ms": "openai-processing-ms", "version": "openai-version"}
    for name, header in present.items():
        trial.expect(
            f"responses:headers:{name}", bool(headers.get(header)), "The header is missing."
        )
    trial.expect(
        "responses:headers:nosniff",
        headers.get("x-content-type-options") == "nosniff",
        "The header is missing.",
    )
    exposed = headers.get("access-control-expose-headers", "")
    trial.expect(
        "responses:headers:expose",
        "x-request-id" in exposed.lower() or exposed == "*",
        exposed or "nothing",
    )
    refused = yield from trial.respond(7)
    if 400 <= refused.status < 500:
        trial.expect("responses:headers:error-json", *jsonness(refused))
    other = refused.headers.get("x-request-id", "")
    trial.expect("responses:headers:error-request-id", bool(other), "The header is missing.")
    if request_id and other:
        trial.expect("responses:headers:request-ids-differ", request_id != other, request_id)


def jsonness(exchange: Exchange) -> tuple[bool, str]:
    """Return whether the content type is JSON, and the content type."""
    kind = exchange.headers.get("content-type", "")
    return kind.lower().startswith("application/json"), kind or "no content type"


@case(
    must(
        "responses:headers:preflight",
        "http",
        "A browser's preflight request never returns a 5xx.",
        fault=[error("Internal Server Error", 500)],
    ),
    good=[error("Not allowed.", 405)],
)
def a_browser_requests_first(trial: Trial) -> Steps:
    """Send a browser's preflight request."""
    headers = {"origin": "https://example.com", "access-control-request-method": "POST"}
    exchange = yield from trial.send_request(
        Request(method="OPTIONS", path="/responses", headers=headers)
    )
    trial.expect("responses:headers:preflight", 0 < exchange.status < 500, exchange.came)


@case(
    must(
        "responses:headers:key-not-told",
        "spec 13",
        "No error repeats an invalid key in full.",
        fault=[error(f"Incorrect API key provided: {WRONG_KEY}.", 401)],
    ),
    should(
        "responses:headers:challenge",
        "spec 13",
        "A 401 has `www-authenticate`, and an error that SDKs can read.",
        fault=[Reply(401, b"Unauthorized")],
    ),
    good=[replies.WRONG],
)
def a_wrong_key_is_not_repeated(trial: Trial) -> Steps:
    """Send an invalid key."""
    exchange = yield from trial.get("/models", headers={"authorization": f"Bearer {WRONG_KEY}"})
    content = exchange.body.decode("utf-8", "replace") + "".join(exchange.headers.values())
    trial.expect(
        "responses:headers:key-not-told",
        bool(exchange.status) and WRONG_KEY not in content,
        exchange.came,
    )
    if exchange.status != 401:
        raise Stop("skipped", "The server accepts any key.")
    is_right = "www-authenticate" in exchange.headers and is_envelope(exchange)
    trial.expect("responses:headers:challenge", is_right, exchange.came)


@case(
    must(
        "responses:headers:key-odd",
        "spec 13",
        "A key with unusual characters never returns a 5xx.",
        fault=[error("Internal Server Error", 500)],
    ),
    good=[replies.WRONG],
)
def an_odd_key_breaks_nothing(trial: Trial) -> Steps:
    """Send a key with an SQL injection."""
    exchange = yield from trial.get("/models", headers={"authorization": ODD_KEY})
    trial.expect("responses:headers:key-odd", 0 < exchange.status < 500, exchange.came)
