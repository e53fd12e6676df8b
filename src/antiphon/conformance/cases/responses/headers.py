"""Headers, and keys."""

from antiphon.conformance.case import case
from antiphon.conformance.envelope import is_envelope
from antiphon.conformance.exchange import Exchange, Request
from antiphon.conformance.trial import Steps, Trial
from antiphon.conformance.verdict import Stop

WRONG_KEY = "sk-wrong-0123456789abcdefghijklmnopqrstuvwxyz"

ODD_KEY = "Bearer ' OR '1'='1"


@case(
    "responses:headers:json",
    "responses:headers:error-json",
    "responses:headers:request-id",
    "responses:headers:request-ids-differ",
    "responses:headers:error-request-id",
    "responses:headers:processing-ms",
    "responses:headers:version",
    "responses:headers:nosniff",
    "responses:headers:expose",
)
def replies_have_their_headers(trial: Trial) -> Steps:
    """Create a response, and look at its headers; then be refused."""
    exchange = yield from trial.respond("Say hello.")
    trial.succeed(exchange)
    headers, request_id = exchange.headers, exchange.headers.get("x-request-id", "")
    trial.expect("responses:headers:json", *jsonness(exchange))
    trial.expect("responses:headers:request-id", bool(request_id), "There is none.")
    present = {"processing-ms": "openai-processing-ms", "version": "openai-version"}
    for name, header in present.items():
        trial.expect(f"responses:headers:{name}", bool(headers.get(header)), "There is none.")
    trial.expect("responses:headers:nosniff", headers.get("x-content-type-options") == "nosniff", "There is none.")
    exposed = headers.get("access-control-expose-headers", "")
    trial.expect("responses:headers:expose", "x-request-id" in exposed.lower() or exposed == "*", exposed or "nothing")
    refused = yield from trial.respond(7)
    if 400 <= refused.status < 500:
        trial.expect("responses:headers:error-json", *jsonness(refused))
    other = refused.headers.get("x-request-id", "")
    trial.expect("responses:headers:error-request-id", bool(other), "There is none.")
    if request_id and other:
        trial.expect("responses:headers:request-ids-differ", request_id != other, request_id)


def jsonness(exchange: Exchange) -> tuple[bool, str]:
    """Return whether an answer says that it is JSON, and what it says."""
    kind = exchange.headers.get("content-type", "")
    return kind.lower().startswith("application/json"), kind or "no content type"


@case("responses:headers:preflight")
def a_browser_asks_first(trial: Trial) -> Steps:
    """Send a browser's preflight request."""
    asked = {"origin": "https://example.com", "access-control-request-method": "POST"}
    exchange = yield from trial.ask(Request(method="OPTIONS", path="/responses", headers=asked))
    trial.expect("responses:headers:preflight", 0 < exchange.status < 500, exchange.came)


@case("responses:headers:key-not-told", "responses:headers:challenge")
def a_wrong_key_is_not_repeated(trial: Trial) -> Steps:
    """Ask with a wrong key."""
    exchange = yield from trial.get("/models", headers={"authorization": f"Bearer {WRONG_KEY}"})
    told = exchange.body.decode("utf-8", "replace") + "".join(exchange.headers.values())
    trial.expect("responses:headers:key-not-told", bool(exchange.status) and WRONG_KEY not in told, exchange.came)
    if exchange.status != 401:
        raise Stop("skipped", "The server takes any key.")
    is_right = "www-authenticate" in exchange.headers and is_envelope(exchange)
    trial.expect("responses:headers:challenge", is_right, exchange.came)


@case("responses:headers:key-odd")
def an_odd_key_breaks_nothing(trial: Trial) -> Steps:
    """Ask with a key that is meant to break a database."""
    exchange = yield from trial.get("/models", headers={"authorization": ODD_KEY})
    trial.expect("responses:headers:key-odd", 0 < exchange.status < 500, exchange.came)
