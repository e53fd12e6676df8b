"""Counting input tokens without creating a response."""

from typing import Any

from antiphon_verify.case import case
from antiphon_verify.reading import at, is_integer, preview
from antiphon_verify.refusal import is_refused
from antiphon_verify.replies import error
from antiphon_verify.replies.responses import input_tokens as replies
from antiphon_verify.requirement import Stop, may, must, should
from antiphon_verify.samples import TOOLS
from antiphon_verify.trial import ExchangeSteps, Steps, Trial

TEXT = "Please say hello."

EXACTNESS = "antiphon-token-count"
"""A header in which a server can report that it only estimates."""


def count(trial: Trial, input: Any, **parameters: Any) -> ExchangeSteps:
    """Request a count."""
    return trial.post(
        "/responses/input_tokens", {"model": trial.model, "input": input, **parameters}
    )


@case(
    must(
        "responses:input-tokens:object",
        "spec 1",
        "`/responses/input_tokens` returns `response.input_tokens`.",
        fault=[
            replies.SHORT.patched("object", to="tokens"),
            replies.LONG,
            replies.LONG,
            replies.USED,
        ],
    ),
    must(
        "responses:input-tokens:count",
        "spec 1",
        "The count is an integer above 0.",
        fault=[replies.counted(0)],
    ),
    must(
        "responses:input-tokens:grows",
        "spec 1",
        "A longer input has a higher count.",
        fault=[replies.SHORT, replies.SHORT, replies.LONG, replies.USED],
    ),
    should(
        "responses:input-tokens:extras",
        "spec 1",
        "Instructions and tools are counted.",
        fault=[replies.SHORT, replies.LONG, replies.SHORT, replies.USED],
    ),
    should(
        "responses:input-tokens:equals",
        "spec 1",
        "The count equals the input tokens of a response to the same input.",
        fault=[replies.counted(13), replies.LONG, replies.LONG, replies.USED],
    ),
    may(
        "responses:input-tokens:exactness",
        "spec 1",
        "The header that reports the exactness of a count is `exact` or `estimate`.",
        fault=[replies.counted(12, "about"), replies.LONG, replies.LONG, replies.USED],
    ),
    good=[replies.SHORT, replies.LONG, replies.LONG, replies.USED],
)
def tokens_are_counted_beforehand(trial: Trial) -> Steps:
    """Count a short input, a long one, one with tools, and create a response to the short one."""
    exchange = yield from count(trial, TEXT)
    short = trial.whole(exchange)
    exactness = exchange.headers.get(EXACTNESS)
    if exactness is not None:
        trial.expect(
            "responses:input-tokens:exactness", exactness in ("exact", "estimate"), exactness
        )
    trial.expect(
        "responses:input-tokens:object",
        at(short, "object") == "response.input_tokens",
        exchange.came,
    )
    number = at(short, "input_tokens")
    if not trial.expect(
        "responses:input-tokens:count", is_integer(number) and number > 0, exchange.came
    ):
        return
    extras = {"instructions": "Answer in one word.", "tools": TOOLS}
    for name, prompt, parameters in (("grows", TEXT * 20, {}), ("extras", TEXT, extras)):
        more = at(trial.whole((yield from count(trial, prompt, **parameters))), "input_tokens")
        trial.expect(
            f"responses:input-tokens:{name}",
            is_integer(more) and more > number,
            f"{number}, then {preview(more)}",
        )
    if exactness == "estimate":
        raise Stop("not offered", f"{EXACTNESS}: {exactness}")
    used = at(trial.response((yield from trial.respond(TEXT))), "usage", "input_tokens")
    trial.expect(
        "responses:input-tokens:equals", used == number, f"{number} counted, {preview(used)} used"
    )


@case(
    must(
        "responses:input-tokens:bad",
        "spec 13",
        "A number as input is rejected with a 4xx.",
        fault=[replies.SHORT],
    ),
    good=[error("Invalid type.")],
)
def a_number_is_no_input(trial: Trial) -> Steps:
    """Count a number as input."""
    exchange = yield from count(trial, 7)
    trial.supported(exchange)
    trial.expect("responses:input-tokens:bad", is_refused(exchange), exchange.came)
