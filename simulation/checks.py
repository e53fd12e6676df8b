"""What must be true: after each statement of the store, and at the end."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.jobs.queue import MOST_CRASHES
from simulation.backend import text_for
from simulation.keys import watch_keys
from simulation.promises import Frames, lost_frames, lost_turns, text_of, turns_of, unsound
from simulation.record import OPEN, Record

TRIGGERS = """
CREATE TEMP TRIGGER one_end AFTER UPDATE OF status ON responses
WHEN OLD.status NOT IN ('queued', 'in_progress') AND NEW.status <> OLD.status
BEGIN SELECT violated(OLD.id || ' ended as ' || OLD.status || ', then as ' || NEW.status); END;

CREATE TEMP TRIGGER ended_without_job AFTER UPDATE OF status ON responses
WHEN
    NEW.status NOT IN ('queued', 'in_progress')
    AND EXISTS (SELECT 1 FROM jobs WHERE response = NEW.seq)
BEGIN SELECT violated(NEW.id || ' ended while it had a job'); END;

CREATE TEMP TRIGGER rising_version AFTER UPDATE ON jobs
WHEN NEW.version <= OLD.version
BEGIN SELECT violated('the version of job ' || OLD.response || ' did not rise'); END;

CREATE TEMP TRIGGER rising_number AFTER UPDATE OF next_number ON jobs
WHEN NEW.next_number < OLD.next_number
BEGIN SELECT violated('job ' || OLD.response || ' would send a number twice'); END;

CREATE TEMP TRIGGER one_owner AFTER UPDATE OF owner ON jobs
WHEN
    OLD.owner IS NOT NULL AND NEW.owner IS NOT NULL AND NEW.owner <> OLD.owner
    AND coalesce((SELECT expired FROM workers WHERE id = OLD.owner), 0) = 0
BEGIN SELECT violated('job ' || OLD.response || ' was taken from a worker that is alive'); END;

CREATE TEMP TRIGGER one_holder AFTER UPDATE OF holder ON conversations
WHEN
    OLD.holder IS NOT NULL AND NEW.holder IS NOT NULL AND NEW.holder <> OLD.holder
    AND (
        OLD.owner IS NULL
        OR coalesce((SELECT expired FROM workers WHERE id = OLD.owner), 0) = 0
    )
BEGIN SELECT violated(OLD.id || ' was taken from a response that holds it'); END;

CREATE TEMP TRIGGER silent AFTER UPDATE OF expired ON workers
WHEN NEW.expired = 1 AND OLD.expired = 0
BEGIN SELECT expired(NEW.id); END;

CREATE TEMP TRIGGER silent_at_first AFTER INSERT ON workers
WHEN NEW.expired = 1
BEGIN SELECT expired(NEW.id); END;

CREATE TEMP TRIGGER rising_event AFTER INSERT ON events
WHEN EXISTS (
    SELECT 1 FROM events
    WHERE response = NEW.response AND last >= NEW.number AND number <> NEW.number
)
BEGIN SELECT violated('event ' || NEW.number || ' of ' || NEW.response || ' is not the last'); END;
"""

EXPIRED = "SELECT id FROM workers WHERE expired = 1"

AT_REST: Mapping[str, str] = {
    "jobs": "SELECT count(*) FROM jobs",
    # An expired worker keeps its leases until another one takes them.
    "locked conversations": f"""
        SELECT count(*) FROM conversations
        WHERE holder IS NOT NULL AND (owner IS NULL OR owner NOT IN ({EXPIRED}))
    """,
    "reserved keys": f"""
        SELECT count(*) FROM idempotency_keys
        WHERE reply IS NULL AND (owner IS NULL OR owner NOT IN ({EXPIRED}))
    """,
    "responses in progress": (
        "SELECT count(*) FROM responses WHERE status IN ('queued', 'in_progress')"
    ),
    "wrong sizes of tenants": """
        SELECT count(*) FROM tenant_sizes WHERE bytes <> (
            SELECT coalesce(sum(length(body) + item_bytes + log_bytes), 0) FROM responses
            WHERE responses.tenant = tenant_sizes.tenant
        ) + (
            SELECT coalesce(sum(length(metadata) + item_bytes), 0) FROM conversations
            WHERE conversations.tenant = tenant_sizes.tenant
        ) + (
            SELECT coalesce(sum(coalesce(length(reply), 0)), 0) FROM idempotency_keys
            WHERE idempotency_keys.tenant = tenant_sizes.tenant
        )
    """,
    "logs of another size than stated": """
        SELECT count(*) FROM responses WHERE log_bytes <> (
            SELECT coalesce(sum(length(body)), 0) FROM events WHERE events.response = seq
        ) + (
            SELECT coalesce(sum(length(key) + length(body)), 0) FROM steps
            WHERE steps.response = seq
        )
    """,
    "responses that lasted less than nothing": ("SELECT count(*) FROM facts WHERE ended < began"),
    "items without a response": """
        SELECT count(*) FROM items WHERE response NOT IN (SELECT seq FROM responses)
    """,
}
"""What the store must not have once everything has ended."""


def watch(
    connection: sqlite3.Connection,
    violated: Callable[[str], None],
    expired: Callable[[str], None],
    overdrawn: Callable[[str], None],
) -> None:
    """Call these functions when a statement breaks an invariant, expires a worker, or leaves a
    budget above its limit or below nothing.
    """
    connection.create_function("violated", 1, violated)
    connection.create_function("expired", 1, expired)
    connection.executescript(TRIGGERS)
    watch_keys(connection, overdrawn)


def remains(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield what the store still has at rest."""
    for name, query in AT_REST.items():
        (count,) = connection.execute(query).fetchone()
        if count:
            yield f"the store has {count} {name} at rest"


