"""Responses that continue other responses."""

from typing import Any

from antiphon_verify.areas.responses.text import output_of, text_of
from antiphon_verify.case import case
from antiphon_verify.exchange import Request
from antiphon_verify.reading import MISSING, at, is_integer, is_text, listed, preview
from antiphon_verify.refusal import is_refused
from antiphon_verify.replies import error, states
from antiphon_verify.replies.responses import chain as replies
from antiphon_verify.requirement import Stop, capability, may, must, should
from antiphon_verify.samples import TOOLS, WEATHER_QUESTION
from antiphon_verify.trial import Steps, Trial, is_response

WORD = "zanzibar"

SAME_CALL = ("call_id", "name", "arguments")
"""The fields of a function call that a client sends again."""


def id_of(response: object) -> str:
    """Return the id of a response. Ends the case without one."""
    found = at(response, "id")
    if not is_text(found):
        raise Stop("failed", f"The response's id is {preview(found)}.")
    return found


def with_ids(response: object) -> list[Any]:
    """Return the output items of a response that have an id. Ends the case without any."""
    items = [item for item in listed(response, "output") if is_text(at(item, "id"))]
    if not items:
        raise Stop("skipped", "The items of the output have no id.")
    return items


@case(
    must(
        "responses:chain:taken",
        "spec 10",
        "`previous_response_id` continues another response.",
        fault=[replies.FIRST, replies.NOT_FOUND],
    ),
    must(
        "responses:chain:echoed",
        "spec 3",
        "The response echoes its `previous_response_id`.",
        fault=[replies.FIRST, replies.SECOND.patched("previous_response_id", to=None)],
    ),
    should(
        "responses:chain:counted",
        "issue ollama#15954",
        "A chained turn uses more input tokens than the same turn alone.",
        fault=[replies.FIRST, replies.FIRST, replies.FIRST],
    ),
    must(
        "responses:chain:three-deep",
        "issue ogx#2522",
        "A chain of three turns works.",
        fault=[replies.FIRST, replies.SECOND, replies.FIRST, replies.NOT_FOUND],
    ),
    capability(
        should(
            "responses:chain:recalled",
            "issue ollama#15954",
            "The model recalls a word from the previous turn.",
            fault=[replies.FIRST, replies.FIRST, replies.FIRST],
        )
    ),
    good=[replies.FIRST, replies.SECOND, replies.FIRST, replies.SECOND],
)
def a_chain_is_followed(trial: Trial) -> Steps:
    """Hold a conversation of three turns by `previous_response_id`."""
    first = trial.response((yield from trial.respond(f"Remember this word: {WORD}.", store=True)))
    question = "Which word did I ask you to remember? Answer with the word alone."
    exchange = yield from trial.respond(question, previous_response_id=id_of(first))
    second = trial.whole(exchange)
    trial.expect("responses:chain:taken", True)
    echoed = at(second, "previous_response_id")
    trial.expect("responses:chain:echoed", echoed == id_of(first), preview(echoed))
    trial.expect(
        "responses:chain:recalled", WORD in text_of(second).lower(), text_of(second) or "no text"
    )
    single = trial.response((yield from trial.respond(question)))
    counts = [at(one, "usage", "input_tokens") for one in (single, second)]
    if all(map(is_integer, counts)):
        trial.expect(
            "responses:chain:counted",
            counts[0] < counts[1],
            f"{counts[0]} alone, {counts[1]} chained",
        )
    third = yield from trial.respond("Say it again.", previous_response_id=id_of(second))
    trial.expect("responses:chain:three-deep", third.is_ok and is_response(third.json), third.came)


@case(
    must(
        "responses:chain:after-stream",
        "issue lmstudio#1188",
        "A streamed response can be continued as soon as it has ended.",
        fault=[replies.STREAM, replies.NOT_FOUND],
    ),
    must(
        "responses:chain:streamed",
        "spec 10",
        "A chained response can be streamed.",
        fault=[replies.STREAM, replies.SECOND, replies.NOT_FOUND],
    ),
    good=[replies.STREAM, replies.SECOND, replies.STREAM],
)
def a_stream_is_continued_at_once(trial: Trial) -> Steps:
    """Continue a streamed response as soon as it has ended, in a stream as well."""
    last = trial.streamed((yield from trial.respond("Say hello.", stream=True, store=True)))[-1]
    previous = id_of(at(last, "response"))
    second = yield from trial.respond("Say it again.", previous_response_id=previous)
    trial.offered(second)
    trial.expect(
        "responses:chain:after-stream", second.is_ok and is_response(second.json), second.came
    )
    third = yield from trial.respond("Say it again.", previous_response_id=previous, stream=True)
    end = at(third.events, -1, "type")
    is_whole = third.is_ok and end in ("response.completed", "response.incomplete")
    trial.expect("responses:chain:streamed", is_whole, third.came)


