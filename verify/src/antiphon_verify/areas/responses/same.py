"""Whether a stream has the same result as a non-streamed response."""

from collections.abc import Generator
from typing import Any

from antiphon_verify.areas.responses.text import messages_of, output_of
from antiphon_verify.case import case
from antiphon_verify.exchange import Step
from antiphon_verify.reading import at, is_text, preview
from antiphon_verify.replies.bodies import CALL, MESSAGE
from antiphon_verify.replies.responses import same as replies
from antiphon_verify.requirement import Stop, must, should
from antiphon_verify.samples import WEATHER, WEATHER_QUESTION
from antiphon_verify.soundness import ENDS
from antiphon_verify.trial import Steps, Trial

LOCAL = {"output_text", "billing"}
"""Keys that only a non-streamed response can have: the SDK's own convenience, and OpenAI's
bookkeeping.
"""


def both(
    trial: Trial, input: str, **parameters: Any
) -> Generator[Step, Any, tuple[dict[str, Any], dict[str, Any]]]:
    """Return the responses to the same request, not streamed and at the end of a stream."""
    plain = trial.response((yield from trial.respond(input, **parameters)))
    last = trial.streamed((yield from trial.respond(input, stream=True, **parameters)))[-1]
    response = at(last, "response")
    if last.get("type") not in ENDS or not isinstance(response, dict):
        raise Stop("failed", f"The stream ends with {preview(last)}.")
    return plain, response


@case(
    should(
        "responses:same:keys",
        "open-responses",
        "The response in the last event has every key of a non-streamed response.",
        fault=[replies.PLAIN, replies.MINIMAL],
    ),
    must(
        "responses:same:output",
        "issue litellm#41009",
        "The response in the last event has its whole output, like a non-streamed response.",
        fault=[replies.PLAIN, replies.ending("output", to=[])],
    ),
    should(
        "responses:same:item-keys",
        "spec 5",
        "A message has the same keys streamed and not streamed.",
        fault=[replies.PLAIN, replies.ending("output", 0, to={**MESSAGE, "phase": "final_answer"})],
    ),
    good=[replies.PLAIN, replies.STREAM],
)
def a_text_is_the_same_streamed(trial: Trial) -> Steps:
    """Request the same text streamed and not streamed."""
    plain, streamed = yield from both(trial, "Say hello.")
    missing = sorted(plain.keys() - streamed.keys() - LOCAL)
    trial.expect("responses:same:keys", not missing, missing)
    if output_of(plain):
        trial.expect(
            "responses:same:output", bool(output_of(streamed)), preview(at(streamed, "output"))
        )
    messages = [set(one) for response in (plain, streamed) for one in messages_of(response)[:1]]
    if len(messages) > 1:
        trial.expect(
            "responses:same:item-keys",
            messages[0] == messages[1],
            sorted(messages[0] ^ messages[1]),
        )


@case(
    must(
        "responses:same:items",
        "issue litellm#21090",
        "A forced call has items of the same types streamed and not streamed.",
        fault=[replies.CALLING, replies.STREAM],
    ),
    good=[replies.CALLING, replies.ending("output", to=[CALL])],
)
def a_call_is_the_same_streamed(trial: Trial) -> Steps:
    """Force the same call streamed and not streamed."""
    forced = {"tools": [WEATHER], "tool_choice": {"type": "function", "name": "get_weather"}}
    plain, streamed = yield from both(trial, WEATHER_QUESTION, **forced)
    types = [
        [one.get("type") for one in output_of(response) if one.get("type") != "reasoning"]
        for response in (plain, streamed)
    ]
    trial.expect("responses:same:items", types[0] == types[1], types)


@case(
    must(
        "responses:same:stored",
        "issue lmstudio#1188",
        "The stored response equals the response in the last event.",
        fault=[replies.STREAM, replies.PLAIN.patched("status", to="in_progress")],
    ),
    good=[replies.STREAM, replies.PLAIN],
)
def a_stream_is_stored_as_it_ended(trial: Trial) -> Steps:
    """Stream a text, and retrieve it."""
    last = trial.streamed((yield from trial.respond("Say hello.", stream=True, store=True)))[-1]
    response_id = trial.found(last, "response", "id")
    if not is_text(response_id):
        raise Stop("failed", f"The response's id is {preview(response_id)}.")
    stored = trial.whole((yield from trial.get(f"/responses/{response_id}")))
    stored_fields = {key: at(stored, key) for key in ("id", "status", "output", "usage")}
    trial.expect(
        "responses:same:stored",
        all(at(last, "response", key) == value for key, value in stored_fields.items()),
        stored_fields,
    )


@case(
    must(
        "responses:same:null-stream",
        "spec 2",
        "`stream: false` returns one JSON object, as without `stream`.",
        fault=[replies.STREAM],
    ),
    good=[replies.PLAIN],
)
def no_stream_is_one_object(trial: Trial) -> Steps:
    """Send `stream: false`."""
    exchange = yield from trial.respond("Say hello.", stream=False)
    trial.succeed(exchange)
    is_object = isinstance(exchange.json, dict) and at(exchange.json, "object") == "response"
    trial.expect("responses:same:null-stream", is_object, exchange.came)
