"""`prompt_cache_options`: filling the prompt cache, and comparing two prompts."""

from typing import Any

from antiphon_verify.areas.responses.background import ended
from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.case import case
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import MISSING, at, is_integer, preview, unlike
from antiphon_verify.replies import streams
from antiphon_verify.replies.responses import prompt_cache as replies
from antiphon_verify.requirement import Stop, should
from antiphon_verify.trial import Steps, Trial

PREWARM = {"prewarm": True}

TYPES = ("cache_hit", "cache_miss", "comparison_response_not_found", "unavailable")

REASONS = (
    *("model_changed", "prompt_cache_key_changed", "tools_changed", "text_format_changed"),
    *(
        "reasoning_effort_changed",
        "verbosity_changed",
        "context_compacted",
        "input_changed",
        "service_tier_changed",
    ),
)


def response_with_options(trial: Trial, exchange: Exchange) -> dict[str, Any]:
    """Return the response. Ends the case if the server rejects the options by name."""
    if exchange.status == 400 and "prompt_cache_options" in str(at(exchange.json, "error")):
        raise Stop("not offered", exchange.came)
    return trial.response(exchange)


@case(
    should(
        "responses:prompt-cache:prewarm",
        "spec 24",
        "With `prompt_cache_options.prewarm` a response has no output.",
        fault=[replies.FULL.patched("usage", "output_tokens", to=0), replies.FULL],
    ),
    should(
        "responses:prompt-cache:usage",
        "spec 24",
        "The usage of a prewarming response has no output tokens.",
        fault=[replies.EMPTY, replies.FULL],
    ),
    should(
        "responses:prompt-cache:continued",
        "spec 24",
        "A prewarming response can be continued by another response.",
        fault=[replies.WARM, replies.NOT_FOUND],
    ),
    good=[replies.WARM, replies.FULL],
)
def a_cache_is_filled(trial: Trial) -> Steps:
    """Fill the prompt cache, and continue from there."""
    warm = response_with_options(
        trial, (yield from trial.respond("Say hello.", prompt_cache_options=PREWARM))
    )
    trial.expect(
        "responses:prompt-cache:prewarm", at(warm, "output") == [], preview(at(warm, "output"))
    )
    tokens = at(warm, "usage", "output_tokens")
    trial.expect("responses:prompt-cache:usage", tokens == 0, preview(at(warm, "usage")))
    after = yield from trial.respond("Say it again.", previous_response_id=id_of(warm))
    trial.expect("responses:prompt-cache:continued", after.is_ok, after.came)


@case(
    should(
        "responses:prompt-cache:streamed",
        "spec 24",
        "A streamed prewarming response has no output.",
        fault=[streams(replies.STREAM)],
    ),
    good=[streams(replies.EMPTY_STREAM)],
)
def a_cache_is_filled_by_a_stream(trial: Trial) -> Steps:
    """Fill the prompt cache in a stream."""
    exchange = yield from trial.respond("Say hello.", prompt_cache_options=PREWARM, stream=True)
    output = at(trial.streamed(exchange)[-1], "response", "output")
    trial.expect("responses:prompt-cache:streamed", output == [], preview(output))


@case(
    should(
        "responses:prompt-cache:background",
        "spec 24",
        "A prewarming response in the background has no output.",
        fault=[replies.QUEUED, replies.FULL],
    ),
    good=[replies.QUEUED, replies.WARM],
)
def a_cache_is_filled_in_the_background(trial: Trial) -> Steps:
    """Fill the prompt cache in the background."""
    queued = response_with_options(
        trial,
        (yield from trial.respond("Say hello.", prompt_cache_options=PREWARM, background=True)),
    )
    response = yield from ended(trial, id_of(queued))
    is_empty = (at(response, "status"), at(response, "output")) == ("completed", [])
    trial.expect("responses:prompt-cache:background", is_empty, preview(response))


@case(
    should(
        "responses:prompt-cache:diagnostics",
        "spec 24",
        "With `comparison_response_id`, `prompt_cache_diagnostics` has one of the four types.",
        fault=[replies.FULL, replies.FULL.patched("prompt_cache_diagnostics", to=None)],
    ),
    should(
        "responses:prompt-cache:miss",
        "spec 24",
        "A `cache_miss` has a known reason and its missed tokens.",
        fault=[
            replies.FULL,
            replies.FULL.patched(
                "prompt_cache_diagnostics", to=replies.MISS | {"reason": "bad luck"}
            ),
        ],
    ),
    should(
        "responses:prompt-cache:not-asked",
        "spec 24",
        "`prompt_cache_diagnostics` is null unless the request asks.",
        fault=[
            replies.FULL.patched("prompt_cache_diagnostics", to="cache_hit"),
            replies.FULL.patched("prompt_cache_diagnostics", to=replies.MISS),
        ],
    ),
    good=[replies.FULL, replies.FULL.patched("prompt_cache_diagnostics", to=replies.MISS)],
)
def two_prompts_are_compared(trial: Trial) -> Steps:
    """Compare a prompt with that of another response."""
    first = trial.response((yield from trial.respond("Say hello.", store=True)))
    unasked = at(first, "prompt_cache_diagnostics")
    trial.expect(
        "responses:prompt-cache:not-asked", unasked is None or unasked is MISSING, preview(unasked)
    )
    options = {"comparison_response_id": id_of(first)}
    second = response_with_options(
        trial, (yield from trial.respond("What time is it?", prompt_cache_options=options))
    )
    found = at(second, "prompt_cache_diagnostics")
    trial.expect("responses:prompt-cache:diagnostics", at(found, "type") in TYPES, preview(found))
    if at(found, "type") == "cache_miss":
        is_whole = at(found, "reason") in REASONS and is_integer(at(found, "cache_missed_tokens"))
        trial.expect("responses:prompt-cache:miss", is_whole, preview(found))


@case(
    should(
        "responses:prompt-cache:not-found",
        "spec 24",
        "An unknown `comparison_response_id` is reported as `comparison_response_not_found`.",
        fault=[replies.FULL, replies.FULL],
    ),
    good=[
        replies.FULL,
        replies.FULL.patched(
            "prompt_cache_diagnostics", to={"type": "comparison_response_not_found"}
        ),
    ],
)
def a_prompt_is_compared_with_nothing(trial: Trial) -> Steps:
    """Compare a prompt with that of an unknown response."""
    first = trial.response((yield from trial.respond("Say hello.")))
    options = {"comparison_response_id": unlike(id_of(first))}
    response = response_with_options(
        trial, (yield from trial.respond("Say hello.", prompt_cache_options=options))
    )
    found = at(response, "prompt_cache_diagnostics", "type")
    trial.expect(
        "responses:prompt-cache:not-found", found == "comparison_response_not_found", preview(found)
    )
