"""WebSocket mode."""

from dataclasses import replace
from typing import Any

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import Reply, changed, frames, states

EMPTY = Reply(400, b"{}")

EVENTS = STREAMS["answer"]


def response(name: str = "resp_1", *, reused: bool = True, **fields: Any) -> Reply:
    """Return the events of a response on a socket."""
    end = EVENTS[-1]
    for key, value in {"id": name, **fields}.items():
        end = changed(end, "response", key, to=value)
    return replace(frames(*EVENTS[:-1], end), is_reused=reused)


def fails(code: str | None = None, param: str | None = None, **fields: Any) -> Reply:
    """Return an error on a socket."""
    error = {
        "type": "invalid_request_error",
        "code": code,
        "message": "It is wrong.",
        "param": param,
    }
    return replace(
        frames({"type": "error", "status": 400, "error": error, **fields}), is_reused=True
    )


FIRST = response()
SECOND = response("resp_2")

LOST = fails("previous_response_not_found", "previous_response_id")

WARM = response(output=[])

CLOSED = replace(frames(), fault="the WebSocket came to its end")

FRAMED = Reply(101, b"event: response.created\ndata: {}\n")


def in_lane(*, lane: str | None) -> Reply:
    """Return the events of a stream, each with the id of a lane."""
    return frames(*(one if lane is None else one | {"stream_id": lane} for one in EVENTS))


CHAIN = [FIRST, SECOND, LOST, FIRST]

BAD = [FIRST, fails(), fails(), fails("invalid_type", "input")]

COMPACTED = states(
    {
        "object": "response.compaction",
        "output": [{"type": "compaction", "encrypted_content": "gAAA"}],
    }
)


def steered(outcome: str, **fields: Any) -> Reply:
    """Return the outcome of a steer."""
    steer = fields.pop("steer", {"previous_response_id": "resp_1"})
    return replace(
        frames({"type": f"response.steer.{outcome}", "steer": steer, **fields}), is_reused=True
    )


NO_SUCH = {
    "code": "response_not_found",
    "message": "The response is not there.",
    "type": "invalid_request_error",
}

NOT_FOUND = steered(
    "failed", error=NO_SUCH, steer={"previous_response_id": "resp_0", "input": "In French, please."}
)

ACCEPTED = steered("accepted", steer={"id": "steer_1", "previous_response_id": "resp_1"})

BEGUN = frames(EVENTS[0])

CUT = STREAMS["cut"][-1]

BOTH = frames(CUT, changed(EVENTS[-1], "response", "id", to="resp_2"))
