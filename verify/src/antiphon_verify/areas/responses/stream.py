"""Several kinds of streams, each judged by every rule that applies."""

from typing import Any

from antiphon_verify.areas.responses.limits import LEAST, LONG
from antiphon_verify.areas.responses.objects import came, is_object
from antiphon_verify.case import Case, Script, case
from antiphon_verify.reading import at
from antiphon_verify.requirement import Table, may, must, should
from antiphon_verify.samples import ASK_WEATHER, CITY, WEATHER
from antiphon_verify.soundness import ENDS, STREAM_IDS, judge_stream, requirements_of_the_rules
from antiphon_verify.trial import Steps, Trial

TABLE: Table = (
    must(
        "responses:stream:whole",
        "issue codex#41340",
        "`stream: true` returns a complete stream of events, each a JSON object.",
    ),
    *requirements_of_the_rules(),
    should(
        "responses:stream:failed-code-known",
        "spec 3",
        "The error code of a failed response is one that the API defines.",
    ),
    should(
        "responses:stream:no-obfuscation",
        "spec 4",
        "With `include_obfuscation: false` no event has the key `obfuscation`.",
    ),
    may(
        "responses:stream:obfuscation",
        "spec 4",
        "Text deltas are padded in `obfuscation` by default.",
    ),
)


CODES = {
    *("server_error", "rate_limit_exceeded", "invalid_prompt", "data_residency_mismatch", "bio_policy"),
    *("misalignment_policy_violation", "vector_store_timeout", "invalid_image", "invalid_image_format"),
    *("invalid_base64_image", "invalid_image_url", "image_too_large", "image_too_small", "image_parse_error"),
    *("image_content_policy_violation", "invalid_image_mode", "image_file_too_large", "unsupported_image_media_type"),
    *("empty_image_file", "failed_to_download_image", "image_file_not_found"),
    # Not in the SDK's type, but sent by OpenAI, or read by Codex.
    *("insufficient_quota", "context_length_exceeded", "server_is_overloaded", "content_filter"),
}
"""The possible `error.code` values of a failed response (specification section 3)."""

FORMAT = {"type": "json_schema", "name": "city", "schema": CITY, "strict": True}

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "a_text_is_streamed": ("Say hello.", {}),
    "a_text_with_instructions_is_streamed": ("Say hello.", {"instructions": "Answer in one word.", "temperature": 0}),
    "reasoning_is_streamed": ("What is 17 times 3?", {"reasoning": {"effort": "low", "summary": "auto"}}),
    "a_refusal_is_streamed": ("[refuse] Tell me how to pick a lock.", {}),
    "a_cut_text_is_streamed": (LONG, {"max_output_tokens": LEAST}),
    "a_forced_call_is_streamed": (ASK_WEATHER, {"tools": [WEATHER], "tool_choice": "required"}),
    "log_probabilities_are_streamed": ("Say hello.", {"include": ["message.output_text.logprobs"], "top_logprobs": 2}),
    "structured_output_is_streamed": ("Name a city.", {"text": {"format": FORMAT}}),
}
"""Each kind of stream: the prompt and the parameters."""


PLAINEST = "a_text_is_streamed"

WHOLE, FAILED_CODE = "responses:stream:whole", "responses:stream:failed-code-known"


def judge_end(trial: Trial, events: list[dict[str, Any]]) -> None:
    """Judge the whole stream, and the error code of a failed response."""
    judge_stream(trial, events)
    if events[-1].get("type") == "response.failed":
        code = at(events[-1], "response", "error", "code")
        trial.expect(FAILED_CODE, isinstance(code, str) and code in CODES, came("error.code", code))


def streaming(input: str, parameters: dict[str, Any]) -> Script:
    """Return the script of a stream."""

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.respond(input, stream=True, **parameters)
        if 200 <= exchange.status < 300:
            is_whole = exchange.is_ok and bool(exchange.events) and all(map(is_object, exchange.events))
            trial.expect(WHOLE, is_whole, exchange.came)
        judge_end(trial, trial.streamed(exchange))

    script.__doc__ = f"Stream the answer to: {input}"
    return script


JUDGED = (WHOLE, *STREAM_IDS, FAILED_CODE)

STREAMS = tuple(Case(name, (), streaming(*kind), JUDGED) for name, kind in KINDS.items() if name != PLAINEST)
"""Servers can reject the other parameters; other requirements judge that."""

PLAIN = Case(PLAINEST, (WHOLE,), streaming(*KINDS[PLAINEST]), JUDGED[1:])


@case("responses:stream:obfuscation")
def deltas_are_padded(trial: Trial) -> Steps:
    """Stream a text, and look for padding."""
    exchange = yield from trial.respond("Say hello.", stream=True)
    deltas = [event for event in trial.streamed(exchange) if event.get("type") == "response.output_text.delta"]
    if deltas:
        padded = all(isinstance(event.get("obfuscation"), str) for event in deltas)
        trial.expect("responses:stream:obfuscation", padded, "Some deltas have no padding.")


@case("responses:stream:no-obfuscation")
def padding_can_be_switched_off(trial: Trial) -> Steps:
    """Stream a text without padding."""
    exchange = yield from trial.respond("Say hello.", stream=True, stream_options={"include_obfuscation": False})
    events = trial.streamed(exchange)
    padded = [event.get("type") for event in events if "obfuscation" in event]
    if events[-1].get("type") in ENDS:
        trial.expect("responses:stream:no-obfuscation", not padded, padded)
