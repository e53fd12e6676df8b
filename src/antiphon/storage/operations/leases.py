"""What workers own: jobs, locks of conversations and idempotency keys, and the heartbeats that keep
them.

A worker is identified by a name. Its heartbeat shows that it is alive. If the heartbeat stops,
other workers can call `expire_worker`. An expired worker keeps its jobs until other workers claim
them, and its next heartbeat makes it alive again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from antiphon.storage.changes import INGESTIONS, JOBS
from antiphon.storage.operations.step import (
    NOW,
    Changed,
    Operation,
    Row,
    Rows,
    first,
    query_rows,
    reads,
    writes,
)
from antiphon.storage.records.agents import AgentLoad, AgentQueue, agent_of, offers_of
from antiphon.storage.records.jobs import LockResult

QUEUE = ""
"""The worker without a name. Every worker that claims a job locks its row."""


@writes("lock")
def hold(
    tenant: str, conversation_id: str, response_id: str, worker: str | None
) -> Operation[LockResult]:
    """Lock the conversation for a response that the worker runs."""
    row = yield from first("lock_conversation", conversation_id, tenant)
    if row is None:
        return LockResult.UNKNOWN
    _, holder, is_expired = row
    if holder not in (None, response_id) and not is_expired:
        return LockResult.BUSY
    yield from revive(worker, (yield from query_rows("hold", conversation_id, response_id, worker)))
    return LockResult.DONE


def revive(worker: str | None, rows: Rows) -> Operation[None]:
    """Make an expired worker alive again when it acquires something.

    The last column is whether it had expired.
    """
    if worker is not None and rows and rows[0][-1]:
        yield from query_rows("revive", worker)


@reads("held", is_of_all=True)
def retained_responses(worker: str) -> Operation[list[str]]:
    """Return the responses for which the worker holds a conversation lock or an idempotency key."""
    return [row[0] for row in (yield from query_rows("held", worker))]


@writes("release", is_of_all=True)
def release(worker: str, response_id: str) -> Operation[None]:
    """Release the lock and the key that the worker holds for a response."""
    yield Changed([response_id])
    yield from query_rows("release_conversation", worker, response_id)
    yield from query_rows("release_key", worker, response_id)


@writes("heartbeat", is_of_all=True)
def beat(worker: str) -> Operation[None]:
    """Record that the worker is alive."""
    yield from query_rows("beat", worker)


@writes("heartbeat_with_agents", is_of_all=True)
def beat_with_agents(worker: str, agents: str) -> Operation[None]:
    """Record that the worker is alive, and which agents it serves, as JSON."""
    yield from query_rows("beat_with_agents", worker, agents)


@reads("offered_agents", is_of_all=True)
def offered_agents() -> Operation[Sequence[str]]:
    """Return the agents of each unexpired worker that serves any, as JSON."""
    rows = yield from query_rows("offered_agents")
    return [row[0] for row in rows]


@reads("agent_load", is_of_all=True)
def agent_load() -> Operation[AgentLoad]:
    """Return the agents of all workers, with the responses that run and that wait."""
    now = yield NOW
    workers = yield from query_rows("workers_of_agents")
    waiting = [*(yield from query_rows("queues_of_agents"))]
    running: Counter[tuple[str, str]] = Counter()
    for worker, queue, is_expired, count, since in (yield from query_rows("claimed_of_agents")):
        if is_expired:
            waiting.append((queue, count, since))
        else:
            running[worker, agent_of(queue)] += count
    queues: dict[str, AgentQueue] = {}
    for queue, count, since in waiting:
        agent = agent_of(queue)
        known = queues.get(agent, AgentQueue(0, 0))
        oldest = max(known.oldest, now - since)
        queues[agent] = AgentQueue(known.waiting + count, oldest)
    offered = {worker: offers_of(text) for worker, text in workers}
    return AgentLoad(offered, queues, [(*place, count) for place, count in running.items()])


@reads("heartbeats", is_of_all=True)
def beats() -> Operation[Mapping[str, int]]:
    """Return the last heartbeat of each unexpired worker that owns anything, or serves an agent.

    It changes while a worker is alive.
    """
    rows = yield from query_rows("beats")
    return {row[0]: row[1] for row in rows}


@writes("expire_worker", is_of_all=True)
def expire_worker(worker: str, beat: int | None) -> Operation[bool]:
    """Mark a worker as expired, if its last heartbeat is still `beat`; return False if it is not.

    Its jobs, conversations and idempotency keys stay its own until another worker takes them, and
    until then it can still finish its jobs. `beat` is None if the worker itself calls this when it
    stops: its jobs wait again, without counting a crash, and everything else is released.
    """
    changed = yield from (retire(worker) if beat is None else expire(worker, beat))
    if changed:
        yield Changed([*changed, JOBS])
    return changed is not None


def expire(worker: str, beat: int) -> Operation[list[str] | None]:
    """Mark a worker as expired; return the responses of its jobs, or None if it is alive.

    Its leases last until another worker takes them.
    """
    query, values = ("expire", (worker, beat)) if beat else ("expire_silent", (worker,))
    if not (yield from query_rows(query, *values)):
        return None
    waiting = [row[0] for row in (yield from query_rows("owned", worker))]
    if (yield from query_rows("owned_ingestions", worker)):
        waiting.append(INGESTIONS)
    yield from query_rows("forget_expired")
    return waiting


def retire(worker: str) -> Operation[list[str]]:
    """Release everything that a stopping worker owns; return the changed responses."""
    yield from query_rows("retire", worker)
    changed = yield from put_back((yield from query_rows("jobs_of", worker)))
    if (yield from query_rows("release_ingestions", worker)):
        changed.append(INGESTIONS)
    yield from query_rows("let_all_go", worker)
    yield from query_rows("free_all_keys", worker)
    return changed


@reads("owned", is_of_all=True)
def owned(worker: str) -> Operation[Mapping[str, int]]:
    """Return the worker's jobs as a mapping from response id to job version."""
    rows = yield from query_rows("owned", worker)
    return {row[0]: row[1] for row in rows}


@writes("release_job", is_of_all=True)
def give_back(worker: str, response_id: str) -> Operation[None]:
    """Return one of the worker's jobs to the queue, without the events after its resume point."""
    if changed := (yield from put_back((yield from query_rows("job_of", worker, response_id)))):
        yield Changed([*changed, JOBS])


def put_back(rows: Rows) -> Operation[list[str]]:
    """Return jobs to the queue, by the numbers of their rows; return their responses."""
    changed: list[Row] = []
    for row in rows:
        changed += yield from drop_unfinished(row[0])
        yield from query_rows("put_back", row[0])
    return [row[0] for row in changed]


def drop_unfinished(seq: int) -> Operation[Rows]:
    """Delete the events after a job's resume point; return the id of the response."""
    yield from query_rows("drop_events", seq)
    return (yield from query_rows("next_generation", seq))
