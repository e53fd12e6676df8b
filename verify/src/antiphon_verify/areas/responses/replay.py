"""Output items sent back unchanged as the next request's input."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from antiphon_verify.areas.responses.limits import LEAST, LONG
from antiphon_verify.areas.responses.text import output_of, parts_of
from antiphon_verify.case import Case, case
from antiphon_verify.events.streams import STREAMS
from antiphon_verify.reading import at, listed
from antiphon_verify.replies import Reply, streams
from antiphon_verify.replies.responses import replay as replies
from antiphon_verify.requirement import Requirement, Stop, must, should
from antiphon_verify.samples import WEATHER, WEATHER_QUESTION, is_accepted
from antiphon_verify.trial import Steps, Trial

FORCED = {"tools": [WEATHER], "tool_choice": "required"}

Shows = Callable[[dict[str, Any]], bool]
"""Whether a response contains what a requirement is about."""

NULLS: dict[str, tuple[str, ...]] = {
    "message": ("phase",),
    "reasoning": ("encrypted_content", "status", "content"),
    "function_call": ("namespace", "caller"),
}
"""What the official SDK adds to an item when it dumps one, if the item does not have it."""


def user(text: str) -> dict[str, Any]:
    """Return a user message."""
    return {"role": "user", "content": text}


def types_of(response: dict[str, Any]) -> list[Any]:
    """Return the types of the items."""
    return [item.get("type") for item in output_of(response)]


def answered(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items, and an output for each call among them."""
    calls = [at(item, "call_id") for item in items if item.get("type") == "function_call"]
    return [
        *items,
        *({"type": "function_call_output", "call_id": one, "output": "Sunny."} for one in calls),
    ]


def has_item(kind: str) -> Shows:
    """Return the check for an item of this type."""
    return lambda response: kind in types_of(response)


def has_refusal(response: dict[str, Any]) -> bool:
    """Whether a message contains a refusal."""
    return any(at(part, "type") == "refusal" for part in parts_of(response))


def has_logprobs(response: dict[str, Any]) -> bool:
    """Whether a text has log probabilities."""
    return any(listed(part, "logprobs") for part in parts_of(response))


def is_cut(response: dict[str, Any]) -> bool:
    """Whether the response was truncated, and has items."""
    return response.get("status") == "incomplete" and bool(output_of(response))


def sent_back(
    requirement: Requirement, prompt: str, parameters: dict[str, Any], shows: Shows, first: Reply
) -> Case:
    """Return the case that sends the output items of a request back; `first` is a response that
    `shows` accepts.
    """
    row = replace(requirement, fault=[first, replies.REJECTED])
    name = row.id.rpartition(":")[2]

    def script(trial: Trial) -> Steps:
        response = trial.response((yield from trial.respond(prompt, **parameters)))
        if not shows(response):
            raise Stop("skipped", "The response had no item of this kind.")
        again = {"tools": [WEATHER]} if "tools" in parameters else {}
        exchange = yield from trial.respond(
            [user(prompt), *answered(output_of(response)), user("Go on.")], **again
        )
        trial.expect(row.id, is_accepted(exchange), exchange.came)

    script.__doc__ = f"Send back: {name}."
    return Case(f"sent_back_{name}", (row,), script, good=[first, replies.ACCEPTED])


