"""Agents as models, which are an extension of Antiphon: judged with the agent `verify-agent`, if
the server has it.
"""

from itertools import takewhile
from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.areas.responses.text import output_of, text_of
from antiphon_verify.case import case
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import MISSING, at, listed, preview
from antiphon_verify.replies import replaced, states
from antiphon_verify.replies.completions import COMPLETION
from antiphon_verify.replies.responses import agents as replies
from antiphon_verify.replies.responses.agents import (
    ACT,
    AGENT,
    ANSWER,
    APPROVED,
    CALLING,
    EXCEPTION,
    FAILING,
    HELLO,
    OUTPUT,
    REASON,
    SEEN,
)
from antiphon_verify.requirement import Stop, must, should
from antiphon_verify.soundness import STREAM_IDS, judge_stream
from antiphon_verify.trial import ExchangeSteps, Steps, Trial

SOURCE = "antiphon agents"

FIRST_BYTES = 4_000
"""Of a stream: a few events."""


def _body(trial: Trial, input: Any, **parameters: Any) -> dict[str, Any]:
    """Return the body of a request to the agent: it accepts no limit of tokens."""
    return trial.response_body(input, model=AGENT, max_output_tokens=MISSING, **parameters)


def _call(trial: Trial, input: Any, **parameters: Any) -> ExchangeSteps:
    """Send a request to the agent."""
    return trial.post("/responses", _body(trial, input, **parameters))


def _accepted(trial: Trial, input: Any, **parameters: Any) -> ExchangeSteps:
    """Send a request to the agent. Ends the case unless it accepts the request."""
    exchange = yield from _call(trial, input, **parameters)
    _succeed(trial, exchange)
    return exchange


def _succeed(trial: Trial, exchange: Exchange) -> None:
    """End the case unless the agent accepted the request. The first case decides whether the
    server offers the agent.
    """
    trial.understood(exchange)
    if not exchange.is_ok:
        raise Stop("failed", exchange.came)


def _is_error(exchange: Exchange, status: int, code: str) -> bool:
    return exchange.status == status and at(exchange.json, "error", "code") == code


def _deltas_of(events: list[dict[str, Any]]) -> str:
    """Return the text that the events of a stream send."""
    kind = "response.output_text.delta"
    return "".join(str(event.get("delta")) for event in events if event.get("type") == kind)


@case(
    must(
        "responses:agents:made",
        SOURCE,
        "A request with an agent as its `model` returns a completed response with the text of the "
        "agent.",
        fault=[replies.LISTED, replies.with_text("Hello.")],
    ),
    should(
        "responses:agents:listed",
        SOURCE,
        "`GET /models` lists an agent that answers.",
        fault=[replies.UNLISTED, replies.ANSWERED],
    ),
    good=[replies.LISTED, replies.ANSWERED],
)
def an_agent_answers(trial: Trial) -> Steps:
    """Request the models, and a response of the agent."""
    models = yield from trial.get("/models")
    trial.understood(models)
    is_listed = AGENT in [at(model, "id") for model in listed(models.json, "data")]
    exchange = yield from _call(trial, HELLO)
    answer = text_of(exchange.json)
    is_answered = exchange.is_ok and answer == ANSWER
    if not (is_listed or is_answered):
        raise Stop(
            "not offered",
            f"The server has no agent '{AGENT}', that of the module antiphon.testing.verify_agent.",
        )
    is_completed = is_answered and at(exchange.json, "status") == "completed"
    trial.expect("responses:agents:made", is_completed, exchange.came)
    trial.expect("responses:agents:listed", is_listed, models.came)


@case(
    must(
        "responses:agents:streamed",
        SOURCE,
        "An agent's response streams its text, and ends with `response.completed`.",
        fault=[replies.CUT],
    ),
    should(
        "responses:agents:step",
        SOURCE,
        "A displayed step is a completed `mcp_call` with the name of the agent as `server_label`.",
        fault=[replies.MISLABELLED],
    ),
    asides=STREAM_IDS,
    good=[replies.STREAMED],
)
def an_agent_streams(trial: Trial) -> Steps:
    """Stream a response of the agent, with a step that it displays."""
    exchange = yield from _accepted(trial, HELLO, stream=True)
    events = trial.streamed(exchange)
    judge_stream(trial, events)
    last = events[-1]
    is_whole = last.get("type") == "response.completed" and _deltas_of(events) == ANSWER
    trial.expect("responses:agents:streamed", is_whole, exchange.came)
    calls = [item for item in output_of(at(last, "response")) if item.get("type") == "mcp_call"]
    is_displayed = [(one.get("server_label"), one.get("status")) for one in calls]
    trial.expect("responses:agents:step", is_displayed == [(AGENT, "completed")], preview(calls))


