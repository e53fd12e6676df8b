"""What `/metrics` shows of requests, responses, tokens, the store and whatever else is counted, and
to whom.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.types import Message

from antiphon import ids
from antiphon.errors import StoreError
from antiphon.jobs.queue import LEAD
from antiphon.server.application import create_app
from antiphon.storage.operations import containers, jobs
from antiphon.storage.records.jobs import NOTHING_RESERVED, Backlog, Deferral
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.telemetry.metrics import Measures
from antiphon.tools.base import CodeState
from antiphon.upstream.health import MOST_FAILURES
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.store.containers import AMPLE, new_container
from tests.support.changed_stores import ChangedStore
from tests.support.metrics import scrape
from tests.support.replay import Answer, ReplayBackend, completion, text
from tests.support.server import RunningServer, serve


@pytest.fixture
async def measured(backend: ReplayBackend) -> AsyncIterator[RunningServer]:
    async with serve(HttpBackend("replay", backend.url), measures=Measures()) as one:
        yield one


async def test_a_plain_response_is_counted_with_its_time_and_tokens(
    measured: RunningServer,
) -> None:
    await measured.sdk.responses.create(model="m", input="Hi")
    numbers = await scrape(measured)

    assert numbers["antiphon_http_requests_total{method=POST,route=/v1/responses,status=200}"] == 1
    assert numbers["antiphon_responses_total{model=m,status=completed}"] == 1
    assert numbers["antiphon_response_seconds_count{model=m}"] == 1
    assert numbers["antiphon_backend_calls_total{backend=replay,outcome=answered}"] == 1
    assert numbers["antiphon_tokens_total{kind=input,model=m}"] == 5
    assert numbers["antiphon_tokens_total{kind=output,model=m}"] == 1
    assert numbers["antiphon_store_seconds_count{kind=write}"] >= 1
    assert not any(name.startswith("antiphon_first_token") for name in numbers)


async def test_a_stream_is_timed_to_its_first_token(measured: RunningServer) -> None:
    async with await measured.sdk.responses.create(model="m", input="Hi", stream=True) as stream:
        assert [event async for event in stream][-1].type == "response.completed"
    numbers = await scrape(measured)

    assert numbers["antiphon_first_token_seconds_count{backend=replay,model=m}"] == 1
    assert numbers["antiphon_first_token_seconds_bucket{backend=replay,le=+Inf,model=m}"] == 1


async def test_cached_and_reasoning_tokens_are_distinguished(
    backend: ReplayBackend, measured: RunningServer
) -> None:
    usage = (
        b'"usage": {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9,'
        b'"prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": '
        b'{"reasoning_tokens": 2}}}'
    )
    backend.script = lambda _: Answer(
        [completion("Hello").partition(b'"usage"')[0] + usage], "application/json"
    )
    await measured.sdk.responses.create(model="m", input="Hi")
    numbers = await scrape(measured)

    assert numbers["antiphon_tokens_total{kind=cached,model=m}"] == 3
    assert numbers["antiphon_tokens_total{kind=reasoning,model=m}"] == 2


async def test_running_work_is_displayed_until_it_ends(
    backend: ReplayBackend, measured: RunningServer
) -> None:
    go = asyncio.Event()
    backend.script = lambda _: Answer([text("Hello")[:60]], wait=go, rest=[text("Hello")[60:]])
    stream = await measured.sdk.responses.create(model="m", input="Hi", stream=True)
    async with stream:
        events = aiter(stream)
        await anext(events)
        during = await scrape(measured)
        go.set()
        async for _ in events:
            pass
    after = await scrape(measured)

    assert (
        during["antiphon_responses_in_flight"]
        == during["antiphon_backend_in_flight{backend=replay}"]
        == 1
    )
    assert (
        after["antiphon_responses_in_flight"]
        == after["antiphon_backend_in_flight{backend=replay}"]
        == 0
    )


async def test_waiting_requests_for_a_backend_are_displayed(
    backend: ReplayBackend, measured: RunningServer
) -> None:
    measured.parts.models.backends[0].update(options=BackendOptions(concurrency=1))
    go = asyncio.Event()
    backend.script = lambda _: Answer([], wait=go, rest=[text("Hi")])
    pending = [
        asyncio.create_task(measured.sdk.responses.create(model="m", input="Hi")) for _ in range(3)
    ]
    numbers = await scrape(measured)
    async with asyncio.timeout(30):
        while numbers["antiphon_backend_queue{backend=replay}"] < 2:
            numbers = await scrape(measured)
    go.set()
    await asyncio.gather(*pending)

    assert numbers["antiphon_backend_in_flight{backend=replay}"] == 1
    assert (await scrape(measured))["antiphon_backend_queue{backend=replay}"] == 0


async def test_an_ejected_backend_is_displayed(
    backend: ReplayBackend, measured: RunningServer
) -> None:
    backend.script = lambda _: Answer([b"{}"], "application/json", status=500)
    before = await scrape(measured)
    for _ in range(MOST_FAILURES):
        await measured.post("/responses", json={"model": "m", "input": "Hi"})
    after = await scrape(measured)

    assert before["antiphon_backend_up{backend=replay}"] == 1
    assert before["antiphon_backend_ejections_total{backend=replay}"] == 0
    assert after["antiphon_backend_up{backend=replay}"] == 0
    assert after["antiphon_backend_ejections_total{backend=replay}"] == 1


@pytest.mark.parametrize(("status", "outcome", "calls"), [(400, "refused", 2), (500, "failed", 1)])
async def test_a_backend_that_does_not_answer_is_counted(
    backend: ReplayBackend, measured: RunningServer, status: int, outcome: str, calls: int
) -> None:
    """A refused request is sent once more in its plainest form."""
    backend.script = lambda _: Answer(
        [b'{"error": {"message": "no"}}'], "application/json", status=status
    )
    answered, _ = await measured.post("/responses", json={"model": "m", "input": "Hi"})
    numbers = await scrape(measured)

    assert numbers[f"antiphon_backend_calls_total{{backend=replay,outcome={outcome}}}"] == calls
    assert (
        numbers[
            f"antiphon_http_requests_total{{method=POST,route=/v1/responses,status={answered}}}"
        ]
        == 1
    )
    assert numbers["antiphon_responses_total{model=m,status=refused}"] == 1
    assert numbers["antiphon_backend_in_flight{backend=replay}"] == 0


async def test_names_that_clients_make_up_are_no_labels(
    backend: ReplayBackend, measured: RunningServer
) -> None:
    backend.models = []  # lists nothing, so that it is asked for any model
    for name in ("made-up-1", "made-up-2"):
        await measured.sdk.responses.create(model=name, input="Hi")
    await measured.get("/made-up-3")
    async with measured.http.request("PROPFIND", measured.url + "/models") as response:
        assert response.status == 405
    numbers = await scrape(measured)

    assert numbers["antiphon_responses_total{model=other,status=completed}"] == 2
    assert numbers["antiphon_http_requests_total{method=other,route=other,status=404}"] == 1
    assert numbers["antiphon_http_requests_total{method=other,route=/v1/models,status=405}"] == 1
    assert "made-up" not in str(numbers).lower()
    assert "PROPFIND" not in str(numbers)


async def test_a_route_is_counted_as_one_for_all_its_requests(measured: RunningServer) -> None:
    for name in ("resp_1", "resp_2"):
        await measured.get(f"/responses/{name}")
    numbers = await scrape(measured)

    assert (
        numbers[
            "antiphon_http_requests_total{method=GET,route=/v1/responses/{response_id},status=404}"
        ]
        == 2
    )


async def test_background_work_is_counted_from_the_queue_to_its_end(
    backend: ReplayBackend, measured: RunningServer
) -> None:
    queued = await measured.sdk.responses.create(model="m", input="Hi", background=True)
    while queued.status in {"queued", "in_progress"}:
        queued = await measured.sdk.responses.retrieve(queued.id)
    numbers = await scrape(measured)

    assert numbers["antiphon_background_jobs_total{outcome=claimed}"] == 1
    assert numbers["antiphon_background_jobs_total{outcome=done}"] == 1
    assert numbers["antiphon_background_waiting"] == numbers["antiphon_background_deferred"] == 0
    assert numbers["antiphon_webhooks_waiting"] == 0


async def test_a_response_that_waits_after_its_window_is_counted() -> None:
    class Busy(ChangedStore):
        async def claim(self, *args: object, **how: object) -> None:
            return None

    store = Busy.open("sqlite://")
    now = int(ids.now())
    async with serve(store=store, measures=Measures()) as one:
        for begin_by in (now + 60, now - LEAD + 60, now - LEAD - 60):
            response = StoredResponse(ids.new_id("resp"), now, "queued", None, b"{}", tenant="acme")
            await store.write(
                jobs.enqueue,
                response,
                b"",
                [],
                None,
                NOTHING_RESERVED,
                most=None,
                deferral=Deferral(begin_by),
            )
        numbers = await scrape(one)
    assert (numbers["antiphon_background_deferred"], numbers["antiphon_background_overdue"]) == (
        3,
        1,
    )


async def test_a_failure_of_the_store_is_counted_by_what_was_to_be_done(
    backend: ReplayBackend,
) -> None:
    class Full(SqliteStore):
        async def _save_plainly(self, response: StoredResponse) -> None:
            raise StoreError("The store's disk is full.")

    measures = Measures()
    async with serve(
        HttpBackend("replay", backend.url), store=Full.open("sqlite://"), measures=measures
    ) as server:
        status, _ = await server.post("/responses", json={"model": "m", "input": "Hi"})
        numbers = await scrape(server)

    assert status == 503
    assert numbers["antiphon_store_errors_total{operation=save}"] == 1


async def test_an_open_websocket_is_displayed(measured: RunningServer) -> None:
    async with measured.http.ws_connect(measured.url + "/responses") as socket:
        await socket.send_json({"type": "response.create", "model": "m", "input": "Hi"})
        await socket.receive()
        assert (await scrape(measured))["antiphon_websocket_connections"] == 1


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
async def test_a_client_behind_a_proxy_receives_no_metrics(
    measured: RunningServer, header: str
) -> None:
    async with measured.http.get(
        measured.url.removesuffix("/v1") + "/metrics", headers={header: "x"}
    ) as response:
        assert (response.status, (await response.json())["error"]["code"]) == (
            403,
            "metrics_not_allowed",
        )


@pytest.mark.parametrize(
    ("client", "status"),
    [
        ("127.0.0.9", 200),
        ("::1", 200),
        ("::ffff:127.0.0.1", 200),
        ("10.0.0.1", 200),
        ("10.0.0.9", 403),
        ("x", 403),
    ],
)
async def test_only_a_local_program_can_read_it(
    measured: RunningServer, client: str, status: int
) -> None:
    app = create_app(measured.application.gateway, measured.endpoints)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/metrics",
        "headers": [],
        "client": (client, 1),
    }
    scope["server"] = ("10.0.0.1", 8321)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, asyncio.Event().wait, send)
    assert sent[0]["status"] == status


async def test_they_can_be_left_out(measured: RunningServer) -> None:
    app = create_app(measured.application.gateway, measured.endpoints, has_metrics=False)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await app(
        {"type": "http", "method": "GET", "path": "/metrics", "headers": []},
        asyncio.Event().wait,
        send,
    )
    assert sent[0]["status"] == 404


async def test_a_store_that_is_away_hides_only_what_waits_in_it(backend: ReplayBackend) -> None:
    class Away(ChangedStore):
        async def backlog(self, lead: int = 0) -> Backlog:
            raise StoreError("The store is unreachable.")

    async with serve(
        HttpBackend("replay", backend.url), store=Away.open("sqlite://"), measures=Measures()
    ) as server:
        await scrape(server)
        numbers = await scrape(server)

    assert numbers["antiphon_store_errors_total{operation=backlog}"] == 1
    assert "antiphon_background_waiting" not in numbers


async def test_requests_are_timed_by_route_and_class_of_status(measured: RunningServer) -> None:
    for name in ("resp_1", "resp_2"):
        await measured.get(f"/responses/{name}")
    await measured.sdk.responses.create(model="m", input="Hi")
    numbers = await scrape(measured)

    route = "route=/v1/responses/{response_id}"
    assert numbers[f"antiphon_http_request_seconds_count{{{route},status_class=4xx}}"] == 2
    assert numbers[f"antiphon_http_request_seconds_bucket{{le=+Inf,{route},status_class=4xx}}"] == 2
    assert (
        0 < numbers["antiphon_http_request_seconds_sum{route=/v1/responses,status_class=2xx}"] < 60
    )


async def test_the_version_and_the_process_are_displayed(measured: RunningServer) -> None:
    numbers = await scrape(measured)

    assert any(
        name.startswith("antiphon_build_info{") and value == 1 for name, value in numbers.items()
    )
    assert numbers["process_cpu_seconds_total"] > 0


async def test_the_sandbox_and_the_containers_are_displayed(measured: RunningServer) -> None:
    calls = {"completed": 3, "timeout": 1}
    rejections = {"busy": 2}
    state = CodeState("bubblewrap", kernels=2, memory=4096, calls=calls, rejections=rejections)
    measured.parts.code_state = lambda: state
    assert await measured.parts.store.write(containers.put, new_container("acme"), (), AMPLE)

    found = await scrape(measured)
    assert found["antiphon_containers_running"] == 1
    assert (found["antiphon_code_kernels"], found["antiphon_code_memory_bytes"]) == (2, 4096)
    assert found["antiphon_code_calls_total{ending=completed}"] == 3
    assert found["antiphon_code_calls_total{ending=timeout}"] == 1
    assert found["antiphon_code_rejections_total{reason=busy}"] == 2

    async with measured.http.get(measured.url.removesuffix("/v1") + "/status") as reply:
        code = (await reply.json())["code"]
    assert (code["sandbox"], code["containers"], code["kernels"], code["calls"]) == (
        "bubblewrap",
        1,
        2,
        calls,
    )
