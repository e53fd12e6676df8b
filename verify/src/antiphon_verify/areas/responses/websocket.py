"""WebSocket mode."""

from dataclasses import replace
from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.areas.responses.compact import compactions_of
from antiphon_verify.case import case
from antiphon_verify.events.streams import STREAMS
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import MISSING, at, is_integer, is_text, listed, preview
from antiphon_verify.replies import Reply, frames
from antiphon_verify.replies.responses import websocket as replies
from antiphon_verify.replies.responses.compact import TURNS
from antiphon_verify.requirement import Stop, may, must, should
from antiphon_verify.soundness import ENDS, STREAM_IDS, judge_stream
from antiphon_verify.trial import ExchangeSteps, Steps, Trial


def create(
    trial: Trial, input: Any = "Say hello.", *, socket: int = 0, until: str = "", **parameters: Any
) -> ExchangeSteps:
    """Send `response.create`; return what is received.

    Ends the case if the server has no WebSocket mode.
    """
    body = {"type": "response.create", **trial.response_body(input, **parameters)}
    exchange = yield from trial.send_text(body, socket=socket, until=until)
    if exchange.status != 101:
        trial.offered(exchange)
        raise Stop("not offered", f"status {exchange.status}")
    return exchange


def events_of(trial: Trial, exchange: Exchange) -> list[dict[str, Any]]:
    """Return the events of a whole response. Ends the case without one."""
    events = trial.streamed(exchange)
    if events[-1].get("type") not in ENDS:
        raise Stop("failed", f"The answer ends with {preview(events[-1])}.")
    return events


def last(exchange: Exchange) -> Any:
    """Return the last message, `MISSING` without one."""
    return exchange.events[-1] if exchange.events else MISSING


def is_error(message: Any) -> bool:
    """Whether a message is an error of WebSocket mode."""
    is_right = is_text(at(message, "error", "message")) and is_integer(at(message, "status"))
    return at(message, "type") == "error" and is_right


@case(
    should(
        "responses:websocket:refused-well",
        "issue codex#19821",
        "A server without WebSocket mode responds with 426.",
        fault=[replies.EMPTY, Reply(404)],
    ),
    good=[replies.EMPTY, Reply(426)],
)
def an_upgrade_is_refused_well(trial: Trial) -> Steps:
    """Request a WebSocket, and judge the rejection if the server has no WebSocket mode."""
    trial.supported((yield from trial.post("/responses", content=b"")))
    exchange = yield from trial.send_text({"type": "response.create"})
    if exchange.status == 101:
        raise Stop("skipped", "WebSocket mode is available.")
    trial.expect("responses:websocket:refused-well", exchange.status == 426, exchange.came)


UPGRADE = {"connection": "upgrade", "upgrade": "websocket"}


@case(
    should(
        "responses:websocket:other-version",
        "http RFC 6455 4.2.2",
        "An upgrade with another `Sec-WebSocket-Version` fails with 426, "
        "which names the version 13.",
        fault=[replies.FIRST, Reply(426), Reply(400)],
    ),
    should(
        "responses:websocket:no-key",
        "http RFC 6455 4.2.1",
        "An upgrade without a `Sec-WebSocket-Key` fails with 400.",
        fault=[
            replies.FIRST,
            Reply(426, headers={"sec-websocket-version": "13"}),
            Reply(0, fault="the connection was closed"),
        ],
    ),
    good=[replies.FIRST, Reply(426, headers={"sec-websocket-version": "13"}), Reply(400)],
)
def invalid_upgrades_are_answered(trial: Trial) -> Steps:
    """Request a WebSocket in another version, and one without a key."""
    events_of(trial, (yield from create(trial)))
    key = {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}
    other = yield from trial.get(
        "/responses", headers=UPGRADE | key | {"sec-websocket-version": "8"}
    )
    is_named = other.status == 426 and "13" in other.headers.get("sec-websocket-version", "")
    trial.expect("responses:websocket:other-version", is_named, other.came)
    bare = yield from trial.get("/responses", headers=UPGRADE | {"sec-websocket-version": "13"})
    trial.expect("responses:websocket:no-key", bare.status == 400, bare.came)