@case(
    must(
        "responses:agents:resumed",
        SOURCE,
        "`starting_after` continues an agent's background stream with the next event, to its end.",
        fault=[replies.LEFT, replies.WITH_GAP],
    ),
    must(
        "responses:agents:text-once",
        SOURCE,
        "The text of a stream that was left and continued is neither cut nor doubled.",
        fault=[replies.LEFT, replies.DOUBLED],
    ),
    good=[replies.LEFT, replies.REST],
)
def an_agent_stream_is_continued(trial: Trial) -> Steps:
    """Leave a background stream of the agent after its first events, and continue it."""
    body = _body(trial, HELLO, background=True, stream=True)
    exchange = yield from trial.post("/responses", body, leave_after=FIRST_BYTES)
    _succeed(trial, exchange)
    seen = [*takewhile(lambda event: isinstance(event, dict), exchange.events)][:SEEN]
    if not seen:
        raise Stop("failed", f"The stream has no events with JSON objects: {exchange.came}")
    path = f"/responses/{id_of(at(seen, 0, 'response'))}?stream=true"
    later = yield from trial.get(f"{path}&starting_after={at(seen, -1, 'sequence_number')}")
    events = [*seen, *trial.streamed(later)]
    numbers = [event.get("sequence_number") for event in events]
    is_gapless = numbers == [*range(len(events))]
    is_ended = events[-1].get("type") == "response.completed"
    resumed = "responses:agents:resumed"
    is_resumed = trial.expect(resumed, is_gapless and is_ended, preview(numbers))
    text = _deltas_of(events)
    root = "" if is_resumed else resumed
    trial.expect("responses:agents:text-once", text == ANSWER, text, root=root)


@case(
    should(
        "responses:agents:unsupported-parameter",
        SOURCE,
        "A parameter that the agent does not accept is rejected with 400, `unsupported_parameter`, "
        "and the name of the parameter as `param`.",
        fault=[replies.ANSWERED],
    ),
    good=[replies.REFUSED],
)
def an_agent_rejects_a_parameter(trial: Trial) -> Steps:
    """Send a temperature to the agent."""
    exchange = yield from _call(trial, HELLO, temperature=0.5)
    is_named = at(exchange.json, "error", "param") == "temperature"
    trial.expect(
        "responses:agents:unsupported-parameter",
        _is_error(exchange, 400, "unsupported_parameter") and is_named,
        exchange.came,
    )


def _reply(request: dict[str, Any], *, is_approved: bool, **fields: Any) -> dict[str, Any]:
    """Return the answer to a request for approval."""
    head = {"type": "mcp_approval_response", "approval_request_id": id_of(request)}
    return head | {"approve": is_approved} | fields


def _requests_in(response: Any) -> list[dict[str, Any]]:
    return [item for item in output_of(response) if item.get("type") == "mcp_approval_request"]


def _request_in(response: Any) -> dict[str, Any]:
    """Return the request for approval. Ends the case without one."""
    for request in _requests_in(response):
        return request
    raise Stop("skipped", "The response had no request for approval.")


