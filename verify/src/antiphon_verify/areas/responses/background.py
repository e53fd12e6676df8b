"""Background responses."""

from collections.abc import Generator
from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.areas.responses.text import output_of
from antiphon_verify.case import case
from antiphon_verify.events.streams import STREAMS
from antiphon_verify.exchange import Step
from antiphon_verify.reading import at, is_integer, preview
from antiphon_verify.replies import Reply, error, streams
from antiphon_verify.replies.responses import background as replies
from antiphon_verify.requirement import may, must, should
from antiphon_verify.soundness import STREAM_IDS, judge_stream
from antiphon_verify.trial import Steps, Trial, is_response

POLLS = 60

BETWEEN = 0.25
"""Seconds between two polls."""

OPEN = ("queued", "in_progress")


def ended(trial: Trial, response_id: str) -> Generator[Step, Any, dict[str, Any]]:
    """Poll a response until it has ended, or for this many seconds; return it."""
    response: dict[str, Any] = {}
    for _ in range(POLLS):
        response = trial.whole((yield from trial.get(f"/responses/{response_id}")))
        if at(response, "status") not in OPEN:
            break
        yield from trial.pause(BETWEEN)
    return response


@case(
    must(
        "responses:background:at-once",
        "spec 9",
        "A background request returns at once, with the status `queued` or `in_progress`.",
        fault=[replies.DONE, replies.DONE],
    ),
    must(
        "responses:background:empty",
        "spec 9",
        "Until a background response ends, its output is empty and its usage null.",
        fault=[replies.QUEUED.patched("usage", to={}), replies.DONE],
    ),
    must(
        "responses:background:told",
        "spec 3",
        "A background response has `background: true`.",
        fault=[replies.QUEUED.patched("background", to=False), replies.DONE],
    ),
    must(
        "responses:background:completed",
        "spec 9",
        "A background response that a client polls eventually becomes `completed`.",
        fault=[replies.QUEUED, *[replies.UNDER_WAY] * POLLS],
    ),
    must(
        "responses:background:whole",
        "spec 9",
        "A completed background response has its output and its usage.",
        fault=[replies.QUEUED, replies.DONE.patched("output", to=[])],
    ),
    good=[replies.QUEUED, replies.QUEUED, replies.UNDER_WAY, replies.DONE],
)
def work_is_left_in_the_background(trial: Trial) -> Steps:
    """Create a background response, and poll it until it has ended."""
    exchange = yield from trial.respond("Say hello.", background=True)
    queued = trial.whole(exchange)
    status = at(queued, "status")
    trial.expect("responses:background:at-once", status in OPEN, exchange.came)
    is_empty = at(queued, "output") == [] and at(queued, "usage") is None
    if status in OPEN:
        trial.expect("responses:background:empty", is_empty, exchange.came)
    trial.expect(
        "responses:background:told",
        at(queued, "background") is True,
        preview(at(queued, "background")),
    )
    response = yield from ended(trial, id_of(queued))
    status = at(response, "status")
    trial.expect(
        "responses:background:completed", status in ("completed", "incomplete"), preview(status)
    )
    is_whole = bool(output_of(response)) and is_integer(at(response, "usage", "total_tokens"))
    trial.expect("responses:background:whole", is_whole, preview(response))


@case(
    should(
        "responses:background:opening",
        "spec 16",
        "The stream of a background response begins with created, queued and in_progress.",
        fault=[streams(STREAMS["answer"]), replies.STORED],
    ),
    must(
        "responses:background:streamed",
        "spec 9",
        "The stream of a background response ends like any other stream.",
        fault=[streams(replies.STREAM[:-1]), replies.STORED],
    ),
    must(
        "responses:background:stream-stored",
        "spec 9",
        "After its stream has ended, a background response can be retrieved, completed.",
        fault=[streams(replies.STREAM), Reply(404, b"{}")],
    ),
    asides=STREAM_IDS,
    good=[streams(replies.STREAM), replies.STORED],
)
def background_work_is_streamed(trial: Trial) -> Steps:
    """Stream a background response, and retrieve it."""
    events = trial.streamed((yield from trial.respond("Say hello.", background=True, stream=True)))
    types = [event.get("type") for event in events]
    opening = ["response.created", "response.queued", "response.in_progress"]
    trial.expect("responses:background:opening", types[:3] == opening, types[:3])
    trial.expect(
        "responses:background:streamed",
        types[-1] in ("response.completed", "response.incomplete"),
        types[-1],
    )
    judge_stream(trial, events)
    stored = yield from trial.get(f"/responses/{id_of(at(events, -1, 'response'))}")
    is_stored = stored.is_ok and at(stored.json, "status") == at(events, -1, "response", "status")
    trial.expect("responses:background:stream-stored", is_stored, stored.came)


@case(
    should(
        "responses:background:unstored",
        "spec 9",
        "`store: false` is accepted with `background: true`.",
        fault=[replies.REJECTED],
    ),
    good=[replies.QUEUED],
)
def unstored_work_is_left_in_the_background(trial: Trial) -> Steps:
    """Create a background response with `store: false`."""
    exchange = yield from trial.respond("Say hello.", background=True, store=False)
    trial.offered(exchange)
    trial.expect(
        "responses:background:unstored",
        exchange.is_ok and is_response(exchange.json),
        exchange.came,
    )


@case(
    should(
        "responses:background:window",
        "spec 24",
        "A background response with a `completion_window` of hours is accepted.",
        fault=[error("Boom.", 500)],
    ),
    may(
        "responses:background:window-shown",
        "spec 24",
        "A response shows the `background_options` of its request.",
        fault=[replies.QUEUED, replies.WAITS],
    ),
    good=[replies.WAITS, replies.WAITS],
)
def work_can_wait(trial: Trial) -> Steps:
    """Create a background response that can wait for two hours, and cancel it."""
    options = {"completion_window": "2h", "continuation_id": "verify"}
    exchange = yield from trial.respond("Say hello.", background=True, background_options=options)
    queued = trial.response(exchange)
    trial.expect("responses:background:window", True)
    displayed_options = at(queued, "background_options")
    is_whole = all(at(displayed_options, name) == value for name, value in options.items())
    trial.expect("responses:background:window-shown", is_whole, preview(displayed_options))
    yield from trial.post(f"/responses/{id_of(queued)}/cancel", {})