COMPLETED = """
SELECT responses.id FROM responses JOIN items ON items.response = responses.seq
WHERE responses.status = 'completed' AND items.is_output = 0 AND instr(CAST(items.body AS TEXT), ?)
"""


def failed_and_stored(connection: sqlite3.Connection, questions: Sequence[str]) -> Iterator[str]:
    """Yield each response that is stored as completed, although its client received an error."""
    for question in questions:
        for (response_id,) in connection.execute(COMPLETED, (f'"{question}"',)).fetchall():
            yield f"{response_id} is completed, and its client received an error"


@dataclass(slots=True)
class Afterwards:
    """What the servers return once everything has ended."""

    responses: dict[str, dict[str, Any] | None]
    replays: dict[str, list[Frames]]
    items: dict[str, list[dict[str, Any]] | None]
    requested: Sequence[Mapping[str, set[tuple[str, ...]]]]
    """With which histories each question arrived at each backend."""


@dataclass(slots=True)
class Excuses:
    """What may have happened to a response."""

    are_backends_bad: bool
    was_store_bad: Callable[[float], bool]
    """A client can receive an error for a response that is stored, if the store cannot be asked."""
    crashes: int


def broken(record: Record, after: Afterwards, excuses: Excuses) -> Iterator[str]:
    """Yield each promise that was broken."""
    yield from record.refused
    for response_id, question in record.questions.items():
        yield from _lost(response_id, question, record, after, excuses)
    for key, ids in record.keyed.items():
        if len(ids) > 1:
            yield f"the key {key} created {sorted(ids)}"
    for conversation_id, questions in record.turns.items():
        yield from lost_turns(conversation_id, questions, after.items[conversation_id])
        yield from _wrong_histories(turns_of(after.items[conversation_id]), after)
    for questions in record.chains:
        yield from _wrong_histories(questions, after)
    for reading in record.readings:
        replays = after.replays[reading.response_id]
        response = after.responses.get(reading.response_id)
        yield from unsound(reading.response_id, replays, response)
        yield from lost_frames(reading, dict(replays[0]))


def _wrong_histories(questions: Sequence[str], after: Afterwards) -> Iterator[str]:
    """Yield each request of these turns that a backend received with another history than the
    turns before it.
    """
    for place, question in enumerate(questions, 1):
        for requested in after.requested:
            for history in requested.get(question, ()):
                if history != tuple(questions[:place]):
                    yield f"{question} was sent with {history}, not after {questions[:place]}"


def _lost(
    response_id: str, question: str, record: Record, after: Afterwards, excuses: Excuses
) -> Iterator[str]:
    response = after.responses.get(response_id)
    if response is None and record.ends[response_id] == {"failed"}:
        return  # its client received the error of a store that failed
    if response is None:
        yield f"{response_id} was acknowledged and is unknown"
        return
    status = response["status"]
    if status in OPEN:
        yield f"{response_id} is still {status}"
    ends = record.ends[response_id] | {status}
    is_excused = excuses.was_store_bad(record.ended_at.get(response_id, 0.0))
    if is_excused and response_id not in record.background:
        ends = {status}
    if len(ends) > 1:
        yield f"{response_id} ended as {sorted(ends)}"
    is_of_model = response_id not in record.acts
    if status == "completed" and is_of_model and text_of(response) != text_for(question):
        yield f"{response_id} contains {text_of(response)!r} instead of {text_for(question)!r}"
    returned = record.bodies.get(response_id)
    if returned is not None and returned | {"output_text": ""} != response | {"output_text": ""}:
        yield f"{response_id} was returned as {returned}, and is {response}"
    is_excused = excuses.are_backends_bad or excuses.crashes >= MOST_CRASHES
    expected = {"completed"} | ({"cancelled"} if response_id in record.cancelled else set())
    if response_id in record.background and status not in expected and not is_excused:
        yield f"{response_id} is {status}: {response['error']}"
