"""The journals of agents. `jobs.advance` writes their steps, under the fence of the job."""

from collections.abc import Sequence

from antiphon.storage.operations.step import (
    FEW_BYTES,
    Operation,
    Row,
    announce_read,
    first,
    query_many,
    query_rows,
    reads,
)
from antiphon.storage.records.steps import Step, StepOutline, StepState, StepWrite

STEPS_AT_ONCE = 256
"""Maximum number of steps to read in one step of the store."""

BODY_BYTES = 64 * 1024
"""A larger body is read when it is needed."""


@reads("journal")
def journal(tenant: str, response_id: str, after: int = -1) -> Operation[Sequence[Step]]:
    """Return the steps of a response after a place, in the order of their beginning: at most
    `STEPS_AT_ONCE`, and none if the response is unknown.

    A step with more than `BODY_BYTES` is partial: `load` returns all of it.
    """
    sizes = yield from query_rows("step_sizes", response_id, tenant, after, STEPS_AT_ONCE)
    count = size = 0
    for (body,) in sizes:
        fitting = min(body, BODY_BYTES)
        if count and size + fitting > FEW_BYTES:
            break
        count, size = count + 1, size + fitting
    yield from announce_read(count, size)
    rows = yield from query_rows("steps", response_id, tenant, after, count, BODY_BYTES)
    return [step_of(row) for row in rows]


@reads("step_outlines")
def outlines(
    tenant: str, response_id: str, after: int, limit: int
) -> Operation[Sequence[StepOutline]]:
    """Return at most `limit` steps of a response after a place, without their bodies, in the order
    of their beginning; none if the response is unknown.
    """
    yield from announce_read(limit)
    rows = yield from query_rows("step_outlines", response_id, tenant, after, limit)
    return [
        StepOutline(place, key, StepState(state), *values) for place, key, state, *values in rows
    ]


@reads("step")
def load(tenant: str, response_id: str, place: int) -> Operation[Step | None]:
    """Return one step with its whole body, or None."""
    size = yield from first("step_size", response_id, tenant, place)
    if size is None:
        return None
    yield from announce_read(1, size[0])
    row = yield from first("step", response_id, tenant, place)
    return None if row is None else step_of(row)


def put(seq: int, written: Sequence[StepWrite]) -> Operation[None]:
    """Store steps of a response, by the number of its row; each replaces an earlier state."""
    rows = [
        (
            *(seq, step.place, step.key, int(step.state), step.digest, step.body),
            *(step.began, step.ended, step.attempt, step.version),
        )
        for step in (one.step for one in written)
    ]
    yield from query_many("put_step", rows)


def growth_of(written: Sequence[StepWrite]) -> int:
    """Return the bytes that a journal gains."""
    growth = 0
    for one in written:
        growth += one.growth
    return growth


def step_of(row: Row) -> Step:
    """Create a step from its row; one without its body is partial."""
    place, key, state, digest, body, began, ended, attempt, version = row
    is_partial = body is None
    values = (digest, body or b"", began, ended, attempt, version, is_partial)
    return Step(place, key, StepState(state), *values)
