"""Promises about the jobs of agents: their queues, and the journals of their steps."""

import asyncio

from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.operations import continuations, jobs, leases, responses, sizes, steps
from antiphon.storage.records.jobs import EventFrames, Job, LockResult, Progress
from antiphon.storage.records.responses import StoredItem, StoredResponse
from antiphon.storage.records.steps import (
    Answers,
    Continued,
    Step,
    StepState,
    StepWrite,
    Waiting,
    size_of,
)
from antiphon.storage.store import Store
from tests.store.making import hold, new_response

ALL_TENANTS = 1_000_000


async def _queues_are_apart(store: Store) -> None:
    """A worker claims only the jobs of the queue that it names, waiting or left by a dead worker,
    and each queue of a tenant has its own limit.
    """
    tenant, agent, dead = new_id("tenant"), new_id("agent"), new_id("worker")
    queued = await _queue(store, tenant, agent)
    hold(await _claim(store, "w") is None, "a server claimed the job of an agent")
    hold(await _claim(store, "w", new_id("agent")) is None, "an agent claimed another's job")
    outcome = await _enqueue(store, new_response(status="queued"), tenant, agent, most=1)
    hold(outcome is LockResult.FULL, f"the queue of an agent is full, but {outcome}")
    plain = replace(new_response(status="queued"), tenant=tenant)
    outcome = await store.write(jobs.enqueue, plain, b"", [], most=1)
    hold(outcome is LockResult.DONE, f"a job of an agent counted for the models: {outcome}")
    job = await _claimed(store, dead, agent)
    hold((job.response.id, job.queue) == (queued.id, agent), f"the job of the agent is {job}")
    await store.write(leases.beat, dead)
    await store.write(leases.expire_worker, dead, (await store.read(leases.beats))[dead])
    hold(await _claim(store, "w", new_id("agent")) is None, "an agent took over another's job")
    left = await _claim(store, "w")
    hold(left is not None and left.response.id == plain.id, f"a server claimed {left}")
    job = await _claimed(store, "w", agent)
    hold((job.crashes, job.queue) == (1, agent), f"the job taken over is {job}")
    await _delete(store, queued, plain)


async def _the_load_of_agents_is_counted(store: Store) -> None:
    """Responses of an agent run with their worker, or wait; those of a dead worker wait again."""
    tenant, agent, worker = new_id("tenant"), new_id("agent"), new_id("worker")
    queued = [await _queue(store, tenant, agent) for _ in range(3)]
    await store.write(leases.beat_with_agents, worker, "[]")
    await _claimed(store, worker, agent)
    load = await store.read(leases.agent_load)
    hold(load.offered[worker] == [], f"the workers are {load.offered}")
    hold((worker, agent, 1) in load.running, f"the running responses are {load.running}")
    hold(load.queues[agent].waiting == 2, f"the queues are {load.queues}")
    hold(load.queues[agent].oldest > 0, f"the oldest wait is {load.queues[agent].oldest}")
    beats = await store.read(leases.beats)
    await store.write(leases.expire_worker, worker, beats[worker])
    load = await store.read(leases.agent_load)
    hold(worker not in load.offered, f"a dead worker serves agents: {load.offered}")
    hold(load.queues[agent].waiting == 3, f"the queues after a death are {load.queues}")
    await _delete(store, *queued)
    load = await store.read(leases.agent_load)
    hold(agent not in load.queues, f"the queues without responses are {load.queues}")


async def _pinned_jobs_stay_with_their_version(store: Store) -> None:
    """A job that moved to another queue is claimed from there alone, and only its newest version
    moves.
    """
    tenant, agent, worker = new_id("tenant"), new_id("agent"), new_id("worker")
    queued = await _queue(store, tenant, agent)
    job = await _claimed(store, worker, agent)
    pinned = f"{agent}\n1"
    hold(await store.write(jobs.pin, job, pinned), "the job did not move")
    outdated = replace(job, version=job.version - 1)
    hold(not await store.write(jobs.pin, outdated, agent), "an outdated worker moved the job")
    hold(pinned not in await store.read(jobs.waiting_queues), "a running job waits")
    await store.write(leases.give_back, worker, queued.id)
    hold(pinned in await store.read(jobs.waiting_queues), "the queue of the version is unknown")
    waiting = await store.read(jobs.waiting_in, pinned, 9)
    hold(list(waiting) == [(tenant, queued.id)], f"in the queue of the version wait {waiting}")
    hold(await _claim(store, "w", agent) is None, "another version claimed the job")
    job = await _claimed(store, "w", pinned)
    hold((job.response.id, job.queue) == (queued.id, pinned), f"the job of the version is {job}")
    await _delete(store, queued)


