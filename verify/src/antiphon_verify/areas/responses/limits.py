"""Responses that exceed a limit."""

from typing import Any

from antiphon_verify.areas.responses.text import output_of, text_of
from antiphon_verify.case import case
from antiphon_verify.events.streams import STREAMS
from antiphon_verify.reading import at, is_integer, preview
from antiphon_verify.replies import error, states, streams
from antiphon_verify.replies.bodies import RESPONSE
from antiphon_verify.replies.responses import limits as replies
from antiphon_verify.requirement import Stop, must, should
from antiphon_verify.trial import Steps, Trial

LONG = "Count from 1 to 100 in words, separated by blanks: one two three and so on."

LEAST = 16
"""The lowest `max_output_tokens`."""

WORDS = 20_000
"""Words of a long input: more than the context of a server with default settings."""

BELOW = "The answer was shorter than the limit."


def is_short(response: Any) -> bool:
    """Whether the model finished below the limit; without usage its words are counted."""
    used = at(response, "usage", "output_tokens")
    count = used if is_integer(used) else len(text_of(response).split())
    return count < LEAST and at(response, "status") == "completed"


@case(
    must(
        "responses:limits:incomplete",
        "issue vllm#24184",
        "A truncated response is `incomplete`, never `completed`.",
        fault=[replies.GOOD.patched("status", to="completed")],
    ),
    must(
        "responses:limits:reason",
        "spec 3",
        "Its `incomplete_details.reason` is `max_output_tokens`.",
        fault=[replies.GOOD.patched("incomplete_details", to=None)],
    ),
    must(
        "responses:limits:no-error",
        "spec 3",
        "A truncated response is not an error: `error` is null.",
        fault=[replies.GOOD.patched("error", to={"code": "server_error", "message": "length"})],
    ),
    should(
        "responses:limits:item",
        "open-responses 3",
        "The truncated item is `incomplete`.",
        fault=[replies.GOOD.patched("output", 0, "status", to="completed")],
    ),
    must(
        "responses:limits:bounded",
        "spec 2",
        "A response uses no more output tokens than `max_output_tokens`.",
        fault=[replies.GOOD.patched("usage", "output_tokens", to=200)],
    ),
    should(
        "responses:limits:usage",
        "spec 3",
        "A truncated response has usage.",
        fault=[replies.GOOD.patched("usage", to=None)],
    ),
    good=[replies.GOOD],
)
def a_long_answer_is_cut(trial: Trial) -> Steps:
    """Request a long text with a low limit."""
    response = trial.response((yield from trial.respond(LONG, max_output_tokens=LEAST)))
    used = at(response, "usage", "output_tokens")
    trial.expect("responses:limits:usage", is_integer(used), preview(at(response, "usage")))
    if is_integer(used):
        trial.expect("responses:limits:bounded", used <= LEAST, used)
    if is_short(response):
        raise Stop("skipped", BELOW)
    trial.expect(
        "responses:limits:incomplete",
        response.get("status") == "incomplete",
        preview(response.get("status")),
    )
    details = at(response, "incomplete_details")
    error = at(response, "error")
    trial.expect(
        "responses:limits:reason", at(details, "reason") == "max_output_tokens", preview(details)
    )
    trial.expect("responses:limits:no-error", not error, preview(error))
    items = output_of(response)
    if items and items[-1].get("type") != "reasoning":
        statuses = [item.get("status") for item in items]
        trial.expect("responses:limits:item", statuses[-1] == "incomplete", statuses)


@case(
    must(
        "responses:limits:streamed",
        "spec 16",
        "A truncated stream ends with `response.incomplete`.",
        fault=[streams([*STREAMS["cut"][:-1], {"type": "response.completed", "response": {}}])],
    ),
    good=[streams(STREAMS["cut"])],
)
def a_long_stream_is_cut(trial: Trial) -> Steps:
    """Stream a long text with a low limit."""
    last = trial.streamed((yield from trial.respond(LONG, max_output_tokens=LEAST, stream=True)))[
        -1
    ]
    if last.get("type") == "response.completed" and is_short(at(last, "response")):
        raise Stop("skipped", BELOW)
    trial.expect(
        "responses:limits:streamed",
        last.get("type") == "response.incomplete",
        preview(last.get("type")),
    )


@case(
    must(
        "responses:limits:nothing-dropped",
        "open-responses 9",
        "With `truncation: disabled`, a long input is read in full, or rejected with a 4xx, "
        "or the response fails.",
        fault=[states(RESPONSE).patched("usage", "input_tokens", to=4096)],
    ),
    should(
        "responses:limits:too-long-named",
        "spec 13",
        "An input longer than the model's context is rejected with the code "
        "`context_length_exceeded`.",
        fault=[error("The input is too long.", 400, "invalid_value", "input")],
    ),
    good=[replies.LONG],
)
def a_long_input_is_not_truncated(trial: Trial) -> Steps:
    """Send a long input with `truncation: disabled`."""
    options = {"truncation": "disabled", "max_output_tokens": LEAST}
    exchange = yield from trial.respond("tide " * WORDS, **options)
    if 400 <= exchange.status < 500 or at(exchange.json, "status") == "failed":
        trial.supported(exchange)
        trial.expect("responses:limits:nothing-dropped", True)
        code = at(exchange.json, "error", "code")
        trial.expect(
            "responses:limits:too-long-named", code == "context_length_exceeded", exchange.came
        )
        return
    used = at(trial.response(exchange), "usage", "input_tokens")
    if not is_integer(used):
        raise Stop(
            "skipped", "The response has no usage, so it is unknown how much of the input was read."
        )
    trial.expect(
        "responses:limits:nothing-dropped",
        used >= WORDS,
        f"{used} tokens were read of {WORDS} words",
    )