@case(
    must(
        "responses:websocket:created",
        "spec 8",
        "`response.create` returns the events of a stream, to the last one.",
        fault=[frames(*STREAMS["failure"]), replies.SECOND],
    ),
    must(
        "responses:websocket:messages",
        "spec 8",
        "Each message is one JSON object, an event, without SSE framing.",
        fault=[replies.FRAMED, replies.SECOND],
    ),
    must(
        "responses:websocket:twice",
        "open-responses 13",
        "A second `response.create` on the same socket is answered.",
        fault=[replies.FIRST, replies.CLOSED],
    ),
    must(
        "responses:websocket:ids-differ",
        "spec 8",
        "Two responses on a socket have different ids.",
        fault=[replies.FIRST, replies.FIRST],
    ),
    should(
        "responses:websocket:no-lane",
        "spec 8",
        "The events of a request without a `stream_id` have none.",
        fault=[replies.in_lane(lane="lane-0"), replies.SECOND],
    ),
    asides=STREAM_IDS,
    good=[replies.FIRST, replies.SECOND],
)
def responses_are_created_on_a_socket(trial: Trial) -> Steps:
    """Create two responses on one socket."""
    first = yield from create(trial)
    are_events = bool(first.events) and all(is_text(at(one, "type")) for one in first.events)
    trial.expect("responses:websocket:messages", are_events, first.came)
    events = events_of(trial, first)
    trial.expect(
        "responses:websocket:created", events[-1].get("type") != "response.failed", first.came
    )
    judge_stream(trial, events)
    trial.expect(
        "responses:websocket:no-lane", not any("stream_id" in event for event in events), first.came
    )
    second = yield from create(trial)
    is_answered = second.is_ok and second.is_reused and at(last(second), "type") in ENDS
    trial.expect("responses:websocket:twice", is_answered, second.came)
    ids = [at(one, "response", "id") for one in (events[-1], last(second))]
    trial.expect("responses:websocket:ids-differ", ids[0] != ids[1], ids)


@case(
    should(
        "responses:websocket:prewarm",
        "spec 24",
        "`prompt_cache_options.prewarm` returns no output.",
        fault=[replies.FIRST],
    ),
    good=[replies.WARM],
)
def a_prompt_cache_is_filled(trial: Trial) -> Steps:
    """Send a request that only fills the prompt cache."""
    events = events_of(
        trial, (yield from create(trial, prompt_cache_options={"prewarm": True}, generate=True))
    )
    response = at(events, -1, "response")
    trial.expect("responses:websocket:prewarm", at(response, "output") == [], preview(response))


@case(
    must(
        "responses:websocket:warm-up",
        "spec 8",
        "`generate: false` returns a response with an id, and no output.",
        fault=[replies.FIRST, replies.SECOND],
    ),
    must(
        "responses:websocket:warm-up-used",
        "client codex",
        "A warm-up response can be continued by its id.",
        fault=[replies.WARM, replies.LOST],
    ),
    good=[replies.WARM, replies.SECOND],
)
def a_socket_is_warmed_up(trial: Trial) -> Steps:
    """Send a request with `generate: false`, and continue from it."""
    events = events_of(trial, (yield from create(trial, generate=False, store=False)))
    response = at(events, -1, "response")
    trial.expect("responses:websocket:warm-up", at(response, "output") == [], preview(response))
    second = yield from create(trial, previous_response_id=id_of(response), store=False)
    is_used = at(last(second), "type") in ENDS[:2]
    trial.expect("responses:websocket:warm-up-used", is_used, second.came)


@case(
    must(
        "responses:websocket:continued",
        "spec 8",
        "An unstored response can be continued on the same socket.",
        fault=[replies.FIRST, replies.LOST, *replies.CHAIN[2:]],
    ),
    must(
        "responses:websocket:lost",
        "spec 8",
        "Continuing an unstored response on a new socket fails with `previous_response_not_found`.",
        fault=[replies.FIRST, replies.SECOND, replies.SECOND, replies.FIRST],
    ),
    must(
        "responses:websocket:error-shape",
        "spec 8",
        "An error is an event `error` with `status` and an `error` with a message.",
        fault=[
            replies.FIRST,
            replies.SECOND,
            frames({"type": "error", "code": "x"}),
            replies.FIRST,
        ],
    ),
    must(
        "responses:websocket:survives",
        "spec 8",
        "After an error the socket accepts another `response.create`.",
        fault=[replies.FIRST, replies.SECOND, replies.LOST, replies.CLOSED],
    ),
    good=replies.CHAIN,
)
def an_unstored_chain_lives_on_its_socket(trial: Trial) -> Steps:
    """Continue from an unstored response on the same socket, then on a new one."""
    previous = id_of(at(events_of(trial, (yield from create(trial, store=False))), -1, "response"))
    again = yield from create(trial, previous_response_id=previous, store=False)
    trial.expect("responses:websocket:continued", at(last(again), "type") in ENDS[:2], again.came)
    rejected = yield from create(trial, socket=1, previous_response_id=previous, store=False)
    message = last(rejected)
    is_rejected = at(message, "error", "code") == "previous_response_not_found"
    trial.expect("responses:websocket:lost", is_rejected, rejected.came)
    trial.expect("responses:websocket:error-shape", is_error(message), rejected.came)
    fresh = yield from create(trial, socket=1, store=False)
    is_alive = fresh.is_reused and at(last(fresh), "type") in ENDS[:2]
    trial.expect("responses:websocket:survives", is_alive, fresh.came)