async def _agents_are_offered(store: Store) -> None:
    """The agents of a worker are offered from its first heartbeat until it stops or expires."""
    alive, dead = new_id("worker"), new_id("worker")
    await store.write(leases.beat_with_agents, alive, '["a"]')
    await store.write(leases.beat_with_agents, alive, '["b"]')
    await store.write(leases.beat_with_agents, dead, '["c"]')
    offered = await store.read(leases.offered_agents)
    hold({'["b"]', '["c"]'} <= {*offered}, f"the offered agents are {offered}")
    hold('["a"]' not in offered, "a worker still offers what it offered before")
    await store.write(leases.beat, dead)
    beats = await store.read(leases.beats)
    hold((beats[alive], beats[dead]) == (2, 2), f"the heartbeats are {beats}")
    await store.write(leases.expire_worker, dead, beats[dead])
    await store.write(leases.expire_worker, alive, None)
    offered = await store.read(leases.offered_agents)
    hold({'["b"]', '["c"]'}.isdisjoint(offered), f"dead workers offer {offered}")


async def _steps_are_a_journal(store: Store) -> None:
    """The steps of a response are read in the order of their beginning, each in its last state,
    and by its own tenant alone.
    """
    tenant = new_id("tenant")
    queued = await _queue(store, tenant)
    job = await _claimed(store, "w")
    first, second = _step("first"), _step("second", place=1, state=StepState.DONE)
    job = await _advance(store, job, first, second)
    done = replace(first, state=StepState.DONE, body=b"result", ended=2, attempt=2)
    await _advance(store, job, done)
    found = await store.read(steps.journal, tenant, queued.id)
    hold(found == [done, second], f"the journal is {found}")
    found = await store.read(steps.journal, tenant, queued.id, 0)
    hold(found == [second], f"the journal after the first place is {found}")
    one = await store.read(steps.load, tenant, queued.id, 0)
    hold(one == done, f"one step is {one}")
    hold(await store.read(steps.load, tenant, queued.id, 2) is None, "there is a third step")
    listed = await store.read(steps.outlines, tenant, queued.id, -2, 200)
    hold([one.key for one in listed] == ["first", "second"], f"the list has {listed}")
    hold((listed[0].size, listed[0].attempt, listed[0].ended) == (6, 2, 2), f"it has {listed[0]}")
    listed = await store.read(steps.outlines, tenant, queued.id, 0, 1)
    hold([one.place for one in listed] == [1], f"the list after the first place has {listed}")
    other = new_id("tenant")
    listed = await store.read(steps.outlines, other, queued.id, -2, 200)
    hold(listed == [], "another tenant lists steps")
    hold(await store.read(steps.journal, other, queued.id) == [], "another tenant reads a journal")
    one = await store.read(steps.load, other, queued.id, 0)
    hold(one is None, "another tenant reads a step")
    await _delete(store, queued)
    hold(await store.read(steps.journal, tenant, queued.id) == [], "a journal was not deleted")


async def _large_steps_are_read_alone(store: Store) -> None:
    """A journal is read in parts, without large bodies, which are read one at a time."""
    tenant = new_id("tenant")
    queued = await _queue(store, tenant)
    job = await _claimed(store, "w")
    large = _step("large", body=b"x" * (steps.BODY_BYTES + 1))
    many = [_step(f"step {place}", place=place) for place in range(1, steps.STEPS_AT_ONCE + 9)]
    await _advance(store, job, large, *many)
    found = [*await store.read(steps.journal, tenant, queued.id)]
    hold(found[0] == replace(large, body=b"", is_partial=True), f"a large step is {found[0]}")
    hold(len(found) == steps.STEPS_AT_ONCE, f"{len(found)} steps were read at once")
    found += await store.read(steps.journal, tenant, queued.id, found[-1].place)
    hold(found[1:] == many, "the journal does not go on after the last place")
    hold(await store.read(steps.load, tenant, queued.id, 0) == large, "a body was cut")
    await _delete(store, queued)


