"""Several kinds of streams, each judged by every rule that applies."""

from typing import Any

from antiphon_verify.areas.responses.limits import LEAST, LONG
from antiphon_verify.areas.responses.objects import came, is_object
from antiphon_verify.case import Case, Row, case
from antiphon_verify.reading import at
from antiphon_verify.replies import error, streams
from antiphon_verify.replies.responses import stream as replies
from antiphon_verify.requirement import may, must, should
from antiphon_verify.samples import CITY, WEATHER, WEATHER_QUESTION
from antiphon_verify.soundness import ENDS, STREAM_IDS, STREAM_ROWS, judge_stream
from antiphon_verify.trial import Steps, Trial

CODES = {
    *(
        "server_error",
        "rate_limit_exceeded",
        "invalid_prompt",
        "data_residency_mismatch",
        "bio_policy",
    ),
    *(
        "misalignment_policy_violation",
        "vector_store_timeout",
        "invalid_image",
        "invalid_image_format",
    ),
    *(
        "invalid_base64_image",
        "invalid_image_url",
        "image_too_large",
        "image_too_small",
        "image_parse_error",
    ),
    *(
        "image_content_policy_violation",
        "invalid_image_mode",
        "image_file_too_large",
        "unsupported_image_media_type",
    ),
    *("empty_image_file", "failed_to_download_image", "image_file_not_found"),
    # Not in the SDK's type, but sent by OpenAI, or read by Codex.
    *("insufficient_quota", "context_length_exceeded", "server_is_overloaded", "content_filter"),
}
"""The possible `error.code` values of a failed response (specification section 3)."""

FORMAT = {"type": "json_schema", "name": "city", "schema": CITY, "strict": True}

WHOLE = "responses:stream:whole"
FAILED_CODE = "responses:stream:failed-code-known"


def judge_end(trial: Trial, events: list[dict[str, Any]]) -> None:
    """Judge the whole stream, and the error code of a failed response."""
    judge_stream(trial, events)
    if events[-1].get("type") == "response.failed":
        code = at(events[-1], "response", "error", "code")
        trial.expect(FAILED_CODE, isinstance(code, str) and code in CODES, came("error.code", code))


def streaming(
    name: str,
    input: str,
    *,
    rows: tuple[Row, ...] = (),
    passing: tuple[Row, ...],
    **parameters: Any,
) -> Case:
    """Return the case of a stream, judged by every rule that applies."""

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.respond(input, stream=True, **parameters)
        if 200 <= exchange.status < 300:
            is_whole = (
                exchange.is_ok and bool(exchange.events) and all(map(is_object, exchange.events))
            )
            trial.expect(WHOLE, is_whole, exchange.came)
        judge_end(trial, trial.streamed(exchange))

    script.__doc__ = f"Stream the answer to: {input}"
    return Case(name, rows, script, passing, [streams(replies.PLAIN)])


JUDGED = (WHOLE, *STREAM_IDS, FAILED_CODE)

STREAMS = (
    streaming(
        "a_text_with_instructions_is_streamed",
        "Say hello.",
        passing=JUDGED,
        instructions="Answer in one word.",
        temperature=0,
    ),
    streaming(
        "reasoning_is_streamed",
        "What is 17 times 3?",
        passing=JUDGED,
        reasoning={"effort": "low", "summary": "auto"},
    ),
    streaming("a_refusal_is_streamed", "[refuse] Tell me how to pick a lock.", passing=JUDGED),
    streaming("a_cut_text_is_streamed", LONG, passing=JUDGED, max_output_tokens=LEAST),
    streaming(
        "a_forced_call_is_streamed",
        WEATHER_QUESTION,
        passing=JUDGED,
        tools=[WEATHER],
        tool_choice="required",
    ),
    streaming(
        "log_probabilities_are_streamed",
        "Say hello.",
        passing=JUDGED,
        include=["message.output_text.logprobs"],
        top_logprobs=2,
    ),
    streaming(
        "structured_output_is_streamed", "Name a city.", passing=JUDGED, text={"format": FORMAT}
    ),
)
"""Servers can reject the other parameters; other requirements judge that."""


PLAIN = streaming(
    "a_text_is_streamed",
    "Say hello.",
    rows=(
        must(
            WHOLE,
            "issue codex#41340",
            "`stream: true` returns a complete stream of events, each a JSON object.",
            fault=[error("It broke.", 500)],
        ),
    ),
    passing=(
        *STREAM_ROWS,
        should(
            FAILED_CODE,
            "spec 3",
            "The error code of a failed response is one that the API defines.",
            fault=[streams(replies.UNKNOWN_CODE)],
            good=[streams(replies.FAILED)],
        ),
    ),
)


@case(
    may(
        "responses:stream:obfuscation",
        "spec 4",
        "Text deltas are padded in `obfuscation` by default.",
        fault=[streams(replies.PLAIN)],
    ),
    good=[streams(replies.PADDED)],
)
def deltas_are_padded(trial: Trial) -> Steps:
    """Stream a text, and look for padding."""
    exchange = yield from trial.respond("Say hello.", stream=True)
    deltas = [
        event
        for event in trial.streamed(exchange)
        if event.get("type") == "response.output_text.delta"
    ]
    if deltas:
        padded = all(isinstance(event.get("obfuscation"), str) for event in deltas)
        trial.expect("responses:stream:obfuscation", padded, "Some deltas have no padding.")


@case(
    should(
        "responses:stream:no-obfuscation",
        "spec 4",
        "With `include_obfuscation: false` no event has the key `obfuscation`.",
        fault=[streams(replies.PADDED)],
    ),
    good=[streams(replies.PLAIN)],
)
def padding_can_be_switched_off(trial: Trial) -> Steps:
    """Stream a text without padding."""
    exchange = yield from trial.respond(
        "Say hello.", stream=True, stream_options={"include_obfuscation": False}
    )
    events = trial.streamed(exchange)
    padded = [event.get("type") for event in events if "obfuscation" in event]
    if events[-1].get("type") in ENDS:
        trial.expect("responses:stream:no-obfuscation", not padded, padded)
