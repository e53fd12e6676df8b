"""What clients were told while servers died, and what must be true of it afterwards."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.system.faults.cluster import Node
from tests.system.faults.model import Model, expected_text

TAKE_OVER = 15.0
"""Seconds."""


@dataclass
class Reading:
    """The frames that one reader of a response's stream saw, in order, over all its connections."""

    response_id: str = ""
    frames: list[tuple[int, bytes]] = field(default_factory=list)
    is_whole: bool = False

    @property
    def last(self) -> int:
        return self.frames[-1][0] if self.frames else -1


@dataclass
class Record:
    """`jobs` and `answers` hold the question of each response that was acknowledged, `ends` the last states told."""

    jobs: dict[str, str] = field(default_factory=dict)
    cancels: set[str] = field(default_factory=set)
    answers: dict[str, str] = field(default_factory=dict)
    readings: list[Reading] = field(default_factory=list)
    ends: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    turns: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    keyed: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @property
    def facts(self) -> int:
        turns = sum(map(len, self.turns.values()))
        return len(self.jobs) + len(self.answers) + turns + sum(len(one.frames) for one in self.readings)


@dataclass
class Afterwards:
    """What the servers say once everything runs again."""

    responses: dict[str, dict[str, Any] | None]
    replays: dict[str, list[list[tuple[int, bytes]]]]
    items: dict[str, list[dict[str, Any]] | None]
    jobs: int


def lost(record: Record, after: Afterwards) -> Iterator[str]:
    """Every fact that does not hold any more."""
    for response_id, question in (record.jobs | record.answers).items():
        response = after.responses[response_id]
        if response is None:
            yield f"{response_id} was acknowledged and is unknown"
        elif response["status"] in ("queued", "in_progress"):
            yield f"{response_id} is still {response['status']}"
        elif response["status"] == "completed" and text_of(response) != expected_text(question):
            yield f"{response_id} says {text_of(response)!r}"
        elif response["status"] != "completed" and response_id not in record.cancels:
            yield f"{response_id} is {response['status']}: {response['error']}"
    for conversation_id, questions in record.turns.items():
        yield from _lost_turns(conversation_id, questions, after.items[conversation_id])


def _lost_turns(conversation_id: str, questions: list[str], items: list[dict[str, Any]] | None) -> Iterator[str]:
    said = [item["content"][0]["text"] for item in items or () if item.get("role") == "user"]
    if [question for question in said if question in questions] != questions:
        yield f"{conversation_id} has {said}, acknowledged were {questions}"
    if len(said) != len(set(said)):
        yield f"{conversation_id} has a turn twice"


def two_ends(record: Record, after: Afterwards) -> Iterator[str]:
    """Responses that were told to have ended in two ways, and keys that gave two responses."""
    for response_id, ends in record.ends.items():
        response = after.responses.get(response_id)
        if len(ends | ({response["status"]} if response else set())) != 1:
            yield f"{response_id} ended as {ends}, and is {response and response['status']}"
    for key, ids in record.keyed.items():
        if len(ids) > 1:
            yield f"the key {key} gave {ids}"


def torn_streams(record: Record, after: Afterwards) -> Iterator[str]:
    """Streams whose numbers do not rise, replays that differ, and frames that are told otherwise afterwards."""
    for response_id, (one, other) in after.replays.items():
        if one != other:
            yield f"two replays of {response_id} differ"
        if (numbers := [number for number, _ in one]) != sorted(set(numbers)):
            yield f"the numbers of {response_id} do not rise: {numbers}"
    for reading in record.readings:
        numbers = [number for number, _ in reading.frames]
        if numbers != sorted(set(numbers)):
            yield f"a reader of {reading.response_id} saw {numbers}"
        replay = dict(after.replays.get(reading.response_id, [[]])[0])
        if any(replay.get(number, body) != body for number, body in reading.frames):
            yield f"a reader of {reading.response_id} saw another event than its log has"
        if reading.is_whole and not replay.keys() <= set(numbers):
            yield f"a reader of {reading.response_id} missed {sorted(replay.keys() - set(numbers))}"


def take_overs(record: Record, model: Model, nodes: list[Node]) -> list[float]:
    """For each call that was made again: the seconds from the fault of the node that had made it.

    They count from when there was a server to take over: one that ran undisturbed until then.
    """
    by_name = {node.name: node for node in nodes}
    found = []
    for question in record.jobs.values():
        for (name, begun), (_, again) in pairwise(model.asked.get(question, [])):
            times = [at for at in by_name[name].faults if begun <= at <= again]
            if times:
                free = min(node.undisturbed_since(again) for node in nodes)
                found.append(again - max(min(times), free))
    return found


def text_of(response: dict[str, Any]) -> str:
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])