async def _steps_are_fenced(store: Store) -> None:
    """A worker whose job another one has taken over adds no step; what it had added stays, while
    its unfinished events are deleted.
    """
    tenant = new_id("tenant")
    queued = await _queue(store, tenant)
    job = await _claimed(store, "w")
    late = await _advance(store, job, _step("kept"), frames=[EventFrames(2, 2, b"2")])
    await store.write(leases.give_back, "w", queued.id)
    newer = await _claimed(store, "v")
    written = Progress(steps=[StepWrite(_step("late", place=1))])
    hold(await store.write(jobs.advance, late, written) is None, "an outdated job added a step")
    found = await store.read(steps.journal, tenant, queued.id)
    hold([one.key for one in found] == ["kept"], f"the journal is {found}")
    await _advance(store, newer, _step("own", place=1))
    await _delete(store, queued)


async def _steps_are_counted(store: Store) -> None:
    """The bytes of a journal count for the tenant, exactly; they remain with a stored response, and
    those of another one are deleted when it ends.
    """
    for is_streamed, is_stored in ((True, True), (False, True), (True, False), (False, False)):
        tenant = new_id("tenant")
        queued = await _queue(store, tenant, is_streamed=is_streamed, is_stored=is_stored)
        before = await store.read(sizes.stored_bytes, tenant)
        begun = _step("begun", body=b"state")
        job = await _advance(
            store, await _claimed(store, "w"), begun, frames=[EventFrames(2, 2, b"dropped")]
        )
        await store.write(leases.give_back, "w", queued.id)
        await _hold_size(store, tenant, before, size_of(begun))
        done = replace(begun, body=b"result", state=StepState.DONE)
        job = await _claimed(store, "w")
        progress = Progress(steps=[StepWrite(done, replaces=size_of(begun))])
        job = await store.write(jobs.advance, job, progress) or job
        await _hold_size(store, tenant, before, size_of(done))
        ended = replace(job.response, status="completed")
        hold(await store.write(jobs.finish, job, ended), "a job was not finished")
        found = await store.read(steps.journal, tenant, queued.id)
        hold(found == ([done] if is_stored else []), f"after its end, the journal is {found}")
        logged = 2 if is_streamed else 0
        parts = len(ended.body), logged, size_of(done) if is_stored else 0
        await _hold_size(store, tenant, *parts)
        await _delete(store, queued)
        await _hold_size(store, tenant)


async def _answers_are_taken_once(store: Store) -> None:
    """Of equal answers at the same moment, one continues the response that waits, and the others
    find it; other answers find it too, and are told apart. Another tenant finds nothing.
    """
    tenant = new_id("tenant")
    waiting = await _waits(store, tenant, "mcpr_1")
    found = await store.read(continuations.waiting, tenant, "mcpr_1" + tenant)
    hold(found is not None, "a response that waits is not found by its item")
    hold(found == Waiting(waiting.id, [_question()], is_answered=False), f"what waits is {found}")
    hold(await store.read(continuations.waiting, "other", "mcpr_1" + tenant) is None, "a leak")
    answers = Answers(waiting.id, b"yes")
    before = await store.read(sizes.stored_bytes, tenant)
    outcomes = await asyncio.gather(
        *(store.write(jobs.enqueue, _answering(tenant), b"", [], answers=answers) for _ in range(8))
    )
    taken = [one for one in outcomes if one is LockResult.DONE]
    others = [one for one in outcomes if isinstance(one, Continued)]
    hold((len(taken), len(others)) == (1, 7), f"the answers were taken {len(taken)} times")
    (by,) = {one.response_id for one in others}
    hold(all(one.is_same and one.status == "queued" for one in others), f"they found {others}")
    hold(await store.read(continuations.run, tenant, by) == [waiting.id], "it continues another")
    hold(await store.read(continuations.run, tenant, waiting.id) == [], "the first continues one")
    hold(await store.read(continuations.repetitions, tenant, waiting.id) == 7, "a repetition lost")
    found = await store.read(continuations.waiting, tenant, "mcpr_1" + tenant)
    hold(found is not None and found.is_answered, "the response still waits")
    other = await store.write(continuations.join, tenant, Answers(waiting.id, b"no"))
    hold(other == Continued(by, "queued", is_same=False), f"other answers found {other}")
    await store.write(responses.delete, tenant, by)
    lost = await store.write(continuations.join, tenant, answers)
    hold(lost == Continued(by, "", is_same=True), f"a deleted response leaves {lost}")
    note = len("answered") + len(by)
    await _hold_size(store, tenant, before, note)
    await _delete(store, waiting)
    unknown = await store.write(continuations.join, tenant, answers)
    hold(unknown == Continued("", "", is_same=False), f"an unknown response leaves {unknown}")
    await _hold_size(store, tenant)


