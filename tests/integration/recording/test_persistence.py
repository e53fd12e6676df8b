"""What a response holds while a client waits for it, and what the client gets where another server
took it.
"""

import asyncio
from typing import Any

import pytest

from antiphon.storage.operations import idempotency, leases
from tests.support.replay import JSON, STREAM, Answer, ReplayBackend, completion, delta, sse
from tests.support.server import RunningServer
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
