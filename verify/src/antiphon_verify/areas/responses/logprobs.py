"""Log probabilities, if the model supports them."""

from typing import Any

from antiphon_verify.areas.responses.text import parts_of, text_of
from antiphon_verify.case import case
from antiphon_verify.reading import at, listed, preview
from antiphon_verify.replies import streams
from antiphon_verify.replies.responses import logprobs as replies
from antiphon_verify.requirement import Stop, must, should
from antiphon_verify.samples import is_token
from antiphon_verify.trial import Steps, Trial

TOP = 2

PROMPT = {"include": ["message.output_text.logprobs"], "top_logprobs": TOP}


def logprobs_of(response: Any) -> list[Any]:
    """Return the log probabilities of all parts."""
    return [one for part in parts_of(response) for one in listed(part, "logprobs")]


@case(
    should(
        "responses:logprobs:some",
        "spec 2",
        "A text has log probabilities when requested.",
        fault=[replies.BARE],
    ),
    must(
        "responses:logprobs:token",
        "spec 4",
        "Each token has a string `token` and a number `logprob` of at most 0.",
        fault=[replies.GOOD.patched(*replies.PLACE, 0, "logprob", to=0.9)],
    ),
    must(
        "responses:logprobs:top",
        "spec 2",
        "Tokens have at most `top_logprobs` alternatives.",
        fault=[
            replies.GOOD.patched(*replies.PLACE, 0, "top_logprobs", to=[replies.ALTERNATIVE] * 3)
        ],
    ),
    should(
        "responses:logprobs:top-some",
        "spec 2",
        "Tokens have alternatives if `top_logprobs` asks for some.",
        fault=[replies.GOOD.patched(*replies.PLACE, 0, "top_logprobs", to=[])],
    ),
    should(
        "responses:logprobs:joined",
        "spec 4",
        "The tokens join into the text.",
        fault=[replies.GOOD.patched(*replies.PLACE, 0, "token", to="Hell")],
    ),
    should(
        "responses:logprobs:streamed",
        "spec 4",
        "Streamed deltas have log probabilities if the non-streamed response has them.",
        fault=[replies.GOOD, streams(replies.EMPTY)],
    ),
    good=[replies.GOOD, replies.STREAM],
)
def log_probabilities_are_included(trial: Trial) -> Steps:
    """Request log probabilities, streamed and not streamed."""
    response = trial.response((yield from trial.respond("Say hello.", **PROMPT)))
    if not text_of(response):
        raise Stop("skipped", "The model said nothing.")
    tokens = logprobs_of(response)
    if not trial.expect("responses:logprobs:some", bool(tokens), parts_of(response)):
        raise Stop("skipped", "No log probabilities came.")
    judge_tokens(trial, tokens, text_of(response))
    events = trial.streamed((yield from trial.respond("Say hello.", stream=True, **PROMPT)))
    deltas = [event for event in events if event.get("type") == "response.output_text.delta"]
    if deltas:
        streamed = [token for event in deltas for token in listed(event, "logprobs")]
        trial.expect(
            "responses:logprobs:streamed",
            bool(streamed) and all(map(is_token, streamed)),
            deltas[0],
        )


def judge_tokens(trial: Trial, tokens: list[Any], text: str) -> None:
    """Judge the log probabilities of a text."""
    trial.expect("responses:logprobs:token", all(map(is_token, tokens)), tokens)
    tops = [listed(token, "top_logprobs") for token in tokens]
    are_right = all(len(top) <= TOP and all(map(is_token, top)) for top in tops)
    trial.expect("responses:logprobs:top", are_right, tops)
    trial.expect("responses:logprobs:top-some", any(tops), tops)
    joined = "".join(token for one in tokens if isinstance(token := at(one, "token"), str))
    trial.expect(
        "responses:logprobs:joined", joined == text, f"{preview(joined)} of {preview(text)}"
    )


@case(
    should(
        "responses:logprobs:unasked",
        "spec 10",
        "Without a request for log probabilities, none are returned.",
        fault=[replies.GOOD],
    ),
    good=[replies.BARE],
)
def log_probabilities_are_omitted_by_default(trial: Trial) -> Steps:
    """Request a text without log probabilities."""
    response = trial.response((yield from trial.respond("Say hello.")))
    trial.expect("responses:logprobs:unasked", not logprobs_of(response), logprobs_of(response))
