"""Errors of the Messages API."""

from antiphon_verify.case import case
from antiphon_verify.reading import MISSING, at, is_text, preview
from antiphon_verify.replies import error
from antiphon_verify.replies.messages.bodies import refused
from antiphon_verify.requirement import must, should
from antiphon_verify.trial import Steps, Trial

API = "messages errors"

REQUIRED = refused("max_tokens: Field required")
UNKNOWN = refused("model: none", 404, "not_found_error")
EXTRA = refused("temprature: Extra inputs are not permitted")


@case(
    must(
        "messages:errors:envelope",
        API,
        "An invalid request is refused with 400 and `{type: error, error: {type, message}}`.",
        fault=[error("Missing required parameter: 'max_tokens'.")],
    ),
    good=[REQUIRED],
)
def a_message_without_messages_is_refused(trial: Trial) -> Steps:
    """Send a request without messages."""
    exchange = yield from trial.message(MISSING)
    trial.answered(exchange)
    body = exchange.json
    inner = at(body, "error")
    is_envelope = at(body, "type") == "error" and at(inner, "type") == "invalid_request_error"
    is_stated = is_text(at(inner, "message"))
    holds = exchange.status == 400 and is_envelope and is_stated
    trial.expect("messages:errors:envelope", holds, exchange.came)


@case(
    must(
        "messages:errors:unknown-model",
        API,
        "A model that does not exist is refused with 404 and `not_found_error`.",
        fault=[refused("model: none", 400)],
    ),
    good=[UNKNOWN],
)
def a_message_of_an_unknown_model_is_refused(trial: Trial) -> Steps:
    """Send a request for a model that does not exist."""
    exchange = yield from trial.message("Say hello.", model="no-such-model-anywhere")
    trial.answered(exchange)
    kind = at(exchange.json, "error", "type")
    holds = exchange.status == 404 and kind == "not_found_error"
    trial.expect("messages:errors:unknown-model", holds, exchange.came)


@case(
    should(
        "messages:errors:unknown-parameter",
        "client Claude Code",
        "An unknown parameter is refused with `NAME: Extra inputs are not permitted`, by which "
        "clients find out what to omit.",
        fault=[refused("Unknown parameter.")],
    ),
    good=[EXTRA],
)
def a_message_with_an_unknown_parameter_is_refused(trial: Trial) -> Steps:
    """Send a parameter that does not exist."""
    exchange = yield from trial.message("Say hello.", temprature=1)
    trial.answered(exchange)
    message = at(exchange.json, "error", "message")
    holds = exchange.status == 400 and "temprature: Extra inputs" in preview(message)
    trial.expect("messages:errors:unknown-parameter", holds, exchange.came)
