"""Agents: the one of `antiphon serve --agents antiphon.testing.verify_agent`, and its replies."""

from typing import Any

from antiphon_verify.events.streams import WELL, Event, event, grown, item, mcp_call, stream
from antiphon_verify.replies import Reply, error, states, streams
from antiphon_verify.replies.bodies import CALL, MESSAGE, RESPONSE

AGENT = "verify-agent"

HELLO = "Say hello."
DELTAS = ("This is the agent ", "of antiphon ", "verify.")
ANSWER = "".join(DELTAS)

ACT = "Ask me for approval."
APPROVED = "It is approved."
REASON = "Not on a Monday."

CALLING = "Call a function."
OUTPUT = "Ulysses"

FAILING = "Please fail."
EXCEPTION = "This failure is a part of antiphon verify."

SEEN = 4
"""Events that a client has seen when it leaves a stream."""


def message(index: int, *deltas: str) -> list[Event]:
    """Return the events of a message with this text."""
    part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    whole = part | {"text": "".join(deltas)}
    text = grown("output_text", "text", *deltas)
    inside = [
        event("content_part.added", part=part),
        *(each | {"logprobs": []} for each in text),
        event("content_part.done", part=whole),
    ]
    added = MESSAGE | {"status": "in_progress", "content": []}
    placed = [each | {"content_index": 0} for each in inside]
    return item(index, added, placed, status="completed", content=[whole])


def counted(label: str = AGENT) -> list[Event]:
    """Return the events of a displayed step."""
    arguments = grown("mcp_call_arguments", "arguments", '{"text":"Say hello."}')
    return mcp_call(0, "mcp_1", arguments, output="2", name="count_words", server_label=label)


STREAMED = streams(stream(counted(), message(1, *DELTAS), **WELL))
CUT = streams(stream(counted(), message(1, *DELTAS[:2]), **WELL))
MISLABELLED = streams(stream(counted("shelves"), message(1, *DELTAS), **WELL))

BACKGROUND = stream(counted(), message(1, *DELTAS), queued=True, **WELL)
LEFT = streams(BACKGROUND)
REST = streams(BACKGROUND[SEEN:])
WITH_GAP = streams(BACKGROUND[SEEN + 1 :])
DOUBLED = streams(
    stream(counted(), message(1, *DELTAS[:2], *DELTAS[1:]), queued=True, **WELL)[SEEN:]
)

LISTED = states({"object": "list", "data": [{"id": AGENT, "object": "model"}]})
UNLISTED = states({"object": "list", "data": [{"id": "demo", "object": "model"}]})


def with_text(text: str, id: str = "resp_1") -> Reply:
    """Return a response with this text."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    output = [MESSAGE | {"id": f"msg_{id}", "content": [part]}]
    return states(RESPONSE | {"id": id, "model": AGENT, "output": output})


ANSWERED = with_text(ANSWER)

REFUSED = error("It does not accept 'temperature'.", 400, "unsupported_parameter", "temperature")

REQUEST = {
    "id": "mcpr_1",
    "type": "mcp_approval_request",
    "name": "act",
    "arguments": '{"on":"nothing"}',
    "server_label": AGENT,
}
FIRST_MESSAGE = MESSAGE | {"id": "msg_first"}
REQUESTED = states(RESPONSE | {"id": "resp_1", "output": [FIRST_MESSAGE, REQUEST]})
CONTINUED = with_text(APPROVED, "resp_2")
SENT_AGAIN = CONTINUED.patched("output", 0, "id", to="msg_first")
INPUT_WITH_ANSWER = error("Nothing else.", 400, "agent_input_with_answer", "input")
ANSWERED_OTHERWISE = error("Answered already.", 409, "agent_approval_answered", "input")

APPROVAL = [REQUESTED, INPUT_WITH_ANSWER, CONTINUED, CONTINUED, ANSWERED_OTHERWISE]
REQUESTED_STREAM = streams(stream(message(0, "One moment."), item(1, REQUEST, []), **WELL))
REJECTION = [REQUESTED_STREAM, with_text(f"It is rejected: {REASON}", "resp_2")]

BEGUN_AGAIN = [REQUESTED, with_text(ANSWER, "resp_2")]

CONVERSATION = states({"id": "conv_1", "object": "conversation", "metadata": {}})
IN_CONVERSATION = [CONVERSATION, REQUESTED, CONTINUED]

CALLED = states(RESPONSE | {"output": [CALL | {"name": "look_up"}]})
FUNCTION = [CALLED, with_text(f"It returned: {OUTPUT}", "resp_2")]


NEEDS_STORE = states(
    RESPONSE | {"status": "failed", "error": {"code": "agent_needs_store", "message": "No store."}}
)


def failing(message: str = "The agent failed.") -> Reply:
    """Return the stream of an agent that raised."""
    error = {"code": "agent_error", "message": message}
    return streams(stream(status="failed", error=error, usage=None))


ELSEWHERE = error("It is an agent.", 400, "unsupported_value", "model")
