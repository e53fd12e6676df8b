"""HTTP itself. Judged on the models, and on whichever of the two APIs the server supports."""

import gzip
import json
from collections.abc import Generator
from dataclasses import replace
from typing import Any

from antiphon_verify.case import Case, case
from antiphon_verify.exchange import Exchange, Request, Step
from antiphon_verify.reading import at, is_text
from antiphon_verify.replies import error
from antiphon_verify.replies.transport import http as replies
from antiphon_verify.requirement import Requirement, Stop, may, must, should
from antiphon_verify.trial import ExchangeSteps, Steps, Trial, is_completion, is_response

JSON = {"content-type": "application/json"}


def body_of(trial: Trial, api: str, text: str = "Say hello.", **more: Any) -> dict[str, Any]:
    """Return a valid body for a path of one of the APIs."""
    return (
        trial.response_body(text, **more) if api == "/responses" else trial.chat_body(text, **more)
    )


def api_of(trial: Trial) -> Generator[Step, Any, str]:
    """Return the path of an API that answers. Ends the case if neither does.

    A served path can still be unusable: a gateway forwards requests to a backend that lacks the
    API.
    """
    for path in ("/responses", "/chat/completions"):
        exchange = yield from trial.post(path, body_of(trial, path))
        if is_answered(exchange):
            return path
    raise Stop("skipped", "Neither API answers a plain request.")


def good(trial: Trial, **request: Any) -> ExchangeSteps:
    """Send a valid request, with extra headers or other bytes."""
    path = yield from api_of(trial)
    content = json.dumps(body_of(trial, path)).encode()
    code = request.pop("code", bytes)
    return (yield from trial.post(path, content=code(content), **request))


def is_answered(exchange: Exchange) -> bool:
    """Whether a valid request was answered, on either API."""
    return exchange.is_ok and (is_response(exchange.json) or is_completion(exchange.json))


def is_refused(exchange: Exchange) -> bool:
    """Whether the request was rejected as the client's error."""
    return 400 <= exchange.status < 500


@case(
    should(
        "transport:http:kept-alive",
        "http",
        "A connection serves a second request.",
        fault=[replies.LIST, replies.second(is_reused=False)],
    ),
    must(
        "transport:http:length",
        "http",
        "A `content-length` equals the length of the body.",
        fault=[replies.LIST, replies.second(999)],
    ),
    may(
        "transport:http:date",
        "http",
        "Responses have a `date`.",
        fault=[replies.LIST, replace(replies.second(), headers={})],
    ),
    good=[replies.LIST, replies.second()],
)
def a_connection_serves_twice(trial: Trial) -> Steps:
    """Request the models twice."""
    yield from trial.get("/models")
    second = yield from trial.get("/models")
    trial.answered(second)
    trial.expect(
        "transport:http:kept-alive", second.is_reused, "The second request needed a new connection."
    )
    length = str(len(second.body))
    announced = second.headers.get("content-length", length)
    trial.expect(
        "transport:http:length",
        announced == length,
        f"A content-length of {announced}, and {length} bytes.",
    )
    trial.expect("transport:http:date", bool(second.headers.get("date")), "The header is missing.")


@case(
    must(
        "transport:http:head",
        "http",
        "HEAD never returns a 5xx.",
        fault=[replies.LIST, replies.BROKEN],
    ),
    good=[replies.LIST, error("No.", 405)],
)
def a_head_is_requested(trial: Trial) -> Steps:
    """Send HEAD to the path of the models, after GET."""
    listed = yield from trial.get("/models")
    if listed.status >= 500:
        raise Stop("skipped", f"GET returns the same: {listed.came}")
    exchange = yield from trial.send_request(Request(method="HEAD", path="/models"))
    trial.expect("transport:http:head", 0 < exchange.status < 500, exchange.came)


@case(
    must("transport:http:options", "http", "OPTIONS never returns a 5xx.", fault=[replies.BROKEN]),
    good=[error("No.", 405)],
)
def options_are_requested(trial: Trial) -> Steps:
    """Send OPTIONS to the path of chat completions."""
    exchange = yield from trial.send_request(Request(method="OPTIONS", path="/chat/completions"))
    trial.expect("transport:http:options", 0 < exchange.status < 500, exchange.came)


@case(
    must(
        "transport:http:compressed-request",
        "issue ollama v0.33",
        "A compressed body is accepted, or rejected with a 4xx.",
        fault=[replies.GOOD, replies.BROKEN],
    ),
    good=[replies.GOOD, error("No.", 415)],
)
def a_compressed_body_is_sent(trial: Trial) -> Steps:
    """Send a compressed valid request."""
    exchange = yield from good(
        trial, code=gzip.compress, headers=JSON | {"content-encoding": "gzip"}
    )
    trial.expect(
        "transport:http:compressed-request",
        is_answered(exchange) or is_refused(exchange),
        exchange.came,
    )


@case(
    should(
        "transport:http:query",
        "http",
        "An unknown query parameter is ignored.",
        fault=[replies.GOOD, error("Unknown query.")],
    ),
    good=[replies.GOOD, replies.GOOD],
)
def a_query_is_sent_along(trial: Trial) -> Steps:
    """Send a valid request with an unknown query parameter."""
    path = yield from api_of(trial)
    exchange = yield from trial.post(f"{path}?x-unknown=1", body_of(trial, path))
    trial.expect("transport:http:query", is_answered(exchange), exchange.came)