@case(
    must(
        "responses:agents:approval",
        SOURCE,
        "An agent that asks ends its response as completed, with an `mcp_approval_request` that "
        "has the name of the agent as `server_label`.",
        fault=replaced(
            replies.APPROVAL,
            0,
            replies.REQUESTED.patched("output", 1, "server_label", to="shelves"),
        ),
    ),
    must(
        "responses:agents:continued",
        SOURCE,
        "The response with the answer continues what the agent was doing.",
        fault=replaced(replies.APPROVAL, 2, replies.with_text("Hello.", "resp_2")),
    ),
    must(
        "responses:agents:nothing-again",
        SOURCE,
        "The response with the answer repeats no item of the response before it.",
        fault=replaced(replies.APPROVAL, 2, replies.SENT_AGAIN),
    ),
    must(
        "responses:agents:same-answer",
        SOURCE,
        "The same answer, sent again, returns the same response.",
        fault=replaced(replies.APPROVAL, 3, replies.with_text(APPROVED, "resp_3")),
    ),
    must(
        "responses:agents:other-answer",
        SOURCE,
        "Another answer to what was answered is rejected with 409, `agent_approval_answered`.",
        fault=replaced(replies.APPROVAL, 4, replies.CONTINUED),
    ),
    must(
        "responses:agents:input-with-answer",
        SOURCE,
        "An answer with other input is rejected with 400, `agent_input_with_answer`.",
        fault=replaced(replies.APPROVAL, 1, replies.CONTINUED),
    ),
    good=replies.APPROVAL,
)
def an_agent_requests_approval(trial: Trial) -> Steps:
    """Let the agent ask for approval, and answer it: together with a message, alone, the same way
    again, and otherwise.
    """
    exchange = yield from _accepted(trial, ACT)
    first = trial.response(exchange)
    requests = _requests_in(first)
    is_completed = at(first, "status") == "completed"
    is_requested = is_completed and [one.get("server_label") for one in requests] == [AGENT]
    if not trial.expect("responses:agents:approval", is_requested, exchange.came):
        return
    chain = {"previous_response_id": id_of(first)}
    approved = _reply(requests[0], is_approved=True)
    message = {"role": "user", "content": "Hurry."}
    mixed = yield from _call(trial, [approved, message], **chain)
    trial.expect(
        "responses:agents:input-with-answer",
        _is_error(mixed, 400, "agent_input_with_answer"),
        mixed.came,
    )
    exchange = yield from _accepted(trial, [approved], **chain)
    second = trial.response(exchange)
    is_continued = at(second, "status") == "completed" and APPROVED in text_of(second)
    trial.expect("responses:agents:continued", is_continued, exchange.came)
    sent = {item.get("id") for item in output_of(first)}
    again = [item for item in output_of(second) if item.get("id") in sent]
    trial.expect("responses:agents:nothing-again", not again, preview(again))
    same = yield from _call(trial, [approved], **chain)
    is_same = same.is_ok and at(same.json, "id") == id_of(second)
    trial.expect("responses:agents:same-answer", is_same, same.came)
    other = yield from _call(trial, [_reply(requests[0], is_approved=False)], **chain)
    trial.expect(
        "responses:agents:other-answer",
        _is_error(other, 409, "agent_approval_answered"),
        other.came,
    )


@case(
    must(
        "responses:agents:rejection",
        SOURCE,
        "After a rejection the agent continues, and learns the reason.",
        fault=replaced(replies.REJECTION, 1, replies.CONTINUED),
    ),
    asides=STREAM_IDS,
    good=replies.REJECTION,
)
def an_agent_is_rejected(trial: Trial) -> Steps:
    """Stream a response in which the agent requests approval, and reject it."""
    exchange = yield from _accepted(trial, ACT, stream=True)
    events = trial.streamed(exchange)
    judge_stream(trial, events)
    first = trial.found(events[-1], "response")
    rejected = _reply(_request_in(first), is_approved=False, reason=REASON)
    exchange = yield from _accepted(trial, [rejected], previous_response_id=id_of(first))
    text = text_of(trial.response(exchange))
    trial.expect("responses:agents:rejection", REASON in text, text)


@case(
    must(
        "responses:agents:conversation",
        SOURCE,
        "An answer in the conversation of the request continues the agent.",
        fault=replaced(replies.IN_CONVERSATION, 2, replies.with_text(ANSWER, "resp_2")),
    ),
    good=replies.IN_CONVERSATION,
)
def an_agent_is_approved_in_a_conversation(trial: Trial) -> Steps:
    """Create a conversation, and let the agent request approval and receive it there."""
    conversation = id_of(trial.whole((yield from trial.post("/conversations", {}))))
    exchange = yield from _accepted(trial, ACT, conversation=conversation)
    approved = _reply(_request_in(trial.response(exchange)), is_approved=True)
    exchange = yield from _accepted(trial, [approved], conversation=conversation)
    text = text_of(trial.response(exchange))
    trial.expect("responses:agents:conversation", APPROVED in text, text)


