"""`/admin/v1/find` and `/admin/v1/suggestions`: what each role finds, and bad input."""

import asyncio
import time
from typing import Any
from urllib.parse import quote

import pytest

from antiphon.ids import new_id
from antiphon.storage.records.tenants import Role
from tests.integration.server.admin.test_responses import created, get, headers_of
from tests.support.keys import issued
from tests.support.replay import Answer, ReplayBackend, text
from tests.support.server import RunningServer
from tests.support.signed_in import Browser, operator, signed_in
from tests.support.waiting import eventually


async def found(browser: Browser, id_: str) -> list[tuple[str, str, str]]:
    data = (await get(browser, f"/find?id={quote(id_)}"))["data"]
    return [(one["kind"], one["id"], one["tenant"]) for one in data]


async def test_an_id_leads_to_its_object(stateful: RunningServer) -> None:
    key, _ = await issued(stateful.parts.store, "acme")
    admin = await operator(stateful)
    async with stateful.http.post(
        f"{stateful.url}/responses", json={"model": "m", "input": "Hi"}, headers=headers_of(key)
    ) as replied:
        body = await replied.json()
        request_id = replied.headers["x-request-id"]
    response = ("response", body["id"], "acme")
    for id_ in (body["id"], request_id, body["output"][0]["id"]):
        assert await found(admin, id_) == [response]
    for path, kind, sent in (
        ("conversations", "conversation", {}),
        ("vector_stores", "vector_store", {"name": "v"}),
    ):
        async with stateful.http.post(
            f"{stateful.url}/{path}", json=sent, headers=headers_of(key)
        ) as replied:
            object_id = (await replied.json())["id"]
        assert await found(admin, object_id) == [(kind, object_id, "acme")]


async def test_the_request_of_a_message_leads_to_its_response(stateful: RunningServer) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
    async with stateful.http.post(f"{stateful.url}/messages", json=body) as replied:
        request_id = replied.headers["request-id"]
    admin = await operator(stateful)
    listed = await eventually(lambda: get(admin, "/responses"), lambda page: page["data"])
    (row,) = listed["data"]
    assert await found(admin, request_id) == [("response", row["id"], "")]


async def test_objects_of_another_tenant_are_not_found(stateful: RunningServer) -> None:
    mine = await created(stateful)
    other = await created(stateful, "other")
    reader = await signed_in(stateful)
    admin = await signed_in(stateful, Role.ADMIN)
    assert await found(reader, mine) == [("response", mine, "acme")]
    assert await found(reader, other) == []
    assert await found(reader, f"req_{other[5:]}") == []
    assert await found(admin, other) == [("response", other, "other")]
    texts = [one["text"] for one in (await get(reader, "/suggestions?q=tenant:"))["data"]]
    assert texts == ["tenant:acme"]
    refused = await reader.send_request("GET", "/admin/v1/suggestions?q=a&tenant=other")
    assert refused.code == "not_allowed"


async def test_an_unknown_request_leads_to_its_time(stateful: RunningServer) -> None:
    before = int(time.time() * 1000)
    request_id = new_id("req")
    answered = await get(await operator(stateful), f"/find?id={request_id}")
    assert answered["data"] == []
    assert before <= answered["created_ms"] <= int(time.time() * 1000)


async def test_a_running_response_is_found(stateful: RunningServer, backend: ReplayBackend) -> None:
    ends = asyncio.Event()
    backend.script = lambda _: Answer([], wait=ends, rest=[text("Hello")])
    creating = asyncio.create_task(created(stateful))
    admin = await operator(stateful)
    listed = await eventually(lambda: get(admin, "/responses"), lambda page: page["running"])
    (running,) = listed["running"]
    assert await found(admin, running["id"]) == [("response", running["id"], running["tenant"])]
    ends.set()
    assert await creating == running["id"]


@pytest.mark.parametrize(
    "id_", ["resp_%", "resp_*", "' OR 1=1 --", "\u0416", "x" * 512, "msg_", "_"]
)
async def test_a_strange_id_leads_nowhere(stateful: RunningServer, id_: str) -> None:
    await created(stateful)
    assert await found(await operator(stateful), id_) == []


@pytest.mark.parametrize(
    ("path", "param"),
    [
        ("/find", "id"),
        ("/find?id=", "id"),
        ("/find?id=%00", "id"),
        (f"/find?id={'x' * 513}", "id"),
        (f"/suggestions?q={'x' * 1_001}", "q"),
        ("/suggestions?q=a&since=soon", "since"),
        ("/suggestions?q=a&since=-1", "since"),
    ],
)
async def test_a_wrong_query_is_rejected_by_name(
    stateful: RunningServer, path: str, param: str
) -> None:
    answered = await (await operator(stateful)).send_request("GET", f"/admin/v1{path}")
    assert (answered.status, answered.json["error"]["param"]) == (400, param)


async def test_filters_are_completed(stateful: RunningServer) -> None:
    for _ in range(2):
        await created(stateful)
    admin = await operator(stateful)

    async def suggested(term: str) -> list[tuple[str, Any]]:
        data = (await get(admin, f"/suggestions?q={quote(term)}"))["data"]
        return [(one["text"], one["count"]) for one in data]

    assert await suggested("stat") == [("status:", None)]
    assert (await suggested("status:"))[0] == ("status:completed", 2)
    assert await suggested("model:") == [("model:m", 2)]
    assert await suggested("key:") == [("key:test", 2)]
    assert await suggested("-tenant:a") == [("-tenant:acme", 2)]
    assert await suggested("cached:y") == [("cached:yes", None)]
    assert await suggested("tool:") == []