@case(
    must(
        "transport:http:unknown-coding",
        "http",
        "A body with an unknown content encoding is rejected with a 4xx.",
        fault=[replies.GOOD, replies.GOOD],
    ),
    good=[replies.GOOD, error("No.", 415)],
)
def a_body_of_an_unknown_coding_is_sent(trial: Trial) -> Steps:
    """Send a body with an unknown content encoding."""
    headers = JSON | {"content-encoding": "rot13"}
    exchange = yield from good(trial, code=lambda content: content[::-1], headers=headers)
    trial.expect("transport:http:unknown-coding", is_refused(exchange), exchange.came)


@case(
    must(
        "transport:http:identity",
        "http",
        "A client that accepts only `identity` receives an uncompressed response.",
        fault=[replace(replies.LIST, headers={"content-encoding": "gzip"})],
    ),
    good=[replies.LIST],
)
def plain_bytes_are_requested(trial: Trial) -> Steps:
    """Accept only uncompressed responses."""
    exchange = yield from trial.get("/models", headers={"accept-encoding": "identity"})
    trial.answered(exchange)
    coding = exchange.headers.get("content-encoding", "identity")
    is_plain = coding == "identity" and (not exchange.is_ok or isinstance(exchange.json, dict))
    trial.expect("transport:http:identity", is_plain, coding)


@case(
    must(
        "transport:http:left",
        "spec 7",
        "A client that disconnects during a stream does not affect the next request.",
        fault=[replies.GOOD, replies.GOOD, replies.BROKEN],
    ),
    good=[replies.GOOD, replies.GOOD, replies.GOOD],
)
def a_client_leaves(trial: Trial) -> Steps:
    """Disconnect from a stream after its first bytes, then send another request."""
    path = yield from api_of(trial)
    text = "Count from 1 to 100 in words."
    left = yield from trial.post(path, body_of(trial, path, text, stream=True), leave_after=1)
    trial.succeed(left)
    exchange = yield from trial.post(path, body_of(trial, path))
    trial.expect("transport:http:left", is_answered(exchange), exchange.came)


WORDS = ("alpha", "beta", "gamma", "delta")


@case(
    must(
        "transport:http:side-by-side",
        "spec 13",
        "Each of several concurrent requests receives its own response.",
        fault=[replies.GOOD, replies.GOOD, replies.GOOD, replies.GOOD, replies.GOOD],
    ),
    good=[replies.GOOD, *replies.OWN],
)
def requests_are_sent_at_once(trial: Trial) -> Steps:
    """Send four concurrent requests."""
    path = yield from api_of(trial)
    bodies = [body_of(trial, path, f"Say {word}.") for word in WORDS]
    exchanges = yield from trial.together(
        *(Request(method="POST", path=path, body=body) for body in bodies)
    )
    ids = [at(exchange.json, "id") for exchange in exchanges]
    are_distinct = all(map(is_answered, exchanges)) and len(
        set(map(str, filter(is_text, ids)))
    ) == len(WORDS)
    trial.expect(
        "transport:http:side-by-side",
        are_distinct,
        "; ".join(exchange.came for exchange in exchanges),
    )


@case(
    must(
        "transport:http:large",
        "spec 2",
        "An input of 200 kB is accepted, or rejected with a 4xx.",
        fault=[replies.GOOD, replies.BROKEN],
    ),
    good=[replies.GOOD, error("Too long.")],
)
def much_is_sent(trial: Trial) -> Steps:
    """Send an input of 200 kB."""
    path = yield from api_of(trial)
    text = f"Say hello. {'Leave these words alone. ' * 8000}"
    exchange = yield from trial.post(path, body_of(trial, path, text))
    trial.expect(
        "transport:http:large", is_answered(exchange) or is_refused(exchange), exchange.came
    )


def heading(requirement: Requirement, headers: dict[str, str], *, refusable: bool = False) -> Case:
    """Return the case that sends a valid request with unusual headers; if `refusable`, a rejection
    passes as well.
    """
    row = replace(requirement, fault=[replies.GOOD, replies.BROKEN])
    name = row.id.rpartition(":")[2]

    def script(trial: Trial) -> Steps:
        exchange: Exchange = yield from good(trial, headers=headers)
        is_right = is_answered(exchange) or (refusable and is_refused(exchange))
        trial.expect(row.id, is_right, exchange.came)

    script.__doc__ = f"Send a valid request: {name}."
    return Case(
        f"headed_{name.replace('-', '_')}", (row,), script, good=[replies.GOOD, replies.GOOD]
    )


HEADED = (
    heading(
        must("transport:http:unknown-headers", "http", "Unknown headers are ignored."),
        JSON | {"x-unknown": "1", "openai-beta": "x=v9", "cookie": "a=b"},
    ),
    heading(
        must(
            "transport:http:content-type-case",
            "http",
            "The content type is accepted in any case, with a charset.",
        ),
        {"content-type": "Application/JSON; charset=UTF-8"},
    ),
    heading(
        should(
            "transport:http:text",
            "http",
            "A body with the content type `text/plain` is accepted, or rejected with 415.",
        ),
        {"content-type": "text/plain"},
        refusable=True,
    ),
)