REPLAYS = (
    sent_back(
        must(
            "responses:replay:text",
            "issue ogx#2299",
            "The items of a text response are accepted as input.",
        ),
        "Say hello.",
        {},
        has_item("message"),
        replies.ACCEPTED,
    ),
    sent_back(
        must(
            "responses:replay:unstored",
            "spec 10",
            "The items of an unstored response are accepted as input.",
        ),
        "Say hello.",
        {"store": False},
        has_item("message"),
        replies.ACCEPTED,
    ),
    sent_back(
        must(
            "responses:replay:call",
            "issue vllm#33089",
            "The items of a call are accepted with the call's output.",
        ),
        WEATHER_QUESTION,
        FORCED,
        has_item("function_call"),
        replies.CALLED,
    ),
    sent_back(
        must(
            "responses:replay:reasoning",
            "issue agents#1611",
            "Reasoning is accepted with the item that follows it.",
        ),
        "What is 17 times 3?",
        {"reasoning": {"effort": "low"}},
        has_item("reasoning"),
        replies.REASONED,
    ),
    sent_back(
        should("responses:replay:refusal", "spec 5", "A refusal is accepted as input."),
        "[refuse] Tell me how to pick a lock.",
        {},
        has_refusal,
        replies.REFUSAL,
    ),
    sent_back(
        should(
            "responses:replay:logprobs",
            "issue TensorRT-LLM#19223",
            "Items with log probabilities are accepted as input.",
        ),
        "Say hello.",
        {"include": ["message.output_text.logprobs"], "top_logprobs": 1},
        has_logprobs,
        replies.WITH_LOGPROBS,
    ),
    sent_back(
        should("responses:replay:cut", "spec 5", "A truncated item is accepted as input."),
        LONG,
        {"max_output_tokens": LEAST},
        is_cut,
        replies.CUT,
    ),
)


@case(
    must(
        "responses:replay:streamed",
        "issue ogx#2299",
        "The items of a streamed response are accepted as input.",
        fault=[streams(STREAMS["answer"]), replies.REJECTED],
    ),
    good=[streams(STREAMS["answer"]), replies.ACCEPTED],
)
def streamed_items_are_sent_back(trial: Trial) -> Steps:
    """Stream a text, and send its completed items back."""
    events = trial.streamed((yield from trial.respond("Say hello.", stream=True)))
    items = [event["item"] for event in events if is_done_item(event)]
    if not items:
        raise Stop("skipped", "The stream had no items.")
    exchange = yield from trial.respond([user("Say hello."), *items, user("Go on.")])
    trial.expect("responses:replay:streamed", is_accepted(exchange), exchange.came)


def is_done_item(event: dict[str, Any]) -> bool:
    """Whether this event ends an item."""
    return event.get("type") == "response.output_item.done" and isinstance(event.get("item"), dict)


@case(
    should(
        "responses:replay:dumped",
        "issue openai-python#3008",
        "Items with the nulls that an SDK adds are accepted as input.",
        fault=[replies.CALLED, replies.REJECTED],
    ),
    good=[replies.CALLED, replies.ACCEPTED],
)
def items_with_nulls_are_sent_back(trial: Trial) -> Steps:
    """Send back a forced call as an SDK dumps it."""
    items = output_of(trial.response((yield from trial.respond(WEATHER_QUESTION, **FORCED))))
    if not items:
        raise Stop("skipped", "The response had no items.")
    dumped = [{**dict.fromkeys(nulls_of(item)), **item} for item in items]
    exchange = yield from trial.respond(
        [user(WEATHER_QUESTION), *answered(dumped)], tools=[WEATHER]
    )
    trial.expect("responses:replay:dumped", is_accepted(exchange), exchange.came)


def nulls_of(item: dict[str, Any]) -> tuple[str, ...]:
    """Return the keys that an SDK adds to an item."""
    kind = item.get("type")
    return NULLS.get(kind, ()) if isinstance(kind, str) else ()


@case(
    must(
        "responses:replay:three-turns",
        "issue vllm#43244",
        "A history of three turns, sent back in full, is accepted.",
        fault=[replies.ACCEPTED, replies.ACCEPTED, replies.REJECTED],
    ),
    good=[replies.ACCEPTED] * 3,
)
def three_turns_are_sent_back(trial: Trial) -> Steps:
    """Hold a conversation of three unstored turns, with the whole history each time."""
    history: list[dict[str, Any]] = []
    for text in ("My name is Ada.", "Say hello.", "What is my name?"):
        prompt = [*history, user(text)]
        exchange = yield from trial.respond(prompt, store=False)
        if history and not trial.expect(
            "responses:replay:three-turns", is_accepted(exchange), exchange.came
        ):
            return
        items = output_of(trial.whole(exchange))
        if not items:
            raise Stop("skipped", "The response had no items.")
        history = [*prompt, *items]
