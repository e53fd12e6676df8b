"""A response takes memory for its history before it is read, and releases it however it ends."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from antiphon import ids
from antiphon.errors import AntiphonError, BackendError
from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.jobs.queue import MOST_CRASHES, run_job
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.validation.validate import (
    decode_compact_request,
    decode_create_conversation,
    decode_request,
)
from antiphon.recording.persistence import RequestIdentity
from antiphon.runs.compact import compact
from antiphon.runs.input_tokens import count_input_tokens
from antiphon.sharing.memory import Memory, weight
from antiphon.storage.open import open_store
from antiphon.storage.operations import jobs, responses
from antiphon.storage.records.responses import LargeItem, StoredItem
from tests.support.changed_stores import replace_operation
from tests.support.parts import begin, query, scripted_parts, stated
from tests.support.waiting import eventually, until

TEXT = "x" * 100_000
SIZE = 4_000_000
FAILED = BackendError("It broke.", status=500)


async def following(*answers: Any, store: str = "sqlite://") -> tuple[Parts, dict[str, str]]:
    """Parts with these answers, and what names a response with a large input."""
    created, _ = scripted_parts(stated("fine"), *answers, store=await open_store(store))
    created.run.history.memory = Memory(SIZE)
    created.run.now = ids.now
    return created, {"previous_response_id": (await query(created, input=TEXT))["id"]}


def request(**body: Any) -> CreateResponse:
    return decode_request(msgspec.json.encode({"model": "m", "input": "Hi", **body}))


def retained(created: Parts) -> int:
    return SIZE - created.run.history.memory.left


async def is_completed(created: Parts, follow: dict[str, str]) -> None:
    run = await begin(created, **follow)
    assert weight(100_000) < retained(created) < 2 * weight(100_000)
    await run.result()


async def is_streamed(created: Parts, follow: dict[str, str]) -> None:
    run = await begin(created, **follow, stream=True)
    async with aclosing(run.events()) as batches:
        async for _ in batches:
            assert retained(created) > weight(100_000)


async def is_left(created: Parts, follow: dict[str, str]) -> None:
    run = await begin(created, **follow, stream=True)
    async with aclosing(run.events()) as batches:
        async for _ in batches:
            break


async def is_never_begun(created: Parts, follow: dict[str, str]) -> None:
    run = await begin(created, **follow)
    assert retained(created)
    del run


async def fails(created: Parts, follow: dict[str, str]) -> None:
    with pytest.raises(AntiphonError):
        await query(created, **follow, model="none")


async def is_rejected(created: Parts, follow: dict[str, str]) -> None:
    orphan = {"type": "function_call_output", "call_id": "call_9", "output": "Sunny."}
    with pytest.raises(AntiphonError):
        await query(created, **follow, input=[orphan])


async def is_counted(created: Parts, follow: dict[str, str]) -> None:
    await count_input_tokens(created.run, request(**follow))


async def is_compacted(created: Parts, follow: dict[str, str]) -> None:
    await compact(
        created.run, decode_compact_request(json.dumps({"model": "m", **follow}).encode())
    )


async def is_queued(created: Parts, follow: dict[str, str]) -> None:
    body = json.dumps({"model": "m", "input": "Hi", "background": True, **follow}).encode()
    await Gateway(created).queue.enqueue(decode_request(body), body)


ENDS: list[Callable[[Parts, dict[str, str]], Awaitable[None]]] = [
    *(
        is_completed,
        is_streamed,
        is_left,
        is_never_begun,
        fails,
        is_rejected,
        is_counted,
        is_compacted,
        is_queued,
    ),
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
@pytest.mark.parametrize("is_cached", [True, False])
async def test_a_turn_takes_memory_for_its_history_and_releases_it(
    end: Callable[[Parts, dict[str, str]], Awaitable[None]], is_cached: bool
) -> None:
    created, follow = await following(stated("fine"))
    if is_cached:
        await created.run.history.chains.prefix(
            created.store,
            (await created.store.read(responses.load, "", follow["previous_response_id"])),
        )  # type: ignore[arg-type]
    taken: list[int] = []
    take = created.run.history.memory.take
    created.run.history.memory.take = lambda size, tenant="": (
        taken.append(size) or take(size, tenant)
    )  # type: ignore[method-assign, func-returns-value]

    await end(created, follow)

    assert max(taken) > weight(100_000)
    assert retained(created) == 0


async def overloaded(created: Parts, **body: Any) -> bool:
    with pytest.raises(AntiphonError) as caught:
        await begin(created, **body)
    error = caught.value
    return (error.status, error.code, error.headers) == (
        503,
        "server_is_overloaded",
        {"retry-after": "1"},
    )


async def test_no_history_is_read_where_no_memory_is_free(store_url: str) -> None:
    created, follow = await following(store=store_url)
    body = decode_create_conversation(
        json.dumps({"items": [{"role": "user", "content": TEXT}]}).encode()
    )
    created_conversation = await Gateway(created).conversations.create(
        body, RequestIdentity(response_id=created.run.new_id("conv"))
    )
    found = await created.store.read(responses.load, "", follow["previous_response_id"])
    assert found is not None
    item = found.input[0]
    recalled = [StoredItem(item.id, item.body)]
    created.run.history.memory.take(SIZE - 1000)

    assert await overloaded(created, **follow)
    assert await overloaded(created, conversation=created_conversation["id"])
    assert await overloaded(created, input=[{"type": "item_reference", "id": item.id}])
    with pytest.raises(AntiphonError, match="all the memory"):
        await Gateway(created).create(request(previous_response_id="resp_known"), recalled=recalled)
    assert retained(created) == SIZE - 1000
    assert len(created.run.history.chains) == 0
    await created.store.close()


async def test_a_small_history_takes_nothing() -> None:
    created, _ = scripted_parts(stated("fine"), stated("fine"))
    first = await query(created)
    created.run.history.memory = Memory(0)

    assert (await query(created, previous_response_id=first["id"]))["status"] == "completed"


async def test_background_work_waits_for_memory(store_url: str) -> None:
    created, follow = await following(stated("fine"), store=store_url)
    await is_queued(created, follow)
    job = await created.store.write(jobs.claim, created.process.worker, 1, 1)
    assert job is not None
    created.run.history.memory.take(SIZE - 1000)
    working = asyncio.create_task(run_job(created.jobs, job))
    await eventually(
        lambda: created.store.read(jobs.find_job, "", job.response.id),
        lambda one: created.run.history.chains or one is not None,
    )
    assert not working.done()
    created.run.history.memory.release(SIZE - 1000)
    await working

    ended = await created.store.read(responses.load, "", job.response.id)
    assert ended is not None
    assert (ended.status, retained(created)) == ("completed", 0)
    await created.store.close()


LARGE = "x" * 600_000
"""A text that the store does not read before there is memory for it."""


async def test_no_large_item_is_read_for_a_reference_where_no_memory_is_free(
    store_url: str,
) -> None:
    created, _ = await following(stated("fine"), stated("fine"), store=store_url)
    found = await created.store.read(responses.load, "", (await query(created, input=LARGE))["id"])
    assert found is not None
    refer = [{"type": "item_reference", "id": found.input[0].id}]
    read: list[StoredItem | None] = []

    async def spied(*which: Any, **how: Any) -> StoredItem | None:
        read.append(await find(*which, **how))
        return read[-1]

    find = replace_operation(created.store, responses.find_item, spied)
    created.run.history.memory.take(SIZE - 1000)
    assert await overloaded(created, input=refer)
    assert [type(item) for item in read] == [LargeItem]

    created.run.history.memory.release(SIZE - 1000)
    run = await begin(created, input=refer)
    assert weight(600_000) < retained(created) < weight(700_000)
    assert (await run.result()).status == "completed"
    assert retained(created) == 0
    await created.store.close()


@pytest.mark.parametrize("field", ["input", "instructions"])
async def test_a_large_background_job_is_not_read_before_there_is_memory_for_it(
    store_url: str, field: str
) -> None:
    created, _ = await following(stated("fine"), store=store_url)
    await is_queued(created, {field: LARGE})
    job = await created.store.write(jobs.claim, created.process.worker, 1, 1)
    assert job is not None
    data = job.request, job.checkpoint, list(job.response.input), job.response.body
    assert (job.is_partial, data) == (
        True,
        (b"", b"", [], b"" if field == "instructions" else job.response.body),
    )
    read: list[int] = []

    async def spied(*which: Any, **how: Any) -> Any:
        read.append(retained(created))
        return await find(*which, **how)

    find = replace_operation(created.store, jobs.find_job, spied)
    created.run.history.memory.take(SIZE - 1000)
    take = created.run.history.memory.take
    tries = []
    created.run.history.memory.take = lambda *size: tries.append(size) or take(*size)  # type: ignore[method-assign, func-returns-value]
    working = asyncio.create_task(run_job(created.jobs, job))
    await until(lambda: tries)
    assert (working.done(), read) == (False, [])
    created.run.history.memory.release(SIZE - 1000)
    await working

    assert min(read) > weight(600_000)
    ended = await created.store.read(responses.load, "", job.response.id)
    assert ended is not None
    assert (ended.status, retained(created)) == ("completed", 0)
    await created.store.close()


async def test_a_large_background_job_that_another_has_ended_is_left_alone() -> None:
    created, _ = await following()
    await is_queued(created, {"input": LARGE})
    job = await created.store.write(jobs.claim, created.process.worker, 1, 1)
    assert job is not None
    await Gateway(created).queue.cancel("", job.response.id)

    await run_job(created.jobs, job)

    ended = await created.store.read(responses.load, "", job.response.id)
    assert ended is not None
    assert (ended.status, len(ended.input), retained(created)) == ("cancelled", 1, 0)


async def test_a_large_background_job_of_dead_workers_fails_with_its_items() -> None:
    created, _ = await following()
    await is_queued(created, {"input": LARGE})
    job = await created.store.write(jobs.claim, created.process.worker, 1, 1)
    assert job is not None

    await run_job(created.jobs, replace(job, crashes=MOST_CRASHES))

    ended = await created.store.read(responses.load, "", job.response.id)
    assert ended is not None
    assert (ended.status, len(ended.input)) == ("failed", 1)
