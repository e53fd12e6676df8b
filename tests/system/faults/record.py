"""What clients were told while servers died, and what must be true of it afterwards."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from simulation.promises import Frames, Reading, lost_frames, lost_turns, text_of, unsound

from antiphon.jobs.queue import MOST_CRASHES
from tests.system.faults.cluster import Node
from tests.system.faults.model import Model, expected_text

TAKE_OVER = 15.0
"""Seconds."""

LEAST = 3
"""Acknowledged facts of each kind without which a run shows nothing."""


@dataclass
class Record:
    """`jobs` and `answers` hold the question of each response that was acknowledged, `ends` the
    last states told.
    """

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
        return (
            len(self.jobs)
            + len(self.answers)
            + turns
            + sum(len(one.frames) for one in self.readings)
        )


@dataclass
class Afterwards:
    """What the servers say once everything runs again."""

    responses: dict[str, dict[str, Any] | None]
    replays: dict[str, list[Frames]]
    items: dict[str, list[dict[str, Any]] | None]
    jobs: int


def vacuous(record: Record) -> Iterator[str]:
    """Kinds of facts of which too few were acknowledged for their survival to show anything."""
    kinds = {
        "background responses": len(record.jobs),
        "cancelled ones": len(record.ends.keys() & record.cancels),
        "stored responses": len(record.answers),
        "whole streams": sum(reading.is_whole for reading in record.readings),
        "turns of conversations": sum(map(len, record.turns.values())),
        "repeated keys": len(record.keyed),
    }
    yield from (
        f"only {count} {kind} were acknowledged" for kind, count in kinds.items() if count < LEAST
    )


def lost(record: Record, after: Afterwards, model: Model) -> Iterator[str]:
    """Every fact that does not hold any more.

    A job that `MOST_CRASHES` workers died of fails, as it should.
    """
    for response_id, question in (record.jobs | record.answers).items():
        response = after.responses[response_id]
        if response is None:
            yield f"{response_id} was acknowledged and is unknown"
        elif response["status"] in ("queued", "in_progress"):
            yield f"{response_id} is still {response['status']}"
        elif response["status"] == "completed" and text_of(response) != expected_text(question):
            yield f"{response_id} says {text_of(response)!r}"
        elif (
            len(model.requested.get(question, [])) >= MOST_CRASHES
            and response["status"] == "failed"
        ):
            continue
        elif response["status"] != "completed" and response_id not in record.cancels:
            yield f"{response_id} is {response['status']}: {response['error']}"
    for conversation_id, questions in record.turns.items():
        yield from lost_turns(conversation_id, questions, after.items[conversation_id])


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
    """Streams whose numbers do not rise, replays that are not whole, and frames that a reader saw
    and the log lost.
    """
    for response_id, replays in after.replays.items():
        yield from unsound(response_id, replays, after.responses.get(response_id))
    for reading in record.readings:
        numbers = [number for number, _ in reading.frames]
        if numbers != sorted(set(numbers)):
            yield f"a reader of {reading.response_id} saw {numbers}"
        yield from lost_frames(reading, dict(after.replays.get(reading.response_id, [[]])[0]))


def take_overs(
    record: Record, model: Model, nodes: list[Node], outages: list[float]
) -> list[float]:
    """For each call that was made again: the seconds from the fault of the node that had made it.

    They count from when there was a server to take over, one that ran undisturbed until then, and a
    store to write to: `outages` are the ends of the times without one. A worker that could not
    write has not been silent.
    """
    by_name = {node.name: node for node in nodes}
    found = []
    for question in record.jobs.values():
        for (name, begun), (_, again) in pairwise(model.requested.get(question, [])):
            times = [at for at in by_name[name].faults if begun <= at <= again]
            if times:
                free = min(node.undisturbed_since(again) for node in nodes)
                found.append(
                    again - max(min(times), free, *(end for end in outages if end <= again))
                )
    return found
