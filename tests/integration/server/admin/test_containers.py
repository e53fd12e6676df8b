"""Containers in the console: lists, details, and how they are killed."""

import logging
from typing import Any

import pytest

from antiphon.storage.containers import find_container
from antiphon.storage.operations import containers
from antiphon.storage.records.tenants import Role
from tests.integration.server.admin.test_audit import lines
from tests.store.containers import AMPLE, expired_container
from tests.support.keys import issued
from tests.support.server import RunningServer
from tests.support.signed_in import Browser, signed_in

PATH = "/admin/v1/containers"
CSV = b"name,value\na,40\n"


class Program:
    """A program with a key of a tenant, which uses the official SDK."""

    def __init__(self, server: RunningServer, key: str) -> None:
        self._sdk = server.sdk.with_options(api_key=key)

    async def make(self, *names: str, **fields: Any) -> str:
        """Create a container with files of these names; return its id."""
        created = await self._sdk.containers.create(**{"name": "work", **fields})
        for name in names:
            await self._sdk.containers.files.create(created.id, file=(name, CSV))
        return created.id

    async def status(self, container_id: str) -> str:
        return (await self._sdk.containers.retrieve(container_id)).status


async def program(server: RunningServer, tenant: str = "acme") -> Program:
    key, _ = await issued(server.parts.store, tenant)
    server.parts.keys.forget()
    return Program(server, key)


async def ids(browser: Browser, query: str = "") -> list[str]:
    reply = await browser.send_request("GET", PATH + query)
    assert reply.status == 200, reply.body
    return [one["id"] for one in reply.json["data"]]


async def test_containers_are_listed_a_page_at_a_time_with_what_is_in_them(
    stateful: RunningServer,
) -> None:
    reader = await signed_in(stateful)
    acme = await program(stateful)
    created = [
        await acme.make(),
        await acme.make("a.csv", "b.csv", memory_limit="4g"),
        await acme.make(),
    ]
    first = (await reader.send_request("GET", f"{PATH}?limit=2")).json
    rest = (await reader.send_request("GET", f"{PATH}?limit=2&after={first['last_id']}")).json

    assert [one["id"] for one in first["data"] + rest["data"]] == created[::-1]
    assert (first["object"], first["first_id"], first["has_more"], rest["has_more"]) == (
        "list",
        created[2],
        True,
        False,
    )
    displayed = first["data"][1]
    assert displayed.keys() >= {"created_at", "last_active_at"}
    assert {**displayed, "created_at": 0, "last_active_at": 0} == {
        "id": created[1],
        "tenant": "acme",
        "name": "work",
        "status": "running",
        "created_at": 0,
        "last_active_at": 0,
        "memory_limit": "4g",
        "worker": "",
        "calls": 0,
        "is_busy": False,
        "files": 2,
        "bytes": 2 * len(CSV),
    }
    assert (await reader.send_request("GET", f"{PATH}?after=cntr_none")).status == 400


async def test_a_container_shows_its_files_and_the_call_that_runs(stateful: RunningServer) -> None:
    reader = await signed_in(stateful)
    acme = await program(stateful)
    container = await acme.make("a.csv")
    assert (
        await stateful.parts.store.write(containers.hold, "acme", container, "call", "worker_1", 60)
        is not None
    )
    displayed = (await reader.send_request("GET", f"{PATH}/{container}")).json

    assert (displayed["calls"], displayed["is_busy"], displayed["worker"], displayed["bytes"]) == (
        1,
        True,
        "worker_1",
        len(CSV),
    )
    (file,) = displayed["files"]
    assert file.keys() == {"id", "path", "bytes", "source", "created_at"}
    assert (file["path"].endswith("-a.csv"), file["bytes"], file["source"]) == (
        True,
        len(CSV),
        "user",
    )
    assert (await reader.send_request("GET", f"{PATH}/cntr_none")).status == 404


async def test_reading_a_container_does_not_count_as_its_use(stateful: RunningServer) -> None:
    reader = await signed_in(stateful)
    container = expired_container("acme")
    assert await stateful.parts.store.write(containers.put, container, (), AMPLE)
    before = await find_container(stateful.parts.store, "acme", container.id)
    (displayed,) = (await reader.send_request("GET", PATH)).json["data"]
    assert (displayed["status"], displayed["files"], displayed["bytes"]) == ("expired", 0, 0)
    assert (await reader.send_request("GET", f"{PATH}/{container.id}")).json["files"] == []
    assert await find_container(stateful.parts.store, "acme", container.id) == before


async def test_killing_a_container_deletes_it_and_ends_the_call_that_holds_it(
    stateful: RunningServer,
) -> None:
    reader = await signed_in(stateful)
    acme = await program(stateful)
    container = await acme.make("a.csv")
    other = await acme.make()
    store = stateful.parts.store
    await store.write(containers.hold, "acme", container, "call", "worker_1", 60)
    reply = await reader.send_request("DELETE", f"{PATH}/{container}")

    assert (reply.status, reply.json) == (
        200,
        {"id": container, "object": "container.deleted", "deleted": True},
    )
    assert not await store.write(containers.renew_hold, "acme", container, "call", 60)
    assert await ids(reader) == [other]
    assert (await reader.send_request("DELETE", f"{PATH}/{container}")).status == 404
    assert (await reader.send_request("GET", f"{PATH}/{container}")).status == 404


async def test_other_tenants_containers_are_for_administrators_and_are_audited(
    stateful: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "antiphon.audit")
    reader = await signed_in(stateful)
    admin = await signed_in(stateful, Role.ADMIN, "ops")
    acme = await program(stateful)
    other = await program(stateful, "other")
    mine = await acme.make()
    theirs = await other.make()
    caplog.clear()

    assert await ids(reader) == [mine]
    for method in ("GET", "DELETE"):
        assert (await reader.send_request(method, f"{PATH}/{theirs}?tenant=other")).status == 403
        assert (await reader.send_request(method, f"{PATH}/{theirs}")).status == 404
    assert (await reader.send_request("GET", f"{PATH}?tenant=other")).status == 403
    assert lines(caplog) == []
    assert await other.status(theirs) == "running"

    assert await ids(admin) == [theirs, mine]
    assert await ids(admin, "?tenant=other") == [theirs]
    assert (await admin.send_request("GET", f"{PATH}/{theirs}?tenant=other")).status == 200
    assert (await admin.send_request("DELETE", f"{PATH}/{theirs}?tenant=other")).status == 200
    events = [
        (one["event"], one["tenant"], one.get("what", ""), one.get("container_id", ""))
        for one in lines(caplog)
    ]
    assert events == [
        ("read", "acme", "containers", ""),
        ("read", "other", "containers", ""),
        ("read", "other", "containers", ""),
        ("read", "other", "container", theirs),
        ("container_killed", "other", "", theirs),
    ]
    assert all(one["key_id"] for one in lines(caplog))
