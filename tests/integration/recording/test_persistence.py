"""What a response holds while a client waits for it, and what the client gets where another server
took it.
"""

import asyncio
from typing import Any

import pytest

from antiphon.errors import StoreError
from antiphon.history.context import Context
from antiphon.protocol.response import Response
from antiphon.recording.persistence import ForegroundRecorder, RequestIdentity, Retention
from antiphon.storage.operations import idempotency, leases
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.upstream.http import HttpBackend
from tests.support.replay import JSON, STREAM, Answer, ReplayBackend, completion, delta, sse
from tests.support.server import RunningServer, serve
from tests.support.waiting import until

TAKEN = (
    "Another server took over this response, because this server sent no heartbeat for too long."
)


@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("lease", ["conversation", "key"])
async def test_a_client_with_a_lost_lease_receives_no_answer(
    stateful: RunningServer, backend: ReplayBackend, lease: str, is_stream: bool
) -> None:
    go = asyncio.Event()
    store = stateful.parts.store
    worker = stateful.parts.process.worker
    answer = sse(delta(content="Hi"), delta("stop")) if is_stream else completion("Hi")
    backend.script = lambda request: Answer(
        [], STREAM if is_stream else JSON, wait=go, rest=[answer]
    )
    body: dict[str, Any] = {"model": "m", "input": "Hi", "stream": is_stream}
    headers = {"idempotency-key": "key"} if lease == "key" else {}
    _, conversation = await stateful.post("/conversations", json={})
    if lease == "conversation":
        body["conversation"] = conversation["id"]

    async def request() -> tuple[int, str]:
        async with stateful.http.post(
            f"{stateful.url}/responses", json=body, headers=headers
        ) as response:
            return response.status, await response.text()

    pending = asyncio.create_task(request())
    await until(lambda: backend.requests)
    await stateful.application.worker.close()  # it beats no more, and lets go of everything
    if lease == "conversation":
        await store.write(leases.hold, "", str(conversation["id"]), "resp_other", "another")
    else:
        await store.write(idempotency.reserve, "", "key", b"print", "resp_other", "another")
    go.set()
    status, text = await pending

    assert TAKEN in text
    assert "response.completed" not in text
    assert status == (200 if is_stream else 503)
    assert worker not in await store.read(leases.beats)
    _, page = await stateful.get(f"/conversations/{conversation['id']}/items")
    assert page["data"] == []


async def test_a_response_that_cannot_be_encoded_holds_nothing_on(stateful: RunningServer) -> None:
    run = stateful.parts.run
    leased = {"resp_1"}
    recorder = ForegroundRecorder(
        run.store,
        Retention("", is_stored=True, retention=60),
        Context(),
        RequestIdentity("", "resp_1", "key"),
        conversation_id=None,
        is_stream=False,
        leases=leased,
        offload=run.offload,
    )
    response = Response(id="resp_1", created_at=1, model="\ud800", status="completed")
    with pytest.raises(UnicodeEncodeError):
        await recorder.save(response, {}, ())

    assert not leased  # the worker frees the key now


@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "streamed"])
async def test_a_save_that_loses_only_its_reply_is_no_failure(
    backend: ReplayBackend, *, is_stream: bool
) -> None:
    class LosesReplies(SqliteStore):
        async def save(self, *args: Any, **how: Any) -> bool:
            await super().save(*args, **how)
            raise StoreError("The connection to the store was lost.")

    store = LosesReplies.open("sqlite://")
    async with serve(HttpBackend("replay", backend.url), store=store) as server:
        body = {"model": "m", "input": "Hi", "stream": is_stream}
        async with server.http.post(f"{server.url}/responses", json=body) as response:
            reported = await response.text()

    assert response.status == 200
    assert '"status":"completed"' in reported
    assert "lost" not in reported
