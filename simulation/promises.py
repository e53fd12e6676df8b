"""What servers promise to clients that read a stream or talk in a conversation: the simulation and
the fault tests judge by it what their clients received.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.testing import check_event_stream

ENDS = ("response.completed", "response.incomplete", "response.failed")
"""The events that end a stream; a cancelled response ends with `response.incomplete` or its own."""

RETAINED = ("response.created", "response.output_item.done", *ENDS)
"""Events that stay in the log once a reader has received them."""

NOT_OF_CANCELLED = (
    *("terminal:status-matches-type", "incomplete:reason", "usage:present"),
    "stream:opening-order",
)
"""Rules for other ends than that of a cancelled response, for which no event exists. Cancelled in
the queue, it has never been in progress.
"""

Frames = list[tuple[int, bytes]]
"""Events of a stream as they were received, with their numbers."""


@dataclass(slots=True)
class Reading:
    """The events that one reader of a stream received, over all its connections."""

    response_id: str = ""
    frames: Frames = field(default_factory=list)
    is_whole: bool = False

    @property
    def last(self) -> int:
        """The number of the last event; -1 before the first."""
        return self.frames[-1][0] if self.frames else -1


def lost_turns(
    conversation_id: str, questions: list[str], items: list[dict[str, Any]] | None
) -> Iterator[str]:
    """Yield what is wrong with the items of a conversation in which these turns were
    acknowledged.
    """
    texts = turns_of(items)
    if [text for text in texts if text in questions] != questions:
        yield f"{conversation_id} has {texts}; acknowledged were {questions}"
    if len(texts) != len(set(texts)):
        yield f"{conversation_id} has a turn twice: {texts}"


def turns_of(items: list[dict[str, Any]] | None) -> list[str]:
    """Return what the user said in a conversation, in order."""
    return [item["content"][0]["text"] for item in items or () if item.get("role") == "user"]


def unsound(
    response_id: str, replays: Sequence[Frames], response: dict[str, Any] | None
) -> Iterator[str]:
    """Yield what is wrong with two replays of a stream by themselves, and beside the response that
    they should end in.
    """
    one, other = replays
    if one != other:
        yield f"two replays of {response_id} differ"
    numbers = [number for number, _ in one]
    if numbers != sorted(set(numbers)):
        yield f"the numbers of {response_id} do not rise: {numbers}"
    # A job that begins again never gives a number twice, so numbers can be missing; nothing else.
    events = [event_of(frame) | {"sequence_number": place} for place, (_, frame) in enumerate(one)]
    is_cancelled = bool(events) and events[-1].get("response", {}).get("status") == "cancelled"
    for found in check_event_stream(events):
        if is_cancelled and str(found).startswith(NOT_OF_CANCELLED):
            continue
        yield f"the replay of {response_id} is not sound: {found}"
    stored = {
        name: value for name, value in (response or {}).items() if name != "output_text"
    }  # of plain replies only
    if not events or events[-1].get("response") != stored:
        yield f"the replay of {response_id} does not end in the stored response"


def lost_frames(reading: Reading, replay: dict[int, bytes]) -> Iterator[str]:
    """Yield what a reader received and the log has lost, and what the reader missed.

    Of an item that was half made, a job that begins again drops its part.
    """
    response_id = reading.response_id
    for number, frame in reading.frames:
        if replay.get(number, frame) != frame:
            yield f"event {number} of {response_id} was another one for a reader"
        if number not in replay and event_of(frame)["type"] in RETAINED:
            yield f"the log of {response_id} lost event {number}, which a reader received"
    missed = sorted(replay.keys() - dict(reading.frames).keys())
    if reading.is_whole and missed:
        yield f"a reader of {response_id} missed {missed}"


def text_of(response: dict[str, Any]) -> str:
    """Return the text of a response."""
    return "".join(
        part["text"]
        for item in response["output"]
        if item["type"] == "message"
        for part in item["content"]
    )


def event_of(frame: bytes) -> dict[str, Any]:
    """Return the event of a frame."""
    event: dict[str, Any] = json.loads(frame.partition(b"data: ")[2])
    return event
