"""Files and vector stores of the scripted server: kept in memory."""

import asyncio
import time
from typing import Any

from aiohttp import web

from tests.support.console.admin import listed

Json = dict[str, Any]
DAY = 86_400


def file(number: int, name: str, size: int, **changes: Any) -> Json:
    """Return a file."""
    return {
        "id": f"file-{number}",
        "object": "file",
        "bytes": size,
        "created_at": int(time.time()) - number * 7_000,
        "expires_at": None,
        "filename": name,
        "purpose": "assistants",
        "status": "processed",
        "status_details": None,
        "tenant": None,
    } | changes


def files() -> list[Json]:
    """Return five files, one of which belongs to another tenant."""
    soon = int(time.time()) + 20 * DAY
    return [
        file(1, "release-notes-2.4.pdf", 1_830_112),
        file(2, "Störungen im Betrieb.docx", 88_204),
        file(3, "queue-lengths.xlsx", 12_873, purpose="user_data", expires_at=soon),
        file(4, "scan-of-contract.pdf", 7_204_551),
        file(5, "requests.jsonl", 1_204_551_900, purpose="batch", expires_at=soon, tenant="acme"),
    ]


def counts(**changes: int) -> dict[str, int]:
    """Return the counts of a vector store."""
    found = {"in_progress": 0, "completed": 0, "failed": 0, "cancelled": 0} | changes
    return found | {"total": sum(found.values())}


def store(number: int, name: str | None, **changes: Any) -> Json:
    """Return a vector store."""
    return {
        "id": f"vs_{number}",
        "object": "vector_store",
        "created_at": int(time.time()) - number * 40_000,
        "name": name,
        "description": None,
        "usage_bytes": 2_480_000,
        "file_counts": counts(),
        "status": "completed",
        "expires_after": None,
        "expires_at": None,
        "last_active_at": int(time.time()) - number * 3_000,
        "metadata": {},
        "tenant": None,
    } | changes


def stores() -> list[Json]:
    """Return a vector store that is ingested, one that is complete, one that expired, and one of
    another tenant.
    """
    soon = int(time.time()) + 6 * DAY
    busy = {"status": "in_progress", "file_counts": counts(completed=1, failed=1, in_progress=1)}
    return [
        store(
            1,
            "Handbook and release notes",
            **busy,
            expires_after={"anchor": "last_active_at", "days": 7},
        ),
        store(
            2,
            "Contracts",
            file_counts=counts(completed=412),
            usage_bytes=88_000_000,
            expires_at=soon,
        ),
        store(3, None, status="expired", usage_bytes=0, expires_at=int(time.time()) - DAY),
        store(4, "Tickets of acme", tenant="acme", file_counts=counts(completed=12)),
    ]


def store_file(one: Json, **changes: Any) -> Json:
    """Return a file as it is in a vector store."""
    sizes = {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400}
    return {
        "id": one["id"],
        "object": "vector_store.file",
        "usage_bytes": one["bytes"],
        "created_at": one["created_at"],
        "vector_store_id": "vs_1",
        "status": "completed",
        "last_error": None,
        "chunking_strategy": {"type": "static", "static": sizes},
        "attributes": {},
        "filename": one["filename"],
    } | changes


def store_files() -> list[Json]:
    """Return the files of the first vector store: one of each status."""
    first, second, _, fourth, _ = files()
    scan = {"code": "invalid_file", "message": "The PDF has pictures and no text."}
    return [
        store_file(first, attributes={"version": "2.4", "year": 2026, "draft": False}),
        store_file(second, status="in_progress", usage_bytes=0),
        store_file(fourth, status="failed", last_error=scan, usage_bytes=0),
    ]


def hits() -> list[Json]:
    """Return what a search finds."""
    text = (
        "TLS sessions can be resumed behind a proxy again. The update of the library "
        "to 3.6.1 is enough. "
    ) * 9
    blockers = (
        "Two issues block 2.4: the resumption of TLS sessions (#418), and the length "
        "of the queue (#431)."
    )
    found = [
        ("release-notes-2.4.pdf", 0.9132, {"version": "2.4", "year": 2026}, text),
        ("release-notes-2.4.pdf", 0.6421, {"version": "2.4", "year": 2026}, blockers),
        (
            "Störungen im Betrieb.docx",
            0.2178,
            {},
            "Am Dienstag war die Warteschlange zweimal so lang.",
        ),
    ]
    return [
        {
            "file_id": "file-1",
            "filename": name,
            "score": score,
            "attributes": attributes,
            "content": [{"type": "text", "text": passage}],
        }
        for name, score, attributes, passage in found
    ]