@case(
    must(
        "responses:chain:fork",
        "spec 10",
        "Two responses can continue the same response.",
        fault=[replies.FIRST, replies.SECOND, replies.NOT_FOUND],
    ),
    good=[replies.FIRST, replies.SECOND, replies.FIRST],
)
def a_chain_is_forked(trial: Trial) -> Steps:
    """Continue one response twice, at the same time."""
    first = trial.response((yield from trial.respond("Say hello.", store=True)))
    body = trial.response_body("Say it again.", previous_response_id=id_of(first))
    exchanges = yield from trial.together(
        *[Request(method="POST", path="/responses", body=body)] * 2
    )
    for exchange in exchanges:
        trial.offered(exchange)
    ids = [at(exchange.json, "id") for exchange in exchanges]
    is_forked = all(exchange.is_ok for exchange in exchanges) and ids[0] != ids[1]
    trial.expect(
        "responses:chain:fork", is_forked, "; ".join(exchange.came for exchange in exchanges)
    )


@case(
    must(
        "responses:chain:unstored",
        "spec 10",
        "Continuing a response with `store: false` is rejected.",
        fault=[replies.FIRST, replies.SECOND],
    ),
    good=[replies.FIRST, replies.NOT_FOUND],
)
def an_unstored_response_ends_a_chain(trial: Trial) -> Steps:
    """Continue a response that was not stored."""
    first = trial.response((yield from trial.respond("Say hello.", store=False)))
    exchange = yield from trial.respond("Say it again.", previous_response_id=id_of(first))
    trial.understood(exchange)
    trial.expect("responses:chain:unstored", is_refused(exchange), exchange.came)


@case(
    must(
        "responses:chain:deleted",
        "spec 10",
        "Continuing a deleted response is rejected.",
        fault=[replies.FIRST, states({}), replies.SECOND],
    ),
    good=[replies.FIRST, states({}), replies.NOT_FOUND],
)
def a_deleted_response_ends_a_chain(trial: Trial) -> Steps:
    """Continue a deleted response."""
    first = trial.response((yield from trial.respond("Say hello.", store=True)))
    trial.succeed((yield from trial.delete(f"/responses/{id_of(first)}")))
    exchange = yield from trial.respond("Say it again.", previous_response_id=id_of(first))
    trial.understood(exchange)
    trial.expect("responses:chain:deleted", is_refused(exchange), exchange.came)


@case(
    should(
        "responses:chain:repeated-id",
        "spec 13",
        "An input item with the id of an item in the chain is rejected with 400.",
        fault=[replies.FIRST, replies.SECOND],
    ),
    good=[replies.FIRST, error("Duplicate item found with id msg_1.", 400, None, "input")],
)
def an_item_of_the_chain_is_sent_again(trial: Trial) -> Steps:
    """Continue a response, and send its output again."""
    first = trial.response((yield from trial.respond("Say hello.", store=True)))
    exchange = yield from trial.respond(
        [*with_ids(first), {"role": "user", "content": "Say it again."}],
        previous_response_id=id_of(first),
    )
    trial.understood(exchange)
    trial.expect("responses:chain:repeated-id", exchange.status == 400, exchange.came)


@case(
    should(
        "responses:chain:repeated-call",
        "issue livekit/agents#5136",
        "A call of the chain that is sent again without its id, before its output, is accepted.",
        fault=[replies.CALLED, replies.DUPLICATE, replies.DUPLICATE],
    ),
    may(
        "responses:chain:changed-call",
        "spec 24",
        "A call with other arguments and the `call_id` of a call of the chain is rejected with 400.",  # noqa: E501 - one text, or a row of a table
        fault=[replies.CALLED, replies.SECOND, replies.SECOND],
    ),
    good=[replies.CALLED, replies.DUPLICATE, replies.SECOND],
)
def a_call_of_the_chain_is_sent_again(trial: Trial) -> Steps:
    """Send a call again before its output: changed, then as it was."""
    first = trial.response(
        (
            yield from trial.respond(
                WEATHER_QUESTION, tools=TOOLS, tool_choice="required", store=True
            )
        )
    )
    calls = [item for item in output_of(first) if at(item, "type") == "function_call"]
    if not calls or not all(is_text(at(calls[0], name)) for name in SAME_CALL):
        raise Stop("skipped", "There was no call.")
    sent = {"type": "function_call"} | {name: calls[0][name] for name in SAME_CALL}
    outputs = [
        {"type": "function_call_output", "call_id": at(call, "call_id"), "output": "Sunny."}
        for call in calls
    ]
    after = {"previous_response_id": id_of(first), "tools": TOOLS}
    changed = yield from trial.respond(
        [sent | {"arguments": '{"city": "Atlantis"}'}, *outputs], **after
    )
    trial.understood(changed)
    trial.expect("responses:chain:changed-call", changed.status == 400, changed.came)
    same = yield from trial.respond([sent, *outputs], **after)
    trial.expect("responses:chain:repeated-call", same.is_ok and is_response(same.json), same.came)


@case(
    should(
        "responses:chain:instructions",
        "spec 2",
        "`instructions` do not carry over to the next response.",
        fault=[replies.FIRST, replies.SECOND.patched("instructions", to="Answer in one word.")],
    ),
    good=[replies.FIRST, replies.SECOND],
)
def instructions_hold_once(trial: Trial) -> Steps:
    """Continue a response that had instructions, without instructions."""
    first = trial.response(
        (yield from trial.respond("Say hello.", instructions="Answer in one word.", store=True))
    )
    second = trial.response(
        (yield from trial.respond("Say it again.", previous_response_id=id_of(first)))
    )
    echoed = at(second, "instructions")
    if echoed is not MISSING:
        trial.expect("responses:chain:instructions", echoed is None, preview(echoed))