@case(
    should(
        "responses:websocket:bad-json",
        "spec 8",
        "A message that is not JSON is answered with an error.",
        fault=[replies.FIRST, replies.CLOSED, *replies.BAD[2:]],
    ),
    should(
        "responses:websocket:unknown-type",
        "spec 8",
        "A message of an unknown type is answered with an error.",
        fault=[replies.FIRST, replies.fails(), replies.SECOND, replies.BAD[3]],
    ),
    must(
        "responses:websocket:bad-request",
        "spec 8",
        "An invalid `response.create` is answered with an error.",
        fault=[replies.FIRST, replies.fails(), replies.fails(), replies.SECOND],
    ),
    should(
        "responses:websocket:bad-request-named",
        "spec 8",
        "The error for an invalid `response.create` has the `param`.",
        fault=[replies.FIRST, replies.fails(), replies.fails(), replies.fails()],
    ),
    good=replies.BAD,
)
def bad_messages_are_answered(trial: Trial) -> Steps:
    """Send invalid JSON, a message of an unknown type, and an invalid request."""
    events_of(trial, (yield from create(trial)))
    broken = yield from trial.send_text(None, content=b'{"type": "response.cre')
    trial.expect("responses:websocket:bad-json", at(last(broken), "type") == "error", broken.came)
    unknown = yield from trial.send_text({"type": "response.destroy"})
    trial.expect(
        "responses:websocket:unknown-type", at(last(unknown), "type") == "error", unknown.came
    )
    bad = yield from create(trial, 7)
    trial.expect("responses:websocket:bad-request", at(last(bad), "type") == "error", bad.came)
    trial.expect(
        "responses:websocket:bad-request-named",
        at(last(bad), "error", "param") == "input",
        bad.came,
    )


@case(
    should(
        "responses:websocket:lane",
        "spec 8",
        "The events of a request with a `stream_id` have the same `stream_id`.",
        fault=[replies.in_lane(lane=None), replies.fails("invalid_stream_id")],
    ),
    should(
        "responses:websocket:bad-lane",
        "spec 8",
        "A `stream_id` with unusual characters fails with `invalid_stream_id`.",
        fault=[replies.in_lane(lane="lane-1"), replies.in_lane(lane="no lane")],
    ),
    good=[replies.in_lane(lane="lane-1"), replies.fails("invalid_stream_id", "stream_id")],
)
def lanes_are_distinguished(trial: Trial) -> Steps:
    """Create a response in a lane, and one in an invalid lane."""
    events = events_of(trial, (yield from create(trial, stream_id="lane-1")))
    trial.expect(
        "responses:websocket:lane",
        all(event.get("stream_id") == "lane-1" for event in events),
        preview(events[0]),
    )
    bad = yield from create(trial, stream_id="no lane")
    code = at(last(bad), "error", "code")
    trial.expect("responses:websocket:bad-lane", code == "invalid_stream_id", bad.came)


@case(
    should(
        "responses:websocket:evicted",
        "open-responses 13",
        "A failed continuation removes its unstored parent response.",
        fault=[replies.FIRST, replies.fails(), replies.SECOND],
    ),
    good=[replies.FIRST, replies.fails(), replies.LOST],
)
def a_failed_continuation_ends_a_chain(trial: Trial) -> Steps:
    """Continue from an unstored response with an error, then correctly."""
    previous = id_of(at(events_of(trial, (yield from create(trial, store=False))), -1, "response"))
    orphan = [{"type": "function_call_output", "call_id": "call_9", "output": "Sunny."}]
    failed = yield from create(trial, orphan, previous_response_id=previous, store=False)
    if at(last(failed), "type") in ENDS[:2]:
        raise Stop("failed", f"An output without a call was accepted: {failed.came}")
    again = yield from create(trial, previous_response_id=previous, store=False)
    is_unavailable = at(last(again), "error", "code") == "previous_response_not_found"
    trial.expect("responses:websocket:evicted", is_unavailable, again.came)


@case(
    may(
        "responses:websocket:no-stream",
        "open-responses 13",
        "`background: true` in a `response.create` is rejected.",
        fault=[replies.FIRST],
    ),
    good=[replies.fails("unsupported_parameter")],
)
def background_has_no_place_on_a_socket(trial: Trial) -> Steps:
    """Request a background response on a socket."""
    exchange = yield from create(trial, background=True)
    trial.expect(
        "responses:websocket:no-stream", at(last(exchange), "type") == "error", exchange.came
    )


