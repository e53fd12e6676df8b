"""Streamed messages, event by event."""

from typing import Any

from antiphon_verify.areas.messages.answer import WEATHER
from antiphon_verify.case import case
from antiphon_verify.events.message_stream import Rule, fold, violations
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import at, listed, preview
from antiphon_verify.replies.messages import stream as replies
from antiphon_verify.replies.messages.stream import arguments, block, end, start, text
from antiphon_verify.requirement import Stop, must
from antiphon_verify.trial import Steps, Trial

GRAMMAR = "messages recordings"
"""What all of the recorded streams have."""

JUDGED: dict[Rule, str] = {
    "named": "messages:stream:named",
    "ends": "messages:stream:ends",
    "blocks": "messages:stream:blocks",
    "deltas": "messages:stream:deltas",
    "usage": "messages:stream:usage",
}
"""The requirement of each rule that every stream shows."""


def events_of(trial: Trial, exchange: Exchange) -> list[tuple[str, dict[str, Any]]]:
    """Return the events of a stream with their names. Ends the case without any."""
    events = trial.streamed(exchange)
    names = [frame.event or "" for frame in exchange.frames if frame.data is not None]
    if len(names) != len(events):
        raise Stop("failed", f"The stream has data that is not JSON: {exchange.came}")
    return list(zip(names, events, strict=True))


@case(
    must(
        "messages:stream:ends",
        GRAMMAR,
        "A stream begins with `message_start`, and ends with `message_delta`, which has a "
        "`stop_reason`, and `message_stop`; or with `error`.",
        fault=[replies.stream(start(), *replies.HELLO)],
    ),
    asides=(
        must(
            "messages:stream:named",
            "client SDKs",
            "The `event` line of each event is its `type`: the SDKs skip others.",
            fault=[replies.stream(start(), {"type": "chunk"}, *replies.HELLO, *end())],
        ),
        must(
            "messages:stream:blocks",
            "issue ollama#17101",
            "Blocks never overlap, and their indexes are 0, 1, 2 and so on.",
            fault=[replies.stream(start(), *block(replies.EMPTY, text("Hi"), index=1), *end())],
        ),
        must(
            "messages:stream:deltas",
            "issue litellm#33224",
            "Each delta fits the type of its block: clients lose others.",
            fault=[
                replies.stream(
                    start(),
                    *block(replies.EMPTY, {"type": "thinking_delta", "thinking": "Hm."}),
                    *end(),
                )
            ],
        ),
        must(
            "messages:stream:usage",
            "issue CLIProxyAPI#1700",
            "`message_start` and `message_delta` have a `usage` with tokens.",
            fault=[replies.stream(start(), *replies.HELLO, *end(usage={}))],
        ),
    ),
    good=[replies.GOOD],
)
def a_message_is_streamed(trial: Trial) -> Steps:
    """Stream a text."""
    exchange = yield from trial.message("Say hello.", stream=True)
    found = violations(events_of(trial, exchange))
    for rule, judged in JUDGED.items():
        broken = next((one.what for one in found if one.rule == rule), "")
        trial.expect(judged, not broken, broken)


@case(
    must(
        "messages:stream:input",
        "client SDKs",
        "The input of a call is at each delta the beginning of valid JSON, and an object at its "
        "end: the SDKs raise an error otherwise.",
        fault=[
            replies.stream(start(), *block(replies.USE, arguments("<city>Paris")), *end("tool_use"))
        ],
    ),
    good=[replies.CALL],
)
def a_call_is_streamed(trial: Trial) -> Steps:
    """Stream a forced call of a tool."""
    choice = {"type": "tool", "name": "get_weather"}
    exchange = yield from trial.message(
        "What is the weather in Paris?", tools=[WEATHER], tool_choice=choice, stream=True
    )
    events = events_of(trial, exchange)
    broken = next((one.what for one in violations(events) if one.rule == "input"), "")
    uses = [one for one in listed(fold(events), "content") if at(one, "type") == "tool_use"]
    is_called = bool(uses) and bool(at(uses[0], "input"))
    trial.expect("messages:stream:input", is_called and not broken, broken or preview(uses))
