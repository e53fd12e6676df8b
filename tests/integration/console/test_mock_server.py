"""The scripted server of the console's tests returns the same fields of the same types as the real
server.
"""

import time
from collections.abc import Iterator
from typing import Any

from aiohttp import FormData

from antiphon.config import Settings
from antiphon.storage.records.tenants import Role
from antiphon.upstream.http import HttpBackend
from tests.support.console import admin, one
from tests.support.console import files as mock
from tests.support.console.figures import figures
from tests.support.console.finding import MockFinding, suggestions
from tests.support.console.rows import samples
from tests.support.console.server import SESSION
from tests.support.console.views import MockViews
from tests.support.keys import bearing, issued
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve

Json = dict[str, Any]

ALLOWED = {
    "page.partial": "only where the search of the list stopped early",
    "page.after": "only where the search of the list stopped early",
    "page.running": "only on the first page; the console receives these responses from the stream",
    "calls.data[].request": "what a backend receives differs from request to request",
    "conversations.data[].metadata": "what a client wrote",
    "backends.profiles[].facts": "what is known of a model differs from model to model",
    "backends.backends[].lessons": "the console does not show it",
    "backends.clock_skew": "the console does not show it",
    "backends.purge_held": "the console does not show it",
    "backends.disk_full": "the console does not show it",
    "backends.older_failovers": "the console does not show it",
    "backends.shared": "the console does not show it",
    "backends.storage": "the console does not show it",
    "usage.storage": "the console does not show it",
    "usage by key.storage": "the console does not show it",
    "files of a vector store.data[].attributes": "what a client wrote",
    "search.data[].attributes": "what a client wrote",
    "usage by model.storage": "the console does not show it",
    "figures.totals.by_status": "has the statuses that occurred",
    "figures.buckets[].by_status": "has the statuses that occurred",
    "figures.groups[].by_status": "has the statuses that occurred",
}
"""Differences that are no mistake, with the reason."""


def differences(mock: Any, real: Any, path: str) -> Iterator[str]:
    """Give the places where two values have different fields or types.

    None has every type, and an empty list too.
    """
    if path in ALLOWED or mock is None or real is None:
        return
    if isinstance(mock, dict) and isinstance(real, dict):
        for name in sorted(mock.keys() ^ real.keys()):
            if f"{path}.{name}" not in ALLOWED:
                yield f"{path}.{name} is only in the {'mock' if name in mock else 'real'} object"
        for name in mock.keys() & real.keys():
            yield from differences(mock[name], real[name], f"{path}.{name}")
    elif isinstance(mock, list) and isinstance(real, list):
        for each in mock[:20] if real else ():
            yield from differences(each, real[0], f"{path}[]")
    elif _kind(mock) != _kind(real):
        yield f"{path} is {mock!r} in the mock and {real!r} in the real object"


def _kind(value: Any) -> str:
    """Return the type of JSON; JavaScript has one type of numbers."""
    return "number" if type(value) in (int, float) else type(value).__name__


class Real:
    """A server after some use, and what it returns to an administrator."""

    def __init__(self, server: RunningServer, key: str) -> None:
        self.server, self.headers = server, bearing(key)

    async def get(self, path: str) -> Any:
        async with self.server.http.get(
            self.server.url.removesuffix("/v1") + path, headers=self.headers
        ) as reply:
            assert reply.status == 200, await reply.text()
            return await reply.json()

    async def upload(self, name: str, content: str) -> str:
        """Upload a file; return its id."""
        form = FormData({"purpose": "assistants"})
        form.add_field("file", content.encode(), filename=name)
        async with self.server.http.post(
            f"{self.server.url}/files", data=form, headers=self.headers
        ) as reply:
            assert reply.status == 200, await reply.text()
            found: str = (await reply.json())["id"]
            return found

    async def post(self, path: str, body: Json) -> Any:
        url = self.server.url.removesuffix("/v1") + path
        async with self.server.http.post(url, json=body, headers=self.headers) as reply:
            assert reply.status == 200, await reply.text()
            return await reply.json()


