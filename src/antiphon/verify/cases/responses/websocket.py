"""WebSocket mode."""

from typing import Any

from antiphon.verify.case import case
from antiphon.verify.cases.responses.chain import id_of
from antiphon.verify.exchange import Exchange
from antiphon.verify.reading import MISSING, at, is_integer, is_text, shown
from antiphon.verify.soundness import ENDS, STREAM_IDS, judge_stream
from antiphon.verify.trial import Asking, Steps, Trial
from antiphon.verify.verdict import Stop


def create(trial: Trial, input: Any = "Say hello.", *, socket: int = 0, **parameters: Any) -> Asking:
    """Send `response.create`; return what is heard. Ends the case where there is no WebSocket mode."""
    body = {"type": "response.create", **trial.response_body(input, **parameters)}
    exchange = yield from trial.say(body, socket=socket)
    if exchange.status != 101:
        trial.offered(exchange)
        raise Stop("not offered", f"status {exchange.status}")
    return exchange


def heard(trial: Trial, exchange: Exchange) -> list[dict[str, Any]]:
    """Return the events of a whole answer. Ends the case where there is none."""
    events = trial.streamed(exchange)
    if events[-1].get("type") not in ENDS:
        raise Stop("failed", f"The answer ends with {shown(events[-1])}.")
    return events


def last(exchange: Exchange) -> Any:
    """Return the last message, `MISSING` where there is none."""
    return exchange.events[-1] if exchange.events else MISSING


def is_error(message: Any) -> bool:
    """Whether a message is an error of WebSocket mode."""
    is_told = is_text(at(message, "error", "message")) and is_integer(at(message, "status"))
    return at(message, "type") == "error" and is_told


@case("responses:websocket:refused-well")
def an_upgrade_is_refused_well(trial: Trial) -> Steps:
    """Ask for a WebSocket, and see how that is refused where it is."""
    trial.served((yield from trial.post("/responses", content=b"")))
    exchange = yield from trial.say({"type": "response.create"})
    if exchange.status == 101:
        raise Stop("skipped", "WebSocket mode is served.")
    trial.expect("responses:websocket:refused-well", exchange.status == 426, exchange.came)


@case(
    "responses:websocket:created",
    "responses:websocket:messages",
    "responses:websocket:twice",
    "responses:websocket:ids-differ",
    "responses:websocket:no-lane",
    asides=STREAM_IDS,
)
def responses_are_made_on_a_socket(trial: Trial) -> Steps:
    """Make two responses on one socket."""
    first = yield from create(trial)
    are_events = bool(first.events) and all(is_text(at(one, "type")) for one in first.events)
    trial.expect("responses:websocket:messages", are_events, first.came)
    events = heard(trial, first)
    trial.expect("responses:websocket:created", events[-1].get("type") != "response.failed", first.came)
    judge_stream(trial, events)
    trial.expect("responses:websocket:no-lane", not any("stream_id" in event for event in events), first.came)
    second = yield from create(trial)
    is_answered = second.is_ok and second.is_reused and at(last(second), "type") in ENDS
    trial.expect("responses:websocket:twice", is_answered, second.came)
    ids = [at(one, "response", "id") for one in (events[-1], last(second))]
    trial.expect("responses:websocket:ids-differ", ids[0] != ids[1], ids)


@case("responses:websocket:warm-up", "responses:websocket:warm-up-used")
def a_socket_is_warmed_up(trial: Trial) -> Steps:
    """Send a request that is not to be answered, and go on from it."""
    events = heard(trial, (yield from create(trial, generate=False, store=False)))
    response = at(events, -1, "response")
    trial.expect("responses:websocket:warm-up", at(response, "output") == [], shown(response))
    second = yield from create(trial, previous_response_id=id_of(response), store=False)
    is_used = at(last(second), "type") in ENDS[:2]
    trial.expect("responses:websocket:warm-up-used", is_used, second.came)


@case(
    "responses:websocket:continued",
    "responses:websocket:lost",
    "responses:websocket:error-shape",
    "responses:websocket:survives",
)
def an_unstored_chain_lives_on_its_socket(trial: Trial) -> Steps:
    """Go on from an unstored response on the same socket, then on a new one."""
    previous = id_of(at(heard(trial, (yield from create(trial, store=False))), -1, "response"))
    again = yield from create(trial, previous_response_id=previous, store=False)
    trial.expect("responses:websocket:continued", at(last(again), "type") in ENDS[:2], again.came)
    lost = yield from create(trial, socket=1, previous_response_id=previous, store=False)
    message = last(lost)
    is_lost = at(message, "error", "code") == "previous_response_not_found"
    trial.expect("responses:websocket:lost", is_lost, lost.came)
    trial.expect("responses:websocket:error-shape", is_error(message), lost.came)
    fresh = yield from create(trial, socket=1, store=False)
    is_alive = fresh.is_reused and at(last(fresh), "type") in ENDS[:2]
    trial.expect("responses:websocket:survives", is_alive, fresh.came)


@case("responses:websocket:bad-json", "responses:websocket:unknown-type", "responses:websocket:bad-request")
def bad_messages_are_answered(trial: Trial) -> Steps:
    """Send what is no JSON, what is of no known type, and a bad request."""
    heard(trial, (yield from create(trial)))
    broken = yield from trial.say(None, content=b'{"type": "response.cre')
    trial.expect("responses:websocket:bad-json", at(last(broken), "type") == "error", broken.came)
    unknown = yield from trial.say({"type": "response.destroy"})
    trial.expect("responses:websocket:unknown-type", at(last(unknown), "type") == "error", unknown.came)
    bad = yield from create(trial, 7)
    is_named = at(last(bad), "type") == "error" and at(last(bad), "error", "param") == "input"
    trial.expect("responses:websocket:bad-request", is_named, bad.came)


@case("responses:websocket:lane", "responses:websocket:bad-lane")
def lanes_are_told_apart(trial: Trial) -> Steps:
    """Make a response in a lane, and one in a lane that cannot be."""
    events = heard(trial, (yield from create(trial, stream_id="lane-1")))
    trial.expect(
        "responses:websocket:lane", all(event.get("stream_id") == "lane-1" for event in events), shown(events[0])
    )
    bad = yield from create(trial, stream_id="no lane")
    code = at(last(bad), "error", "code")
    trial.expect("responses:websocket:bad-lane", code == "invalid_stream_id", bad.came)


@case("responses:websocket:evicted")
def a_failed_continuation_ends_a_chain(trial: Trial) -> Steps:
    """Go on from an unstored response in a way that fails, then in a good one."""
    previous = id_of(at(heard(trial, (yield from create(trial, store=False))), -1, "response"))
    orphan = [{"type": "function_call_output", "call_id": "call_9", "output": "Sunny."}]
    failed = yield from create(trial, orphan, previous_response_id=previous, store=False)
    if at(last(failed), "type") in ENDS[:2]:
        raise Stop("failed", f"The output of no call was taken: {failed.came}")
    again = yield from create(trial, previous_response_id=previous, store=False)
    is_gone = at(last(again), "error", "code") == "previous_response_not_found"
    trial.expect("responses:websocket:evicted", is_gone, again.came)


@case("responses:websocket:no-stream")
def background_has_no_place_on_a_socket(trial: Trial) -> Steps:
    """Ask for a background response on a socket."""
    exchange = yield from create(trial, background=True)
    trial.expect("responses:websocket:no-stream", at(last(exchange), "type") == "error", exchange.came)
