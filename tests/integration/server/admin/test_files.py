"""Files and vector stores in the console."""

import logging
from typing import Any

import aiohttp
import pytest

from antiphon.storage.records.tenants import Role
from tests.integration.server.admin.test_audit import lines
from tests.support.keys import bearing, issued
from tests.support.server import RunningServer
from tests.support.signed_in import Browser, signed_in

FILES = "/admin/v1/files"
STORES = "/admin/v1/vector_stores"


class Program:
    """A program with a key of a tenant."""

    def __init__(self, server: RunningServer, key: str) -> None:
        self._supported, self.headers = server, bearing(key)

    async def put(self, name: str, purpose: str = "assistants") -> str:
        """Upload a file; return its id."""
        form = aiohttp.FormData({"purpose": purpose}, quote_fields=False)
        form.add_field("file", name.encode(), filename=name)
        return await self._post("/files", data=form)

    async def make(self, *file_ids: str, name: str = "notes") -> str:
        """Create a vector store of files; return its id."""
        return await self._post("/vector_stores", json={"name": name, "file_ids": file_ids})

    async def _post(self, path: str, **body: Any) -> str:
        async with self._supported.http.post(
            self._supported.url + path, headers=self.headers, **body
        ) as reply:
            assert reply.status == 200, await reply.text()
            found: str = (await reply.json())["id"]
            return found


async def program(server: RunningServer, tenant: str = "acme") -> Program:
    key, _ = await issued(server.parts.store, tenant)
    server.parts.keys.forget()
    return Program(server, key)


async def ids(browser: Browser, path: str) -> list[str]:
    reply = await browser.send_request("GET", path)
    assert reply.status == 200, reply.body
    return [one["id"] for one in reply.json["data"]]


async def test_files_are_listed_a_page_at_a_time_and_by_purpose(stateful: RunningServer) -> None:
    reader = await signed_in(stateful)
    acme = await program(stateful)
    created = [await acme.put(f"{number}.txt") for number in range(3)]
    other = await acme.put("4.txt", "vision")

    first = (await reader.send_request("GET", f"{FILES}?limit=2")).json
    rest = (await reader.send_request("GET", f"{FILES}?limit=2&after={first['last_id']}")).json
    assert [one["id"] for one in first["data"] + rest["data"]] == [other, *created[::-1]]
    assert (first["has_more"], rest["has_more"]) == (True, False)
    displayed = first["data"][0]
    assert (
        displayed["object"],
        displayed["filename"],
        displayed["purpose"],
        displayed["tenant"],
    ) == (
        "file",
        "4.txt",
        "vision",
        "acme",
    )
    assert await ids(reader, f"{FILES}?purpose=vision") == [other]
    assert (await reader.send_request("GET", f"{FILES}?after=file-none")).status == 400
    assert (await reader.send_request("GET", f"{FILES}/{other}")).json == displayed
    assert (await reader.send_request("GET", f"{FILES}/file-none")).status == 404


async def test_files_of_a_vector_store_have_their_names(stateful: RunningServer) -> None:
    reader = await signed_in(stateful)
    acme = await program(stateful)
    one = await acme.put("Ä.txt")
    two = await acme.put("b.txt")
    empty = await acme.make()
    store = await acme.make(one, two)

    assert await ids(reader, STORES) == [store, empty]
    assert await ids(reader, f"{STORES}?limit=1&after={store}") == [empty]
    displayed = (await reader.send_request("GET", f"{STORES}/{store}")).json
    assert (displayed["object"], displayed["name"], displayed["tenant"]) == (
        "vector_store",
        "notes",
        "acme",
    )
    files = (await reader.send_request("GET", f"{STORES}/{store}/files?limit=1")).json
    assert [(each["id"], each["filename"]) for each in files["data"]] == [(two, "b.txt")]
    assert files["has_more"]
    rest = (await reader.send_request("GET", f"{STORES}/{store}/files?after={two}")).json
    assert [(each["id"], each["filename"], each["object"]) for each in rest["data"]] == [
        (one, "Ä.txt", "vector_store.file")
    ]
    assert (await reader.send_request("GET", f"{STORES}/vs_none")).status == 404
    assert (await reader.send_request("GET", f"{STORES}/none")).status == 400


async def test_readers_see_their_tenant_and_administrators_all(
    stateful: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "antiphon.audit")
    mine = await signed_in(stateful)
    admin = await signed_in(stateful, Role.ADMIN, tenant="acme")
    acme = await program(stateful)
    other = await program(stateful, "other")
    own = await acme.put("a.txt")
    foreign = await other.put("b.txt")
    store = await acme.make(own)
    theirs = await other.make(foreign)

    assert (await ids(mine, FILES), await ids(mine, STORES)) == ([own], [store])
    single = (f"{FILES}/{foreign}", f"{STORES}/{theirs}", f"{STORES}/{theirs}/files")
    for path in (FILES, STORES, *single):
        assert (await mine.send_request("GET", f"{path}?tenant=other")).status == 403
    for path in single:
        assert (await mine.send_request("GET", path)).status == 404
        assert (await admin.send_request("GET", path)).status == 404
    assert (await mine.send_request("GET", f"{FILES}?after={foreign}")).status == 400
    assert not any(line["event"] == "read" for line in lines(caplog))

    assert (await ids(admin, FILES), await ids(admin, STORES)) == ([foreign, own], [theirs, store])
    assert await ids(admin, f"{FILES}?after={foreign}") == [own]
    assert (
        await ids(admin, f"{FILES}?tenant=other"),
        await ids(admin, f"{STORES}?tenant=acme"),
    ) == (
        [foreign],
        [store],
    )
    assert (await admin.send_request("GET", f"{STORES}/{theirs}?tenant=other")).json[
        "tenant"
    ] == "other"
    assert await ids(admin, f"{STORES}/{theirs}/files?tenant=other") == [foreign]
    read = [(line["tenant"], line["what"]) for line in lines(caplog) if line["event"] == "read"]
    assert read == [
        ("other", what)
        for what in ("files", "vector_stores", "files", "vector_store", "vector_store_files")
    ]


async def test_the_session_of_a_reader_may_do_what_its_key_may(stateful: RunningServer) -> None:
    reader = await signed_in(stateful)
    created = (await reader.send_request("POST", "/v1/vector_stores", {"name": "mine"})).json
    assert (
        await reader.send_request("POST", f"/v1/vector_stores/{created['id']}", {"name": "ours"})
    ).json["name"] == "ours"
    assert (await reader.send_request("DELETE", f"/v1/vector_stores/{created['id']}")).status == 200
    assert (await reader.send_request("GET", STORES)).json["data"] == []


async def test_a_key_that_may_only_use_the_api_sees_no_lists(stateful: RunningServer) -> None:
    acme = await program(stateful)
    await acme.put("a.txt")
    for path in (FILES, STORES):
        url = stateful.url.removesuffix("/v1") + path
        async with stateful.http.get(url, headers=acme.headers) as reply:
            assert reply.status == 403
