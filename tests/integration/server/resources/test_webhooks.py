"""Webhook endpoints and deliveries, with the official SDK at both ends, on both stores."""

import asyncio
import time
from functools import partial
from typing import Any

import openai
import pytest

from antiphon.storage.operations import webhooks
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.webhooks import courier
from tests.support.receiver import Receiver, receiving
from tests.support.replay import Answer, ReplayBackend, delta, sse, text
from tests.support.server import RunningServer, serve
from tests.support.waiting import eventually

ALL = ["response.completed", "response.failed", "response.cancelled", "response.incomplete"]
BODY = {"model": "m", "input": "Hi", "background": True}


@pytest.fixture(autouse=True)
def promptly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outbox is looked at every second; these tests look more often."""
    monkeypatch.setattr(courier, "POLL_INTERVAL", 0.05)


async def endpoint(server: RunningServer, receiver: Receiver, *types: str) -> Any:
    return await server.sdk.webhooks.create(
        name="mine", url=receiver.url, event_types=list(types) or ALL
    )  # type: ignore[arg-type]


@pytest.mark.wide
async def test_the_sdk_manages_endpoints(stateful: RunningServer) -> None:
    webhooks = stateful.sdk.webhooks
    created = [
        await webhooks.create(
            name=f"n{i}", url=f"https://example.com/{i}", event_types=["response.completed"]
        )
        for i in range(3)
    ]
    assert created[0].signing_secret.startswith("whsec_")
    assert created[0].signing_secret_hint != created[0].signing_secret
    found = await webhooks.retrieve(created[0].id)
    assert (found.url, found.name, found.event_types) == (
        "https://example.com/0",
        "n0",
        ["response.completed"],
    )
    assert not hasattr(found, "signing_secret")
    listed = [one.id async for one in webhooks.list(limit=2)]
    assert sorted(listed) == sorted(one.id for one in created)
    changed = await webhooks.update(created[0].id, name="other", event_types=["response.failed"])
    assert (changed.name, changed.url, changed.event_types) == (
        "other",
        "https://example.com/0",
        ["response.failed"],
    )
    rotated = await webhooks.rotate_secret(created[0].id)
    assert rotated.signing_secret != created[0].signing_secret
    deleted = await webhooks.delete(created[0].id)
    assert (deleted.deleted, deleted.object) == (True, "webhook_endpoint.deleted")
    with pytest.raises(openai.NotFoundError):
        await webhooks.retrieve(created[0].id)
    assert list((await webhooks.event_types.list()).data) == ALL


async def test_a_delivery_is_signed_so_that_the_sdk_takes_it(stateful: RunningServer) -> None:
    async with receiving() as receiver:
        created = await endpoint(stateful, receiver)
        response = await stateful.sdk.responses.create(**BODY)
        await receiver.wait_for(1)

        headers, body = receiver.received[0]
        event: Any = stateful.sdk.webhooks.unwrap(body, headers, secret=created.signing_secret)
        assert (event.type, event.data.id) == ("response.completed", response.id)
        assert headers["webhook-id"].startswith("wh_")
        with pytest.raises(openai.InvalidWebhookSignatureError):
            stateful.sdk.webhooks.unwrap(body + b" ", headers, secret=created.signing_secret)
        assert (await stateful.sdk.responses.retrieve(event.data.id)).status == "completed"


async def test_every_end_has_exactly_its_own_event(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    async with receiving() as everything, receiving() as failures:
        created = await endpoint(stateful, everything)
        await endpoint(stateful, failures, "response.failed")
        scripts = {
            "response.completed": Answer([text("Hi")]),
            "response.incomplete": Answer([sse(delta(content="Hi"), delta("length"))]),
            "response.failed": Answer([b"{}"], status=500),
            "response.cancelled": Answer(
                [sse(delta(content="Hi"), done=False)], wait=asyncio.Event()
            ),
        }
        for number, (kind, answer) in enumerate(scripts.items(), 1):
            backend.script = lambda request, answer=answer: answer
            response = await stateful.sdk.responses.create(**BODY)
            if kind == "response.cancelled":
                await stateful.sdk.responses.cancel(response.id)
            await everything.wait_for(number)
        backend.script = lambda request: Answer([text("Hi")])
        await stateful.sdk.responses.create(model="m", input="in the foreground")
        await failures.wait_for(1)
        await stateful.sdk.responses.create(**BODY)
        await everything.wait_for(5)

    reported = [
        stateful.sdk.webhooks.unwrap(body, headers, secret=created.signing_secret)
        for headers, body in everything.received
    ]
    assert [one.type for one in reported] == [*scripts, "response.completed"]
    assert len({one.data.id for one in reported}) == 5
    assert len(failures.received) == 1


async def test_what_is_not_received_comes_again_with_the_same_id(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        courier, "FIRST_WAIT", -2.0
    )  # what is postponed, by whole seconds, is due at once
    monkeypatch.setattr(courier, "POLL_INTERVAL", 0.05)
    async with receiving() as receiver:
        receiver.statuses = [500, 302, 404]
        await endpoint(stateful, receiver)
        await stateful.sdk.responses.create(**BODY)
        await receiver.wait_for(4)

        assert len({headers["webhook-id"] for headers, _ in receiver.received}) == 1
        assert len({body for _, body in receiver.received}) == 1
        await eventually(
            partial(stateful.parts.store.read, webhooks.deliveries), lambda one: not one
        )


async def test_a_rotated_secret_overlaps_if_requested(stateful: RunningServer) -> None:
    async with receiving() as receiver:
        created = await endpoint(stateful, receiver)
        for save, works in ((True, True), (False, False)):
            old = created.signing_secret
            created = await stateful.sdk.webhooks.rotate_secret(
                created.id, keep_old_secret_active_for_24_hours=save
            )
            result = await stateful.sdk.webhooks.test(created.id, event_type="response.completed")
            headers, body = receiver.received[-1]
            stateful.sdk.webhooks.unwrap(body, headers, secret=created.signing_secret)
            assert (result.status_code, result.success) == (200, True)
            try:
                stateful.sdk.webhooks.unwrap(body, headers, secret=old)
                worked = True
            except openai.InvalidWebhookSignatureError:
                worked = False
            assert worked is works


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://example.com/",
            "ftp://example.com",
            "https://",
            "https:///x",
            "https://u:p@example.com/",
            "x",
        ),
        *(
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://10.0.0.1/",
            "https://169.254.169.254/",
            "https://0.0.0.0/",
        ),
        *(
            "https://[::ffff:127.0.0.1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[fe80::1]/",
            "https://example.com/#x",
        ),
        "https://exa mple.com/",
    ],
)
async def test_an_address_that_is_not_public_is_refused(url: str) -> None:
    async with serve(DemoBackend(), allows_private=False) as server:
        body = {"name": "n", "url": url, "event_types": ALL}
        status, reply = await server.post("/webhook_endpoints", json=body)

    assert (status, reply["error"]["code"], reply["error"]["param"]) == (
        400,
        "invalid_value",
        "url",
    )  # type: ignore[index]


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f000001", "localhost."])
async def test_a_name_that_leads_home_is_not_connected_to(host: str) -> None:
    async with receiving() as receiver, serve(DemoBackend(), allows_private=False) as server:
        port = receiver.url.rpartition(":")[2]
        body = {"name": "n", "url": f"https://{host}:{port}", "event_types": ALL}
        _, created = await server.post("/webhook_endpoints", json=body)
        if "id" in created:
            status, reply = await server.post(
                f"/webhook_endpoints/{created['id']}/test", json={"event_type": ALL[0]}
            )
            assert (status, reply["error"]["code"]) == (400, "webhook_unreachable")  # type: ignore[index]
        assert receiver.received == []


async def test_a_tenant_has_a_limited_number_of_endpoints(stateful: RunningServer) -> None:
    stateful.endpoints.most = 2
    webhooks = stateful.sdk.webhooks
    created = [
        await webhooks.create(
            name=f"n{i}", url="https://example.com/", event_types=["response.completed"]
        )
        for i in range(2)
    ]
    with pytest.raises(openai.BadRequestError, match="the maximum on this server") as caught:
        await webhooks.create(
            name="more", url="https://example.com/", event_types=["response.completed"]
        )
    assert caught.value.code == "webhook_endpoint_limit_reached"
    await webhooks.update(created[0].id, name="other")
    await webhooks.delete(created[1].id)
    await webhooks.create(
        name="again", url="https://example.com/", event_types=["response.completed"]
    )


WRONG: list[tuple[str, str, Any, int, str | None, str | None]] = [
    (
        "POST",
        "",
        {"url": "https://a.b", "event_types": ALL},
        400,
        "missing_required_parameter",
        "name",
    ),
    (
        "POST",
        "",
        {"name": "n", "url": "https://a.b", "event_types": []},
        400,
        "empty_array",
        "event_types",
    ),
    (
        "POST",
        "",
        {"name": "n", "url": "https://a.b", "event_types": ["x"]},
        400,
        "invalid_value",
        "event_types[0]",
    ),
    (
        "POST",
        "",
        {"name": "a\nb", "url": "https://a.b", "event_types": ALL},
        400,
        "invalid_value",
        "name",
    ),
    ("GET", "?after=we_none", None, 400, "invalid_value", "after"),
    ("GET", "?limit=0", None, 400, "integer_below_min_value", "limit"),
    ("GET", "/we_none", None, 404, None, None),
    ("POST", "/we_none", {"name": "n"}, 404, None, None),
    ("DELETE", "/we_none", None, 404, None, None),
    ("POST", "/we_none/rotate_secret", None, 404, None, None),
    ("POST", "/we_none/test", {"event_type": "response.completed"}, 404, None, None),
    ("POST", "/we_none/test", {"event_type": "x"}, 400, "invalid_value", "event_type"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "code", "param"), WRONG)
async def test_what_is_wrong_is_refused(
    server: RunningServer,
    method: str,
    path: str,
    body: Any,
    status: int,
    code: str | None,
    param: str | None,
) -> None:
    async with server.http.request(
        method, f"{server.url}/webhook_endpoints{path}", json=body
    ) as response:
        error = (await response.json())["error"]

    assert (response.status, error["code"], error["param"]) == (status, code, param)


async def test_an_undeliverable_event_is_abandoned_after_three_days(server: RunningServer) -> None:
    async with receiving() as receiver:
        created = await endpoint(server, receiver)
    await server.sdk.responses.create(**BODY)
    store = server.parts.store
    waiting = await eventually(
        partial(store.read, webhooks.deliveries), lambda waiting: waiting and waiting[0].last_error
    )

    assert "is unreachable" in waiting[0].last_error
    assert waiting[0].endpoint.id == created.id
    assert waiting[0].due_at >= int(time.time()) + 3
    total = attempts = 0
    while total < courier.ABANDONED_AFTER:
        attempts += 1
        total += courier.wait_after(attempts, 0.5)  # type: ignore[assignment]
    assert 20 < attempts < 40
