"""Webhook deliveries in the console. No courier runs here, so they wait."""

import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from antiphon.gateway import Gateway
from antiphon.ids import new_id
from antiphon.server.application import create_app
from antiphon.storage.open import open_store
from antiphon.storage.operations import jobs, webhooks
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.tenants import Announcement, Role, WebhookEndpoint
from antiphon.storage.store import Store
from tests.support.keys import bearing, issued
from tests.support.parts import scripted_parts
from tests.support.signed_in import Answered, Browser

DELIVERIES = "/admin/v1/webhook_deliveries"


@dataclass
class Deployment:
    """A store, an application over it, and headers of two keys."""

    store: Store
    program: Browser
    admin: Mapping[str, str]
    reader: Mapping[str, str]

    async def send_request(
        self, headers: Mapping[str, str], method: str = "GET", path: str = ""
    ) -> Answered:
        return await self.program.send_request(method, DELIVERIES + path, **headers)

    async def announced(self, tenant: str, count: int) -> list[str]:
        """Put deliveries into the outbox; return their ids, newest first."""
        now = int(time.time())
        place = ("n", "https://hooks.example/", ("response.completed",))
        await self.store.write(
            webhooks.put, WebhookEndpoint(f"we_{tenant}", tenant, *place, now, now, "whsec_secret")
        )
        for _ in range(count):
            queued = StoredResponse(
                new_id("resp"), now, "queued", None, b"{}", tenant=tenant, expires_at=now + 600
            )
            await self.store.write(jobs.enqueue, queued, b"", [])
            job = await self.store.read(jobs.find_job, tenant, queued.id)
            assert job is not None
            event = Announcement(new_id("evt"), "response.completed", now, b'{"data":"words"}')
            assert await self.store.write(
                jobs.finish, job, replace(queued, status="completed"), announcement=event
            )
        return sorted(
            (
                one.id
                for one in await self.store.read(webhooks.deliveries)
                if one.endpoint.tenant == tenant
            ),
            reverse=True,
        )


@pytest.fixture
async def deployment(store_url: str) -> AsyncIterator[Deployment]:
    store = await open_store(store_url)
    keys = [await issued(store, "acme", role=role) for role in (Role.ADMIN, Role.READ)]
    app = create_app(Gateway(scripted_parts(store=store)[0]), None, has_console=True)  # type: ignore[arg-type]
    yield Deployment(store, Browser(app, page={}), *(bearing(key) for key, _ in keys))
    await store.close()


async def test_a_delivery_that_waits_is_listed_without_what_it_delivers(
    deployment: Deployment,
) -> None:
    (waiting,) = await deployment.announced("acme", 1)
    answered = await deployment.send_request(deployment.reader)
    (found,) = answered.json["data"]

    assert (found["id"], found["status"], found["tenant"]) == (waiting, "pending", "acme")
    assert (found["endpoint_id"], found["url"]) == ("we_acme", "https://hooks.example/")
    assert (found["event_type"], found["attempts"], found["failed_at"]) == (
        "response.completed",
        0,
        None,
    )
    assert found["next_attempt_at"] is not None
    assert not any(word in answered.body for word in (b"words", b"whsec"))


async def test_a_list_is_filtered_and_goes_on_behind_an_id(deployment: Deployment) -> None:
    mine = await deployment.announced("acme", 3)
    theirs = await deployment.announced("other", 1)
    await deployment.store.write(webhooks.postpone, mine[1], None, "refused")

    async def ids(headers: Mapping[str, str], query: str = "") -> list[str]:
        return [
            one["id"] for one in (await deployment.send_request(headers, path=query)).json["data"]
        ]

    assert await ids(deployment.admin) == sorted([*theirs, *mine], reverse=True)
    assert await ids(deployment.admin, "?tenant=other") == theirs
    assert await ids(deployment.reader) == mine
    assert await ids(deployment.reader, "?status=failed") == [mine[1]]
    assert await ids(deployment.reader, "?status=pending") == [mine[0], mine[2]]
    first = (await deployment.send_request(deployment.reader, path="?limit=2")).json
    assert (first["has_more"], first["first_id"], first["last_id"]) == (True, mine[0], mine[1])
    rest = (
        await deployment.send_request(deployment.reader, path=f"?limit=2&after={first['last_id']}")
    ).json
    assert ([one["id"] for one in rest["data"]], rest["has_more"]) == ([mine[2]], False)


@pytest.mark.parametrize(
    "query", ["status=delivered", "limit=0", "limit=101", "limit=x", "after=%00"]
)
async def test_a_wrong_query_is_refused_by_name(deployment: Deployment, query: str) -> None:
    answered = await deployment.send_request(deployment.admin, path=f"?{query}")

    assert (answered.status, answered.json["error"]["param"]) == (400, query.partition("=")[0])


async def test_an_administrator_has_a_delivery_attempted_again(deployment: Deployment) -> None:
    (abandoned,) = await deployment.announced("other", 1)
    await deployment.store.write(webhooks.postpone, abandoned, None, "refused")
    refused = await deployment.send_request(deployment.reader, "POST", f"/{abandoned}/retry")
    answered = await deployment.send_request(deployment.admin, "POST", f"/{abandoned}/retry")

    assert (refused.status, refused.code) == (403, "not_allowed")
    assert (answered.status, answered.json["status"]) == (200, "pending")
    assert [one.failed_at for one in await deployment.store.read(webhooks.deliveries)] == [None]
    assert (await deployment.send_request(deployment.admin, "POST", "/wh_none/retry")).status == 404
