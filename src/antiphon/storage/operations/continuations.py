"""Responses of agents that wait for the client, and the one response that continues each of them.

The answers of a client are taken once, in the transaction that queues the response with them: it
locks the response that waits, and notes in its journal which response has the answers. So of equal
requests, at the same moment and on any servers, one continues the run, and the others find it.
"""

import json
from operator import attrgetter

from antiphon.storage.operations import steps
from antiphon.storage.operations.step import NOW, Operation, first, query_rows, reads, writes
from antiphon.storage.records.steps import (
    ANSWERED,
    RUN,
    Answers,
    Continued,
    Step,
    StepState,
    StepWrite,
    Waiting,
    size_of,
)

UNSUCCESSFUL = {"failed", "cancelled"}
"""The statuses of a response after which its answers can be taken again."""


@reads("waiting")
def waiting(tenant: str, item_id: str) -> Operation[Waiting | None]:
    """Return the response that waits for the client with this output item; None if none does, or
    if it is not stored any more.
    """
    rows = yield from query_rows("waiting", item_id, tenant, (yield NOW), ANSWERED)
    found = sorted((steps.step_of(row[1:]) for row in rows), key=attrgetter("place"))
    questions = [step for step in found if step.place != ANSWERED]
    return Waiting(rows[0][0], questions, len(questions) < len(found)) if questions else None


@reads("run")
def run(tenant: str, response_id: str) -> Operation[list[str]]:
    """Return the responses that a response continues, from the one that began its run;
    empty if it began one itself.
    """
    row = yield from first("step", response_id, tenant, RUN)
    return json.loads(steps.step_of(row).body) if row is not None else []


@reads("repetitions")
def repetitions(tenant: str, waiting: str) -> Operation[int]:
    """Return how many requests have repeated the answers to a response."""
    row = yield from first("step", waiting, tenant, ANSWERED)
    return 0 if row is None else steps.step_of(row).attempt - 1


@writes("join")
def join(tenant: str, answers: Answers) -> Operation[Continued | None]:
    """Return the response that has the answers, and count the repetition; None without one, or if
    it failed or was cancelled with the same answers, and its journal can be continued.

    Until the transaction ends, no other one takes answers to the response that waits.
    """
    locked = yield from first("lock_waiting", answers.waiting, tenant, (yield NOW))
    if locked is None:
        return Continued("", "", is_same=False)
    seq = locked[0]
    taken = yield from first("own_step", seq, ANSWERED)
    if taken is None:
        return None
    is_same = taken[0] == answers.digest
    response_id = taken[1].decode()
    row = yield from first("status_of", response_id, tenant)
    if row is not None and is_same and row[1] in UNSUCCESSFUL and row[2]:
        return None
    if row is not None and is_same:
        yield from query_rows("count_repetition", seq, ANSWERED)
    return Continued(response_id, "" if row is None else row[1], is_same)


def take(tenant: str, seq: int, response_id: str, answers: Answers) -> Operation[None]:
    """Note in both journals that a response has the answers; `join` found that it can. `seq` is the
    number of its row.
    """
    (waiting,) = yield from query_rows("status_of", answers.waiting, tenant)
    before = yield from first("own_step", waiting[0], ANSWERED)
    parent = answers.waiting if before is None else before[1].decode()
    parents = [*(yield from run(tenant, parent)), parent]
    now = 1000 * (yield NOW)
    for at, place, key, digest, body in (
        (waiting[0], ANSWERED, "answered", answers.digest, response_id.encode()),
        (seq, RUN, "run", b"", json.dumps(parents).encode()),
    ):
        step = Step(place, key, StepState.DONE, digest, body, now, now, 1, "")
        yield from steps.put(at, [StepWrite(step)])
        growth = size_of(step)
        if at == seq:
            yield from query_rows("grow_job", at, growth)
        elif before is None:
            yield from query_rows("grow_response", at, growth)