async def test_the_mock_has_the_fields_and_types_of_the_real_server(backend: ReplayBackend) -> None:
    async with serve(
        HttpBackend("gpu-a", backend.url, "sk-secret-backend-key"),
        settings=Settings(background_jobs=0),
    ) as server:
        await server.parts.models.refresh()
        server.parts.models.backends[0].lessons_of("m").learn("top_p", "No top_p.")
        key, _ = await issued(server.parts.store, "acme", role=Role.ADMIN)
        real = Real(server, key)
        conversation = await real.post("/v1/conversations", {"metadata": {"topic": "x"}})
        first = await real.post("/v1/responses", {"model": "m", "input": "First"})
        body = {
            "model": "m",
            "input": "Second",
            "previous_response_id": first["id"],
            "metadata": {"a": "b"},
        }
        created = await real.post("/v1/responses", body)
        await real.post(
            "/v1/responses", {"model": "m", "input": "Hi", "conversation": conversation["id"]}
        )
        file = await real.upload("Rome.txt", "Rome")
        store = await real.post("/v1/vector_stores", {"name": "x", "file_ids": [file]})
        finding = MockFinding()
        finding.put("resp_1", "response", "resp_1", "msg_1")
        found = finding.found("resp_1") | {"created_ms": 1}
        options = {"completion_window": "2h"}
        await real.post(
            "/v1/responses",
            {"model": "m", "input": "Hi", "background": True, "background_options": options},
        )
        path = f"/admin/v1/responses/{created['id']}"
        now = int(time.time())
        minute = now // 60 * 60
        row = samples(now * 1000)[4]
        endpoint = {
            "name": "n",
            "url": "https://hooks.example/",
            "event_types": ["response.completed"],
        }
        pairs = {
            "lessons": (admin.listed(admin.lessons()), await real.get("/admin/v1/lessons")),
            "deferred": (
                admin.listed(admin.deferred()),
                await real.get("/admin/v1/deferred_responses"),
            ),
            "check": (
                admin.backend("gpu-a", object="backend", lessons=[]),
                await real.post("/admin/v1/backends/gpu-a/check", {}),
            ),
            "session": (SESSION, await real.get("/admin/v1/session")),
            "page": (
                {
                    "object": "list",
                    "data": samples(now * 1000),
                    "has_more": False,
                    "first_id": "",
                    "last_id": "",
                },
                await real.get("/admin/v1/responses"),
            ),
            "details": (one.details(row), await real.get(path)),
            "request": (
                without(one.request(row), "request"),
                without(await real.get(f"{path}/request"), "request"),
            ),
            "calls": (one.calls(), await real.get(f"{path}/calls")),
            "figures": (
                figures(minute - 600, minute + 60, 60, "key", 2),
                await real.get(
                    f"/admin/v1/figures?since={minute - 600}&until={minute + 60}&step=60&by=key"
                    "&series=2"
                ),
            ),
            "backends": (admin.backends(), await real.get("/admin/v1/backends")),
            "file": (mock.file(1, "a.txt", 1), (await real.get("/admin/v1/files"))["data"][0]),
            "single file": (
                mock.file(1, "a.txt", 1),
                await real.get(f"/admin/v1/files/{file}"),
            ),
            "found": (found, await real.get(f"/admin/v1/find?id={created['id']}")),
            "saved view": (
                MockViews().put("Failures", "q=status%3Afailed"),
                await real.post(
                    "/admin/v1/views",
                    {"name": "Failures", "page": "responses", "query": "q=status%3Afailed"},
                ),
            ),
            "suggestions": (
                suggestions("model:"),
                await real.get("/admin/v1/suggestions?q=model:"),
            ),
            "files": (admin.listed(mock.files()), await real.get("/admin/v1/files")),
            "vector stores": (
                admin.listed(mock.stores()),
                await real.get("/admin/v1/vector_stores"),
            ),
            "vector store": (
                mock.stores()[0],
                await real.get(f"/admin/v1/vector_stores/{store['id']}"),
            ),
            "files of a vector store": (
                admin.listed(mock.store_files()),
                await real.get(f"/admin/v1/vector_stores/{store['id']}/files"),
            ),
            "search": (
                {
                    "object": "vector_store.search_results.page",
                    "search_query": ["x"],
                    "next_page": None,
                }
                | {"data": mock.hits(), "has_more": False},
                await real.post(f"/v1/vector_stores/{store['id']}/search", {"query": "Rome"}),
            ),
            "keys": (admin.listed(admin.keys()), await real.get("/admin/v1/keys")),
            "conversations": (admin.conversations(), await real.get("/admin/v1/conversations")),
            "endpoint": (
                admin.endpoint() | {"signing_secret": "whsec_"},
                await real.post("/v1/webhook_endpoints", endpoint),
            ),
            "endpoints": (
                admin.listed([admin.endpoint()]),
                await real.get("/v1/webhook_endpoints"),
            ),
            "usage": (admin.usage(now), await real.get("/v1/usage?group_by=key,day")),
        }
        found = [
            each for name, (mock, other) in pairs.items() for each in differences(mock, other, name)
        ]
    assert sorted(set(found)) == []


def without(value: Json, name: str) -> Json:
    return {key: each for key, each in value.items() if key != name}
