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
from tests.support.server import Served
from tests.support.signed_in import Browser, signed_in

PATH = "/admin/v1/containers"
CSV = b"name,value\na,40\n"


class Program:
    """A program with a key of a tenant, which uses the official SDK."""

    def __init__(self, served: Served, key: str) -> None:
        self._sdk = served.sdk.with_options(api_key=key)

    async def make(self, *names: str, **fields: Any) -> str:
        """Create a container with files of these names; return its id."""
        made = await self._sdk.containers.create(**{"name": "work", **fields})
        for name in names:
            await self._sdk.containers.files.create(made.id, file=(name, CSV))
        return made.id

    async def status(self, container_id: str) -> str:
        return (await self._sdk.containers.retrieve(container_id)).status


async def program(served: Served, tenant: str = "acme") -> Program:
    key, _ = await issued(served.engine.store, tenant)
    served.engine.api_keys.forget()
    return Program(served, key)


async def ids(browser: Browser, query: str = "") -> list[str]:
    reply = await browser.ask("GET", PATH + query)
    assert reply.status == 200, reply.body
    return [one["id"] for one in reply.json["data"]]


async def test_containers_are_listed_a_page_at_a_time_with_what_is_in_them(stateful: Served) -> None:
    reader, acme = await signed_in(stateful), await program(stateful)
    made = [await acme.make(), await acme.make("a.csv", "b.csv", memory_limit="4g"), await acme.make()]
    first = (await reader.ask("GET", f"{PATH}?limit=2")).json
    rest = (await reader.ask("GET", f"{PATH}?limit=2&after={first['last_id']}")).json

    assert [one["id"] for one in first["data"] + rest["data"]] == made[::-1]
    assert (first["object"], first["first_id"], first["has_more"], rest["has_more"]) == ("list", made[2], True, False)
    shown = first["data"][1]
    assert shown.keys() >= {"created_at", "last_active_at"}
    assert {**shown, "created_at": 0, "last_active_at": 0} == {
        "id": made[1],
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
    assert (await reader.ask("GET", f"{PATH}?after=cntr_none")).status == 400


async def test_a_container_shows_its_files_and_the_call_that_runs(stateful: Served) -> None:
    reader, acme = await signed_in(stateful), await program(stateful)
    container = await acme.make("a.csv")
    assert await stateful.engine.store.write(containers.hold, "acme", container, "call", "worker_1", 60) is not None
    shown = (await reader.ask("GET", f"{PATH}/{container}")).json

    assert (shown["calls"], shown["is_busy"], shown["worker"], shown["bytes"]) == (1, True, "worker_1", len(CSV))
    (file,) = shown["files"]
    assert file.keys() == {"id", "path", "bytes", "source", "created_at"}
    assert (file["path"].endswith("-a.csv"), file["bytes"], file["source"]) == (True, len(CSV), "user")
    assert (await reader.ask("GET", f"{PATH}/cntr_none")).status == 404


async def test_looking_at_a_container_is_no_use_of_it(stateful: Served) -> None:
    reader = await signed_in(stateful)
    container = expired_container("acme")
    assert await stateful.engine.store.write(containers.put, container, (), AMPLE)
    before = await find_container(stateful.engine.store, "acme", container.id)
    (shown,) = (await reader.ask("GET", PATH)).json["data"]
    assert (shown["status"], shown["files"], shown["bytes"]) == ("expired", 0, 0)
    assert (await reader.ask("GET", f"{PATH}/{container.id}")).json["files"] == []
    assert await find_container(stateful.engine.store, "acme", container.id) == before


async def test_killing_a_container_deletes_it_and_ends_the_call_that_holds_it(stateful: Served) -> None:
    reader, acme = await signed_in(stateful), await program(stateful)
    container, other = await acme.make("a.csv"), await acme.make()
    store = stateful.engine.store
    await store.write(containers.hold, "acme", container, "call", "worker_1", 60)
    reply = await reader.ask("DELETE", f"{PATH}/{container}")

    assert (reply.status, reply.json) == (200, {"id": container, "object": "container.deleted", "deleted": True})
    assert not await store.write(containers.renew_hold, "acme", container, "call", 60)
    assert await ids(reader) == [other]
    assert (await reader.ask("DELETE", f"{PATH}/{container}")).status == 404
    assert (await reader.ask("GET", f"{PATH}/{container}")).status == 404


async def test_other_tenants_containers_are_for_administrators_and_are_audited(
    stateful: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "antiphon.audit")
    reader, admin = await signed_in(stateful), await signed_in(stateful, Role.ADMIN, "ops")
    acme, other = await program(stateful), await program(stateful, "other")
    mine, theirs = await acme.make(), await other.make()
    caplog.clear()

    assert await ids(reader) == [mine]
    for method in ("GET", "DELETE"):
        assert (await reader.ask(method, f"{PATH}/{theirs}?tenant=other")).status == 403
        assert (await reader.ask(method, f"{PATH}/{theirs}")).status == 404
    assert (await reader.ask("GET", f"{PATH}?tenant=other")).status == 403
    assert lines(caplog) == []
    assert await other.status(theirs) == "running"

    assert await ids(admin) == [theirs, mine]
    assert await ids(admin, "?tenant=other") == [theirs]
    assert (await admin.ask("GET", f"{PATH}/{theirs}?tenant=other")).status == 200
    assert (await admin.ask("DELETE", f"{PATH}/{theirs}?tenant=other")).status == 200
    events = [(one["event"], one["tenant"], one.get("what", ""), one.get("container_id", "")) for one in lines(caplog)]
    assert events == [
        ("read", "acme", "containers", ""),
        ("read", "other", "containers", ""),
        ("read", "other", "containers", ""),
        ("read", "other", "container", theirs),
        ("container_killed", "other", "", theirs),
    ]
    assert all(one["key_id"] for one in lines(caplog))