class MockFiles:
    """What the server has of files, and the searches that it received."""

    def __init__(self) -> None:
        self.files, self.stores, self.store_files, self.hits = (
            files(),
            stores(),
            store_files(),
            hits(),
        )
        self.searches: list[Json] = []
        self.lookups = 0
        """How often somebody looked at a vector store while a file was in progress."""
        self.ends_between: asyncio.Event | None = None
        """If set, the ingestion ends between the answers of one look: of the files, then of the
        vector store.
        """
        self.uploaded: list[Json] = []
        """The fields of the forms of uploads, with the sizes of the files."""

    def routes(self, prefix: str) -> list[web.RouteDef]:
        """Return the routes."""
        admin = f"{prefix}/admin/v1"
        v1 = f"{prefix}/v1"
        one = "vector_stores/{id}"
        return [
            web.get(f"{admin}/files", self._list_files),
            web.get(f"{v1}/files", self._list_files),
            web.post(f"{v1}/files", self._upload),
            web.get(f"{v1}/files/{{id}}/content", self._content),
            web.delete(f"{v1}/files/{{id}}", self._delete_file),
            web.get(f"{admin}/vector_stores", self._list_stores),
            web.get(f"{v1}/vector_stores", self._list_stores),
            web.post(f"{v1}/vector_stores", self._create_store),
            web.get(f"{admin}/{one}", self._store),
            web.post(f"{v1}/{one}", self._change_store),
            web.delete(f"{v1}/{one}", self._delete_store),
            web.get(f"{admin}/{one}/files", self._list_store_files),
            web.post(f"{v1}/{one}/file_batches", self._attach),
            web.delete(f"{v1}/{one}/files/{{file}}", self._detach),
            web.post(f"{v1}/{one}/search", self._search),
        ]

    async def _list_files(self, request: web.Request) -> web.Response:
        purpose = request.query.get("purpose")
        found = [one for one in self.files if purpose in (None, one["purpose"])]
        return web.json_response(listed(found))

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        sent = form["file"]
        assert isinstance(sent, web.FileField)
        content = sent.file.read()
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
        self.uploaded.append(fields | {"filename": sent.filename, "bytes": len(content)})
        if sent.filename.endswith(".exe"):
            error = {
                "message": "The file is larger than this server accepts.",
                "code": "file_too_large",
            }
            return web.json_response({"error": error}, status=413)
        created = file(
            100 + len(self.uploaded), sent.filename, len(content), purpose=fields["purpose"]
        )
        self.files.insert(0, created | {"created_at": int(time.time())})
        return web.json_response(created)

    async def _content(self, request: web.Request) -> web.Response:
        return web.Response(body=b"content", content_type="application/octet-stream")

    async def _delete_file(self, request: web.Request) -> web.Response:
        self.files = [one for one in self.files if one["id"] != request.match_info["id"]]
        return web.json_response({"deleted": True})

    async def _list_stores(self, request: web.Request) -> web.Response:
        return web.json_response(listed(self.stores))

    async def _create_store(self, request: web.Request) -> web.Response:
        created = store(9, **(await request.json()), usage_bytes=0)
        self.stores.insert(0, created)
        return web.json_response(created)

    def _found(self, request: web.Request) -> Json:
        found = [one for one in self.stores if one["id"] == request.match_info["id"]]
        if not found:
            text = '{"error": {"message": "No vector store found.", "code": null}}'
            raise web.HTTPNotFound(text=text, content_type="application/json")
        return found[0]

    async def _store(self, request: web.Request) -> web.Response:
        if self.ends_between:
            await self.ends_between.wait()
        found = self._found(request)
        if found["status"] == "in_progress":
            self.lookups += 1
        return web.json_response(found)

    def finish(self) -> None:
        """End the ingestion of what is in progress."""
        for one in self.store_files:
            if one["status"] == "in_progress":
                one |= {"status": "completed", "usage_bytes": 88_204}
        done = sum(one["status"] == "completed" for one in self.store_files)
        failed = sum(one["status"] == "failed" for one in self.store_files)
        self.stores[0] |= {
            "status": "completed",
            "file_counts": counts(completed=done, failed=failed),
        }

    async def _change_store(self, request: web.Request) -> web.Response:
        found = self._found(request)
        found |= await request.json()
        return web.json_response(found)

    async def _delete_store(self, request: web.Request) -> web.Response:
        self.stores.remove(self._found(request))
        return web.json_response({"deleted": True})

    async def _list_store_files(self, request: web.Request) -> web.Response:
        answer = web.json_response(
            listed(self.store_files if request.match_info["id"] == "vs_1" else [])
        )
        if self.ends_between:
            self.finish()
            self.ends_between.set()
        return answer

    async def _attach(self, request: web.Request) -> web.Response:
        ids = (await request.json())["file_ids"]
        new = [
            store_file(one, status="in_progress", usage_bytes=0)
            for one in self.files
            if one["id"] in ids
        ]
        self.store_files = [*new, *self.store_files]
        busy = self.stores[0]["file_counts"] | {
            "in_progress": len(new),
            "total": len(self.store_files),
        }
        self.stores[0] |= {"status": "in_progress", "file_counts": busy}
        return web.json_response({"id": "vsfb_1"})

    async def _detach(self, request: web.Request) -> web.Response:
        self.store_files = [
            one for one in self.store_files if one["id"] != request.match_info["file"]
        ]
        return web.json_response({"deleted": True})

    async def _search(self, request: web.Request) -> web.Response:
        self.searches.append(await request.json())
        page = {"object": "vector_store.search_results.page", "search_query": [], "next_page": None}
        return web.json_response(page | {"data": self.hits, "has_more": False})
