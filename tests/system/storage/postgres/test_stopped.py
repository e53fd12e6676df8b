"""A PostgreSQL that is restarted or stands still."""

import contextlib
import os
import signal

import pytest

from antiphon.errors import StoreError
from antiphon.storage.operations import responses
from antiphon.storage.postgres import link
from antiphon.storage.postgres.store import PostgresStore
from antiphon.storage.records.responses import StoredResponse
from tests.support.postgres import Postgres


def response(id: str) -> StoredResponse:
    return StoredResponse(
        id=id, created_at=1, status="completed", previous_response_id=None, body=b"{}"
    )


async def test_a_restart_of_the_server_loses_nothing_and_is_survived(postgres: Postgres) -> None:
    store = await PostgresStore.open(await postgres.database())
    await store.save(response("resp_before"))
    await postgres.restart()

    assert await store.read(responses.load, "", "resp_before") is not None
    await store.save(response("resp_after"))
    assert await store.read(responses.load, "", "resp_after") is not None
    await store.close()


async def test_a_server_that_stalls_gives_errors_in_time_and_is_forgiven(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "STATEMENT_TIMEOUT", 0.2)
    store = await PostgresStore.open(await postgres.database())
    await store.save(response("resp_1"))
    backend = (
        await postgres.execute(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
        )
    )[0]
    pids = [
        row[0]
        for row in await postgres.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname IS NOT NULL"
        )
    ]
    assert backend is not None
    for pid in pids:
        stop(pid, signal.SIGSTOP)
    try:
        with pytest.raises(StoreError, match=r"did not respond in time|is unreachable"):
            await store.read(responses.load, "", "resp_1")
    finally:
        for pid in pids:
            stop(pid, signal.SIGCONT)

    assert await store.read(responses.load, "", "resp_1") is not None
    await store.close()


def stop(pid: int, name: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, name)
