"""The stream of a background response, read from its log by a reader that begins anywhere in it."""

import json
from typing import Any

import pytest

from antiphon.gateway import Gateway
from antiphon.gateway.parts import Parts
from antiphon.jobs.queue import run_job
from antiphon.jobs.replay import CutOff
from antiphon.sharing import offload
from antiphon.sizes import LARGE
from antiphon.storage.operations import event_log, jobs
from antiphon.storage.records.jobs import Tail
from tests.integration.jobs.test_worker import queue
from tests.support.changed_stores import replace_operation
from tests.support.parts import scripted_parts, stated


async def created_stream() -> tuple[Parts, str]:
    """A streamed background response that has ended."""
    created, _ = scripted_parts(stated("Once ", "upon ", "a time"))
    response_id = await queue(created, stream=True)
    job = await created.store.write(jobs.claim, created.process.worker, 1)
    assert job is not None
    await run_job(created.jobs, job)
    return created, response_id


async def read(
    created: Parts, response_id: str, after: int = -1, *, padding: bool = True
) -> list[dict[str, Any]]:
    body = b"".join(
        [
            part
            async for part in Gateway(created).replays.events(
                "", response_id, after, padding=padding
            )
        ]
    )
    assert not body or body.endswith(b"\n\n")
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: ")]


@pytest.mark.parametrize("padding", [True, False])
@pytest.mark.parametrize("large", [LARGE, 10], ids=["small events", "large events"])
async def test_a_reader_receives_the_events_that_it_has_not_seen(
    padding: bool, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    created, response_id = await created_stream()
    whole = await read(created, response_id)
    expected = (
        whole
        if padding
        else [{k: v for k, v in event.items() if k != "obfuscation"} for event in whole]
    )
    monkeypatch.setattr(offload, "LARGE", large)

    assert any("obfuscation" in event for event in whole)
    assert [event["sequence_number"] for event in whole] == list(range(len(whole)))
    for after in (-1, 0, 4, len(whole) - 2, len(whole) - 1):
        assert await read(created, response_id, after, padding=padding) == expected[after + 1 :]


@pytest.mark.parametrize(
    ("status", "generation", "is_over"),
    [("unknown", 0, False), ("in_progress", 1, False), ("in_progress", 0, True)],
    ids=["it was deleted", "it begins again", "the server ends"],
)
async def test_a_reader_is_cut_off_where_what_follows_does_not_fit_what_it_has(
    status: str, generation: int, is_over: bool
) -> None:
    created, _ = scripted_parts()
    response_id = await queue(created, stream=True)
    reading = Gateway(created).replays.events("", response_id)
    assert b"response.queued" in await anext(reading)

    async def tail(*which: Any) -> Tail | None:
        return None if status == "unknown" else Tail(status, True, generation, [])

    replace_operation(created.store, event_log.tail, tail)
    created.process.is_over = is_over
    with pytest.raises(CutOff):
        await anext(reading)