async def _answers_outlive_a_failure(store: Store) -> None:
    """If the response with the answers failed, the same answers continue it in another one, which
    inherits both journals; one that is not stored leaves no journal, so nothing continues it.
    """
    for is_stored in (True, False):
        tenant = new_id("tenant")
        waiting = await _waits(store, tenant, "mcpr_2")
        answers = Answers(waiting.id, b"yes")
        first = replace(_answering(tenant), is_stored=is_stored)
        await store.write(jobs.enqueue, first, b"", [], answers=answers, queue="refunds")
        job = await _claimed(store, "w")
        await store.write(jobs.finish, job, replace(job.response, status="failed"))
        no = await store.write(continuations.join, tenant, Answers(waiting.id, b"no"))
        hold(no == Continued(first.id, "failed", is_same=False), f"other answers found {no}")
        second = _answering(tenant)
        outcome = await store.write(jobs.enqueue, second, b"", [], answers=answers)
        if is_stored:
            hold(outcome is LockResult.DONE, f"the same answers found {outcome}")
            run = await store.read(continuations.run, tenant, second.id)
            hold(run == [waiting.id, first.id], f"the second one continues {run}")
        else:
            hold(outcome == Continued(first.id, "failed", is_same=True), f"it found {outcome}")
        await _delete(store, waiting, first, second)
        await _hold_size(store, tenant)


def _question() -> Step:
    return _step("approval/0", state=StepState.WAITS, body=b"{}")


def _answering(tenant: str) -> StoredResponse:
    return replace(new_response(status="queued"), tenant=tenant)


async def _waits(store: Store, tenant: str, item: str) -> StoredResponse:
    """Return a response that has ended with an item that asks the client."""
    queued = await _queue(store, tenant)
    job = await _claimed(store, "w")
    questions = [StoredItem(item + tenant, b"{}")]
    ended = replace(job.response, status="completed", output=questions)
    hold(
        await store.write(jobs.finish, job, ended, last_steps=[StepWrite(_question())]),
        "a job was not finished",
    )
    return queued


def _step(
    key: str, *, place: int = 0, state: StepState = StepState.BEGUN, body: bytes = b""
) -> Step:
    ended = None if state is StepState.BEGUN else 2
    return Step(place, key, state, b"digest", body, 1, ended, 1, "7")


async def _enqueue(
    store: Store, response: StoredResponse, tenant: str, agent: str, most: int | None = None
) -> LockResult | Continued:
    one = replace(response, tenant=tenant)
    frames = [EventFrames(0, 1, b"01")] if response.is_streamed else []
    return await store.write(jobs.enqueue, one, b"", frames, most=most, queue=agent)


async def _queue(
    store: Store,
    tenant: str,
    agent: str = "refunds",
    *,
    is_streamed: bool = True,
    is_stored: bool = True,
) -> StoredResponse:
    response = new_response(status="queued", until=-1 if is_stored else None)
    queued = replace(response, tenant=tenant, is_streamed=is_streamed, is_stored=is_stored)
    outcome = await _enqueue(store, queued, tenant, agent)
    hold(outcome is LockResult.DONE, f"a job was not queued: {outcome}")
    return queued


async def _claim(store: Store, worker: str, agent: str = "") -> Job | None:
    return await store.write(jobs.claim, worker, ALL_TENANTS, queue=agent)


async def _claimed(store: Store, worker: str, agent: str = "refunds") -> Job:
    job = await _claim(store, worker, agent)
    if job is None:
        raise AssertionError("a waiting job cannot be claimed")
    return job


async def _advance(
    store: Store, job: Job, *written: Step, frames: tuple[EventFrames, ...] | list[EventFrames] = ()
) -> Job:
    progress = Progress(frames, steps=[StepWrite(step) for step in written])
    newer = await store.write(jobs.advance, job, progress)
    if newer is None:
        raise AssertionError("the newest version of a job cannot be advanced")
    return newer


async def _hold_size(store: Store, tenant: str, *parts: int) -> None:
    found = await store.read(sizes.stored_bytes, tenant)
    hold(found == sum(parts), f"a tenant has stored {found} bytes instead of {sum(parts)}")


async def _delete(store: Store, *stored: StoredResponse) -> None:
    for one in stored:
        await store.write(responses.delete, one.tenant, one.id)
