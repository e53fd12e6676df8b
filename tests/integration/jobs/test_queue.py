"""What a background response is refused for, whose it is, and that it is ended once, whoever writes
to it meanwhile.
"""

import json
from typing import Any

import msgspec
import pytest

from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.jobs.queue import end, run_job
from antiphon.protocol.validation.validate import decode_request
from antiphon.recording.facts_writer import FactsWriter
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.operations import facts_detail, jobs, leases
from antiphon.storage.records.jobs import LockResult, Reservation
from antiphon.telemetry.access_log import AccessLog
from antiphon.telemetry.formatters import JsonLines
from antiphon.upstream.permitted import is_permitted
from tests.integration.jobs.test_worker import queue, status
from tests.support.changed_stores import replace_operation
from tests.support.parts import scripted_parts, stated

LARGE = "x" * 600_000
"""The input of a job of which a worker reads the large parts later."""


@pytest.mark.parametrize(
    ("result", "refused"),
    [
        (LockResult.UNKNOWN, (404, None, "conversation")),
        (LockResult.BUSY, (400, "conversation_locked", "conversation")),
        (LockResult.FULL, (429, "background_queue_full", "background")),
    ],
)
async def test_what_the_store_does_not_queue_is_refused(
    result: LockResult, refused: tuple[Any, ...]
) -> None:
    created, _ = scripted_parts()

    async def refuse(*what: Any, **how: Any) -> LockResult:
        return result

    replace_operation(created.store, jobs.enqueue, refuse)
    with pytest.raises(ClientError) as caught:
        await queue(created)

    assert (caught.value.status, caught.value.code, caught.value.param) == refused


@pytest.mark.parametrize("text", ["Hi", LARGE], ids=["read whole", "read in part"])
async def test_a_job_to_which_another_wrote_meanwhile_is_not_ended_again(text: str) -> None:
    created, _ = scripted_parts()
    response_id = await queue(created, input=text)
    job = await created.store.write(jobs.claim, created.process.worker, 1)
    assert job is not None
    assert job.is_partial is (text == LARGE)
    await Gateway(created).queue.cancel("", response_id)

    assert not await end(created.jobs, job)
    assert await status(created, response_id) == "cancelled"
    await run_job(created.jobs, job)
    assert (created.measures.jobs.value("lost"), created.measures.jobs.value("done")) == (1, 0)


async def test_a_job_of_another_version_is_not_ended_by_what_was_read_of_an_older_one() -> None:
    created, _ = scripted_parts()
    response_id = await queue(created, input=LARGE)
    job = await created.store.write(jobs.claim, created.process.worker, 1)
    assert job is not None
    await created.store.write(leases.give_back, created.process.worker, response_id)
    newer = await created.store.write(jobs.claim, created.process.worker, 1)
    assert newer is not None

    assert not await end(created.jobs, job)
    assert await status(created, response_id) == "in_progress"
    assert await end(created.jobs, newer)
    assert await status(created, response_id) == "cancelled"


async def test_parameters_outside_the_api_reach_the_backend_of_a_background_response() -> None:
    created, backend = scripted_parts(stated("Hi"), dialect="vllm")
    raw = msgspec.json.encode({"model": "m", "input": "Hi", "background": True, "top_k": 5})
    queued = await Gateway(created).queue.enqueue(decode_request(raw, created.models.accepts), raw)
    job = await created.store.write(jobs.claim, created.process.worker, 1)
    assert job is not None
    await run_job(created.jobs, job)

    assert await status(created, queued.response.id) == "completed"
    assert backend.requests[0]["top_k"] == 5


async def test_a_background_response_is_run_and_logged_for_the_key_of_its_request_only(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the same task made one for another key before."""
    caplog.set_level("INFO", "antiphon.access")
    monkeypatch.setattr(caplog.handler, "formatter", JsonLines())
    created, backend = scripted_parts(*[stated("Hi")] * 3)
    created.run.observers.add(AccessLog())
    answer = backend.post
    permitted = list[list[str]]()

    async def post(path: str, body: bytes) -> Any:
        permitted.append([model for model in ("m", "painter") if is_permitted(model)])
        return await answer(path, body)

    backend.post = post  # type: ignore[method-assign]
    raw = msgspec.json.encode({"model": "m", "input": "Hi", "background": True})
    for taken in (Reservation("key_1", models=("m",)), Reservation("key_2"), Reservation()):
        await Gateway(created).queue.enqueue(decode_request(raw), raw, RequestIdentity(taken=taken))
        job = await created.store.write(jobs.claim, created.process.worker, 1)
        assert job is not None
        await run_job(created.jobs, job)
    lines = [json.loads(line) for line in caplog.text.splitlines()]

    assert [(line["outcome"], line.get("api_key_id")) for line in lines] == [
        ("completed", "key_1"),
        ("completed", "key_2"),
        ("completed", None),
    ]
    assert permitted == [["m"], ["m", "painter"], ["m", "painter"]]


@pytest.mark.parametrize("keeps_facts", [True, False])
async def test_a_response_that_waits_has_facts_if_a_server_keeps_them(keeps_facts: bool) -> None:
    created, _ = scripted_parts()
    if keeps_facts:
        created.run.facts = FactsWriter(created.store)
    response_id = await queue(created)
    found = await created.store.read(facts_detail.family, "", response_id)

    assert (found and found.facts.status) == ("queued" if keeps_facts else None)


async def test_a_response_within_the_quota_of_its_tenant_is_queued() -> None:
    created, _ = scripted_parts()
    created.run.history.bounds.stored_bytes = 10_000_000

    assert await status(created, await queue(created)) == "queued"