@case(
    should(
        "responses:agents:new-message",
        SOURCE,
        "A new message instead of an answer begins a new run of the agent.",
        fault=replaced(replies.BEGUN_AGAIN, 1, replies.CONTINUED),
    ),
    good=replies.BEGUN_AGAIN,
)
def an_agent_begins_again(trial: Trial) -> Steps:
    """Let the agent request approval, and send a message instead."""
    exchange = yield from _accepted(trial, ACT)
    first = id_of(trial.response(exchange))
    exchange = yield from _call(trial, HELLO, previous_response_id=first)
    text = text_of(exchange.json)
    trial.expect("responses:agents:new-message", exchange.is_ok and text == ANSWER, exchange.came)


@case(
    must(
        "responses:agents:function-call",
        SOURCE,
        "An agent that needs a function of the client ends its response as completed, with a "
        "`function_call`.",
        fault=[replies.CALLED.patched("output", to=[])],
    ),
    must(
        "responses:agents:function-output",
        SOURCE,
        "The output of the client's function continues the agent.",
        fault=replaced(replies.FUNCTION, 1, replies.CONTINUED),
    ),
    good=replies.FUNCTION,
)
def an_agent_calls_a_function(trial: Trial) -> Steps:
    """Let the agent call a function, and return its output."""
    exchange = yield from _accepted(trial, CALLING)
    first = trial.response(exchange)
    calls = [item for item in output_of(first) if item.get("type") == "function_call"]
    is_called = at(first, "status") == "completed" and len(calls) == 1
    if not trial.expect("responses:agents:function-call", is_called, exchange.came):
        return
    call_id = trial.found(calls, 0, "call_id")
    result = {"type": "function_call_output", "call_id": call_id, "output": OUTPUT}
    exchange = yield from _accepted(trial, [result], previous_response_id=id_of(first))
    text = text_of(trial.response(exchange))
    trial.expect("responses:agents:function-output", OUTPUT in text, text)


@case(
    should(
        "responses:agents:needs-store",
        SOURCE,
        "With `store: false`, an agent that needs an answer fails with `agent_needs_store`.",
        fault=[replies.REQUESTED],
    ),
    good=[replies.NEEDS_STORE],
)
def an_unstored_agent_requests_approval(trial: Trial) -> Steps:
    """Let the agent request approval in a response that is not stored."""
    exchange = yield from _accepted(trial, ACT, store=False)
    is_failed = _fails_with(trial.response(exchange), "agent_needs_store")
    trial.expect("responses:agents:needs-store", is_failed, exchange.came)


@case(
    must(
        "responses:agents:failed",
        SOURCE,
        "If the program of an agent raises, its response fails with `agent_error`.",
        fault=[replies.STREAMED],
    ),
    must(
        "responses:agents:failed-unseen",
        SOURCE,
        "The error of an agent that raised does not contain the text of the exception.",
        fault=[replies.failing(replies.EXCEPTION)],
    ),
    asides=STREAM_IDS,
    good=[replies.failing()],
)
def an_agent_fails(trial: Trial) -> Steps:
    """Stream a response in which the agent raises."""
    exchange = yield from _accepted(trial, FAILING, stream=True)
    events = trial.streamed(exchange)
    judge_stream(trial, events)
    is_failed = _fails_with(at(events, -1, "response"), "agent_error")
    trial.expect("responses:agents:failed", is_failed, exchange.came)
    is_unseen = EXCEPTION.encode() not in exchange.body
    trial.expect("responses:agents:failed-unseen", is_unseen, exchange.came)


def _fails_with(response: Any, code: str) -> bool:
    return bool(at(response, "status") == "failed" and at(response, "error", "code") == code)


@case(
    should(
        "responses:agents:chat",
        SOURCE,
        "A chat completion with an agent is rejected with 400 and `model` as `param`.",
        fault=[states(COMPLETION)],
    ),
    good=[replies.ELSEWHERE],
)
def an_agent_in_chat(trial: Trial) -> Steps:
    """Request a chat completion of the agent."""
    exchange = yield from trial.chat(HELLO, model=AGENT)
    trial.supported(exchange)
    is_named = at(exchange.json, "error", "param") == "model"
    trial.expect("responses:agents:chat", exchange.status == 400 and is_named, exchange.came)
