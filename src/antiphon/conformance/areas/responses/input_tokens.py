"""Input tokens, counted without a response."""

from typing import Any

from antiphon.conformance.case import case
from antiphon.conformance.reading import at, is_integer, shown
from antiphon.conformance.requirement import Stop, Table, may, must, should
from antiphon.conformance.samples import TOOLS
from antiphon.conformance.trial import Asking, Steps, Trial

TABLE: Table = (
    must("responses:input-tokens:object", "spec 1", "`/responses/input_tokens` answers with `response.input_tokens`."),
    must("responses:input-tokens:count", "spec 1", "The count is an integer above 0."),
    must("responses:input-tokens:grows", "spec 1", "A longer input counts more."),
    should("responses:input-tokens:extras", "spec 1", "Instructions and tools are counted."),
    should("responses:input-tokens:equals", "spec 1", "The count is what a response to the same input then uses."),
    may(
        "responses:input-tokens:exactness",
        "spec 1",
        "A server that says by a header how exact its count is says `exact` or `estimate`.",
    ),
    must("responses:input-tokens:bad", "spec 13", "A number as input is refused with 400."),
)


TEXT = "Please say hello."

EXACTNESS = "antiphon-token-count"
"""A header by which a server can say that it only estimates."""


def count(trial: Trial, input: Any, **parameters: Any) -> Asking:
    """Ask for a count."""
    return trial.post("/responses/input_tokens", {"model": trial.model, "input": input, **parameters})


@case(
    "responses:input-tokens:object",
    "responses:input-tokens:count",
    "responses:input-tokens:grows",
    "responses:input-tokens:extras",
    "responses:input-tokens:equals",
    "responses:input-tokens:exactness",
)
def tokens_are_counted_beforehand(trial: Trial) -> Steps:
    """Count a short input, a long one, one with tools, and use the short one."""
    exchange = yield from count(trial, TEXT)
    short = trial.whole(exchange)
    exactness = exchange.headers.get(EXACTNESS)
    if exactness is not None:
        trial.expect("responses:input-tokens:exactness", exactness in ("exact", "estimate"), exactness)
    trial.expect("responses:input-tokens:object", at(short, "object") == "response.input_tokens", exchange.came)
    number = at(short, "input_tokens")
    if not trial.expect("responses:input-tokens:count", is_integer(number) and number > 0, exchange.came):
        return
    extras = {"instructions": "Answer in one word.", "tools": TOOLS}
    for name, asked, parameters in (("grows", TEXT * 20, {}), ("extras", TEXT, extras)):
        more = at(trial.whole((yield from count(trial, asked, **parameters))), "input_tokens")
        trial.expect(
            f"responses:input-tokens:{name}", is_integer(more) and more > number, f"{number}, then {shown(more)}"
        )
    if exactness == "estimate":
        raise Stop("not offered", f"{EXACTNESS}: {exactness}")
    used = at(trial.response((yield from trial.respond(TEXT))), "usage", "input_tokens")
    trial.expect("responses:input-tokens:equals", used == number, f"{number} counted, {shown(used)} used")


@case("responses:input-tokens:bad")
def a_number_is_no_input(trial: Trial) -> Steps:
    """Count a number."""
    exchange = yield from count(trial, 7)
    trial.served(exchange)
    trial.expect("responses:input-tokens:bad", exchange.status == 400, exchange.came)