@case(
    must(
        "responses:websocket:compacted",
        "open-responses 13",
        "The output of `/responses/compact` starts a new chain on a socket, without a "
        "`previous_response_id`.",
        fault=[replies.COMPACTED, replies.fails()],
    ),
    good=[replies.COMPACTED, replies.FIRST],
)
def a_compacted_context_begins_a_chain(trial: Trial) -> Steps:
    """Compact a conversation over HTTP, and continue it on a socket."""
    compacted = trial.whole(
        (yield from trial.post("/responses/compact", {"model": trial.model, "input": TURNS}))
    )
    if not compactions_of(compacted):
        raise Stop("skipped", "The response has no compaction item.")
    more = [*listed(compacted, "output"), {"role": "user", "content": "What is my name?"}]
    exchange = yield from create(trial, more, store=False)
    trial.expect(
        "responses:websocket:compacted", at(last(exchange), "type") in ENDS[:2], exchange.came
    )


# Steering.

STEER = "response.steer."

LONG = "Count from 1 to 100 in words, separated by blanks."


def steer(trial: Trial, response_id: str, answers: int = 1) -> ExchangeSteps:
    """Send `response.steer`; return what is received up to its result.

    Ends the case if the server does not support it.

    `answers` are the ends and errors that can come before the result.
    """
    body = {
        "type": "response.steer",
        "previous_response_id": response_id,
        "input": "In French, please.",
    }
    exchange = yield from trial.send_text(body, until=STEER, answers=answers)
    if any(at(event, "type") == "error" for event in exchange.events):
        raise Stop("not offered", exchange.came)
    return exchange


def is_returned(event: Any) -> bool:
    """Whether a failed steer has an error and its input."""
    is_right = is_text(at(event, "error", "code")) and is_text(at(event, "error", "message"))
    return is_right and bool(at(event, "steer", "input"))


@case(
    should(
        "responses:websocket:steer-unknown",
        "spec 8",
        "A `response.steer` of an unknown response fails with `response.steer.failed`, "
        "`response_not_found`.",
        fault=[replies.FIRST, replies.ACCEPTED],
    ),
    must(
        "responses:websocket:steer-failed",
        "spec 8",
        "A failed steer returns its input, with an error that has a code and a message.",
        fault=[replies.FIRST, replies.steered("failed", error=replies.NO_SUCH)],
    ),
    good=[replies.FIRST, replies.NOT_FOUND],
)
def an_unknown_response_is_steered(trial: Trial) -> Steps:
    """Create a response, and steer another."""
    events_of(trial, (yield from create(trial)))
    exchange = yield from steer(trial, "resp_00000000000000000000000000000000")
    failed = last(exchange)
    is_unknown = (
        at(failed, "type") == f"{STEER}failed"
        and at(failed, "error", "code") == "response_not_found"
    )
    if trial.expect("responses:websocket:steer-unknown", is_unknown, exchange.came):
        trial.expect("responses:websocket:steer-failed", is_returned(failed), exchange.came)


@case(
    should(
        "responses:websocket:steer-answered",
        "spec 8",
        "A `response.steer` is answered with `response.steer.accepted` or `response.steer.failed`.",
        fault=[replies.BEGUN, replies.FIRST],
    ),
    "responses:websocket:steer-failed",
    must(
        "responses:websocket:steer-accepted",
        "spec 8",
        "An accepted steer has an id, and the `previous_response_id` of its request.",
        fault=[replies.BEGUN, replies.steered("accepted"), replies.BOTH],
    ),
    must(
        "responses:websocket:steered",
        "spec 8",
        "A steered response ends, and so does the response that follows it.",
        fault=[replies.BEGUN, replies.ACCEPTED, replace(replies.FIRST, fault="the time was up")],
    ),
    good=[replies.BEGUN, replies.ACCEPTED, replies.BOTH],
)
def a_response_is_steered(trial: Trial) -> Steps:
    """Start a long response, and steer it."""
    begun = yield from create(trial, LONG, until="response.created")
    response_id = id_of(at(last(begun), "response"))
    exchange = yield from steer(trial, response_id, answers=2)
    reply = last(exchange)
    is_answered = at(reply, "type") in (f"{STEER}accepted", f"{STEER}failed")
    if not trial.expect("responses:websocket:steer-answered", is_answered, exchange.came):
        return
    if at(reply, "type") == f"{STEER}failed":
        trial.expect("responses:websocket:steer-failed", is_returned(reply), exchange.came)
        raise Stop("skipped", "The response ended before it could be steered.")
    is_named = (
        is_text(at(reply, "steer", "id"))
        and at(reply, "steer", "previous_response_id") == response_id
    )
    trial.expect("responses:websocket:steer-accepted", is_named, exchange.came)
    rest = yield from trial.send_text(None, content=b"", answers=2)
    ids = [at(event, "response", "id") for event in rest.events if at(event, "type") in ENDS]
    trial.expect(
        "responses:websocket:steered", rest.is_ok and len(ids) == 2 and ids[0] != ids[1], rest.came
    )
