"""Resumed streams of background responses."""

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.case import case
from antiphon_verify.reading import at, is_integer, preview, unlike
from antiphon_verify.refusal import is_refused
from antiphon_verify.replies.responses import resume as replies
from antiphon_verify.replies.responses.resume import SEEN
from antiphon_verify.requirement import must, should
from antiphon_verify.trial import Steps, Trial


@case(
    must(
        "responses:resume:whole",
        "spec 9",
        "The stream of a background response can be replayed from its beginning.",
        fault=[replies.WHOLE, replies.NOTHING, *replies.GOOD[2:]],
    ),
    must(
        "responses:resume:after",
        "spec 9",
        "`starting_after=N` begins with event N+1, and omits none.",
        fault=[replies.WHOLE, replies.WHOLE, replies.WHOLE, *replies.GOOD[3:]],
    ),
    must(
        "responses:resume:same",
        "spec 9",
        "A replayed event equals the event that was sent first.",
        fault=[replies.WHOLE, replies.WHOLE, replies.OTHER, *replies.GOOD[3:]],
    ),
    must(
        "responses:resume:end",
        "issue litellm#26762",
        "A resumed stream has the same end.",
        fault=[replies.WHOLE, replies.WHOLE, replies.NOTHING, *replies.GOOD[3:]],
    ),
    must(
        "responses:resume:after-last",
        "spec 9",
        "After the last event the stream is empty, without an error.",
        fault=[replies.WHOLE, replies.WHOLE, replies.REST, replies.NOT_FOUND, replies.REJECTED],
    ),
    should(
        "responses:resume:after-word",
        "spec 13",
        "A `starting_after` that is not a number is rejected with 400.",
        fault=[replies.WHOLE, replies.WHOLE, replies.REST, replies.NOTHING, replies.WHOLE],
    ),
    good=replies.GOOD,
)
def a_stream_is_resumed(trial: Trial) -> Steps:
    """Stream a background response, then request its stream again."""
    events = trial.streamed((yield from trial.respond("Say hello.", background=True, stream=True)))
    path = f"/responses/{id_of(at(events, -1, 'response'))}?stream=true"
    again = yield from trial.get(path)
    trial.expect(
        "responses:resume:whole", again.is_ok and len(again.events) == len(events), again.came
    )
    later = yield from trial.get(f"{path}&starting_after={SEEN}")
    numbers = [at(event, "sequence_number") for event in later.events]
    expected = [event.get("sequence_number") for event in events[SEEN + 1 :]]
    trial.expect("responses:resume:after", later.is_ok and numbers == expected, preview(numbers))
    trial.expect(
        "responses:resume:same",
        later.events == events[SEEN + 1 :],
        "The events differ from those sent first.",
    )
    kinds = [at(one, -1, "type") for one in (events, later.events)]
    trial.expect("responses:resume:end", kinds[0] == kinds[1], kinds)
    last = events[-1].get("sequence_number")
    nothing = yield from trial.get(
        f"{path}&starting_after={last if is_integer(last) else len(events) - 1}"
    )
    trial.expect("responses:resume:after-last", nothing.is_ok and not nothing.events, nothing.came)
    refused = yield from trial.get(f"{path}&starting_after=x")
    trial.expect("responses:resume:after-word", refused.status == 400, refused.came)


@case(
    must(
        "responses:resume:foreground",
        "spec 13",
        "Streaming a foreground response again is rejected with a 4xx.",
        fault=[replies.PLAIN, replies.PLAIN, replies.NOTHING],
    ),
    good=[replies.PLAIN, replies.PLAIN, replies.REJECTED],
)
def a_foreground_stream_is_over(trial: Trial) -> Steps:
    """Request the stream of a foreground response."""
    first = trial.response((yield from trial.respond("Say hello.", store=True)))
    yield from offers_background(trial)
    exchange = yield from trial.get(f"/responses/{id_of(first)}?stream=true")
    trial.supported(exchange)
    trial.expect("responses:resume:foreground", is_refused(exchange), exchange.came)


@case(
    must(
        "responses:resume:unknown",
        "spec 13",
        "The stream of an unknown response returns 404.",
        fault=[replies.PLAIN, replies.NOTHING],
    ),
    good=[replies.PLAIN, replies.NOT_FOUND],
)
def the_stream_of_nothing_is_not_found(trial: Trial) -> Steps:
    """Request the stream of an unknown response."""
    queued = trial.response((yield from trial.respond("Say hello.", background=True)))
    exchange = yield from trial.get(f"/responses/{unlike(id_of(queued))}?stream=true")
    trial.supported(exchange)
    trial.expect("responses:resume:unknown", exchange.status == 404, exchange.came)


def offers_background(trial: Trial) -> Steps:
    """End the case if the server has no background responses."""
    trial.offered((yield from trial.respond("Say hello.", background=True)))
