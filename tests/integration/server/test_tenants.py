"""One tenant's ids in another's hands: every route, every kind of id, every way of asking (threats
9 to 11).

Whatever is asked with a foreign id, the answer is that for an id which never was, byte for byte but
for the id.
"""

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from antiphon.ids import new_id
from antiphon.storage.open import open_store
from antiphon.storage.records.tenants import Role
from antiphon.upstream.http import HttpBackend
from tests.integration.server.test_keys import routes_of
from tests.support.keys import bearing, issue, issued
from tests.support.replay import Answer, ReplayBackend, delta, sse
from tests.support.server import RunningServer, serve
from tests.support.waiting import eventually, until

HI = {"model": "m", "input": "Hi"}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "store": True}
UPLOAD = {"filename": "a", "purpose": "vision", "bytes": 1, "mime_type": "text/plain"}
MESSAGE = {"type": "message", "role": "user", "content": "A secret of mine"}

OF_A_REQUEST = {"x-request-id", "date", "openai-processing-ms"}
"""Headers that differ from reply to reply."""

IMAGES = ("POST /v1/images/generations", "POST /v1/images/edits")

WITHOUT_IDS = {
    *(
        "GET /v1/models",
        "POST /v1/messages",
        "POST /v1/messages/count_tokens",
        "GET /api/hello",
        "POST /v1/chat/completions",
        "POST /v1/embeddings",
        *IMAGES,
        "GET /v1/usage",
    ),
    *(
        "GET /",
        "GET /healthz",
        "GET /readyz",
        "GET /metrics",
        "GET /status",
        "GET /openapi.json",
        "GET /v1/webhook_event_types",
    ),
    *(
        "POST /v1/webhook_endpoints",
        "GET /v1/webhook_endpoints",
        "GET /v1/models/model",
        "GET /v1/responses",
    ),
    *("GET /v1/chat/completions", "DELETE /v1/models/model"),
    *("GET /console", "GET /console/", "GET /console/path", "GET /console/assets/name"),
    *("POST /admin/v1/session", "GET /admin/v1/session", "DELETE /admin/v1/session"),
    *("GET /admin/v1/responses", "GET /admin/v1/responses/stream", "GET /admin/v1/figures"),
    *(
        "GET /admin/v1/keys",
        "POST /admin/v1/keys",
        "GET /admin/v1/conversations",
        "GET /admin/v1/backends",
    ),
    *("GET /admin/v1/webhook_deliveries", "GET /admin/v1/reports", "POST /admin/v1/reports"),
    *("GET /admin/v1/lessons", "GET /admin/v1/deferred_responses"),
    "GET /admin/v1/reports/matrix",
    *("GET /admin/v1/views", "POST /admin/v1/views", "GET /admin/v1/responses/export"),
    "GET /admin/v1/suggestions",
    *("GET /v1/files", "POST /v1/files", "POST /v1/uploads", "GET /v1/vector_stores"),
    *("GET /v1/prompts", "POST /v1/prompts"),
    *(
        "GET /admin/v1/files",
        "GET /admin/v1/vector_stores",
        "GET /v1/containers",
        "GET /admin/v1/containers",
    ),
}
"""Endpoints to which nobody can give an id of what is stored."""

OF_ADMINISTRATORS = {
    *(
        "POST /admin/v1/keys/key_id",
        "DELETE /admin/v1/keys/key_id",
        "POST /admin/v1/keys/key_id/rotate",
    ),
    "POST /admin/v1/webhook_deliveries/delivery_id/retry",
    *("GET /admin/v1/reports/report_id", "DELETE /admin/v1/reports/report_id"),
    *("DELETE /admin/v1/lessons/lesson_id", "POST /admin/v1/backends/backend/check"),
}
"""Endpoints that need the role `admin`, which sees all tenants."""

IN_A_BODY = {
    "POST /v1/responses",
    "POST /v1/responses/compact",
    "POST /v1/responses/input_tokens",
    "POST /v1/conversations",
    "POST /v1/vector_stores",
    "POST /v1/containers",
}
"""Endpoints that take ids in their bodies."""

IN_A_QUERY = {"GET /admin/v1/find"}
"""Endpoints that take an id of any kind in their query, as `id`."""

BODIES: Mapping[str, Any] = {
    "POST /v1/conversations/conversation_id": {"metadata": {"a": "b"}},
    "POST /v1/conversations/conversation_id/items": {"items": [MESSAGE]},
    "POST /v1/chat/completions/completion_id": {"metadata": {"a": "b"}},
    "POST /v1/uploads/upload_id/complete": {"part_ids": ["part_1"]},
    "POST /v1/vector_stores/vector_store_id": {"name": "mine now"},
    "POST /v1/vector_stores/vector_store_id/search": {"query": "secret"},
    "POST /v1/vector_stores/vector_store_id/files": {"file_id": "file-none"},
    "POST /v1/vector_stores/vector_store_id/files/file_id": {"attributes": {"a": 1}},
    "POST /v1/vector_stores/vector_store_id/file_batches": {"file_ids": ["file-none"]},
    "POST /v1/prompts/prompt_id": {"instructions": "mine now"},
    "POST /v1/prompts/prompt_id/default_version": {"version": 1},
    "POST /v1/containers/container_id/files": {"file_id": "file-none"},
    "POST /v1/webhook_endpoints/endpoint_id": {"name": "mine now"},
    "POST /v1/webhook_endpoints/endpoint_id/test": {"event_type": "response.completed"},
    "POST /v1/webhook_endpoints/endpoint_id/rotate_secret": {},
}
QUERIES = {
    "GET /v1/responses/response_id": (
        "",
        "?stream=true",
        "?stream=true&starting_after=1",
        "?include[]=reasoning.encrypted_content",
    )
}


@dataclass
class Owned:
    """What the first tenant has: ids by their kinds."""

    responses: dict[str, str]
    items: dict[str, str]
    conversation: str
    endpoint: str
    completion: str
    file: str
    upload: str
    vector_store: str
    batch: str
    prompt: str
    container: str
    container_file: str
    view: str

    def kinds(self) -> Iterator[tuple[str, str]]:
        """Every id, by the name that it has in a path."""
        yield from (("response_id", one) for one in self.responses.values())
        yield from (("item_id", one) for one in self.items.values())
        yield "conversation_id", self.conversation
        yield "endpoint_id", self.endpoint
        yield "completion_id", self.completion
        yield "file_id", self.file
        yield "upload_id", self.upload
        yield "vector_store_id", self.vector_store
        yield "batch_id", self.batch
        yield "prompt_id", self.prompt
        yield "container_id", self.container
        yield "file_id", self.container_file
        yield "view_id", self.view


@dataclass
class Deployment:
    """A server with two tenants."""

    server: RunningServer
    owner: Mapping[str, str]
    stranger: Mapping[str, str]

    async def send_request(
        self, method: str, path: str, caller: Mapping[str, str], body: Any = None
    ) -> tuple[int, Any, bytes]:
        url = self.server.url.removesuffix("/v1") + path
        async with self.server.http.request(method, url, headers=caller, json=body) as response:
            headers = {
                name: text
                for name, text in response.headers.items()
                if name.lower() not in OF_A_REQUEST
            }
            return response.status, headers, await response.read()

    async def created(self, path: str, body: Any) -> Any:
        status, _, answer = await self.send_request("POST", path, self.owner, body)
        assert status == 200, answer
        return json.loads(answer)


@asynccontextmanager
async def housed(backend: ReplayBackend, store_url: str) -> AsyncIterator[Deployment]:
    store = await open_store(store_url)
    owner, stranger = [
        (await issued(store, name, role=Role.READ))[0] for name in ("owner", "stranger")
    ]
    async with serve(HttpBackend("replay", backend.url, ""), store=store) as server:
        yield Deployment(server, bearing(owner), bearing(stranger))


@pytest.fixture
async def deployment(backend: ReplayBackend, store_url: str) -> AsyncIterator[Deployment]:
    async with housed(backend, store_url) as one:
        yield one


async def own(deployment: Deployment, backend: ReplayBackend) -> Owned:
    """Have the first tenant make one of everything."""
    plain = await deployment.created("/v1/responses", {**HI, "input": [MESSAGE]})
    conversation = await deployment.created("/v1/conversations", {"items": [MESSAGE]})
    within = await deployment.created("/v1/responses", {**HI, "conversation": conversation["id"]})
    _, _, streamed = await deployment.send_request(
        "POST", "/v1/responses", deployment.owner, {**HI, "stream": True}
    )
    done = await deployment.created("/v1/responses", {**HI, "background": True})
    await eventually(
        lambda: deployment.send_request("GET", f"/v1/responses/{done['id']}", deployment.owner),
        lambda one: json.loads(one[2])["status"] == "completed",
    )
    never = asyncio.Event()
    echo = backend.script
    backend.script = lambda request: Answer([sse(delta(content="Hi"), done=False)], wait=never)
    working = await deployment.created("/v1/responses", {**HI, "background": True})
    await until(lambda: backend.requests and len(backend.requests) >= 5)
    backend.script = echo
    items = json.loads(
        (
            await deployment.send_request(
                "GET", f"/v1/conversations/{conversation['id']}/items", deployment.owner
            )
        )[2]
    )["data"]
    inputs = json.loads(
        (
            await deployment.send_request(
                "GET", f"/v1/responses/{plain['id']}/input_items", deployment.owner
            )
        )[2]
    )["data"]
    found = re.search(rb'"id":"(resp_\w+)"', streamed)
    assert found is not None
    endpoint = await deployment.created(
        "/v1/webhook_endpoints",
        {"name": "n", "url": "https://127.0.0.1:9/", "event_types": ["response.completed"]},
    )
    file = await file_of(deployment)
    vector_store = (await deployment.created("/v1/vector_stores", {"name": "mine"}))["id"]
    batch = (
        await deployment.created(
            f"/v1/vector_stores/{vector_store}/file_batches", {"file_ids": [file]}
        )
    )["id"]
    container = await container_of(deployment, deployment.owner)
    copied = (await deployment.created(f"/v1/containers/{container}/files", {"file_id": file}))[
        "id"
    ]
    view = await deployment.created(
        "/admin/v1/views", {"name": "n", "page": "responses", "query": "q=secret"}
    )
    return Owned(
        {"plain": plain["id"], "in a conversation": within["id"], "streamed": found[1].decode()}
        | {"background": done["id"], "being made": working["id"]},
        {
            "input": inputs[0]["id"],
            "output": plain["output"][0]["id"],
            "of a conversation": items[0]["id"],
        },
        conversation["id"],
        endpoint["id"],
        (await deployment.created("/v1/chat/completions", CHAT))["id"],
        file,
        (await deployment.created("/v1/uploads", UPLOAD))["id"],
        vector_store,
        batch,
        (await deployment.created("/v1/prompts", {"instructions": "A secret of mine"}))["id"],
        container,
        copied,
        view["id"],
    )


async def store_of(deployment: Deployment, headers: Mapping[str, str]) -> str:
    """Have a tenant make a vector store."""
    return str(
        json.loads((await deployment.send_request("POST", "/v1/vector_stores", headers, {}))[2])[
            "id"
        ]
    )


async def container_of(deployment: Deployment, headers: Mapping[str, str]) -> str:
    """Have a tenant create a container."""
    return str(
        json.loads(
            (await deployment.send_request("POST", "/v1/containers", headers, {"name": "mine"}))[2]
        )["id"]
    )


async def file_of(deployment: Deployment) -> str:
    """Have the first tenant upload a file."""
    form = aiohttp.FormData({"purpose": "vision"}, default_to_multipart=True)
    form.add_field("file", b"secret", filename="secret.txt")
    async with deployment.server.http.post(
        f"{deployment.server.url}/files", headers=deployment.owner, data=form
    ) as reply:
        return str((await reply.json())["id"])


def like(one: str) -> str:
    """An id of the same kind and length that never was."""
    kind = re.split("(?<=[_-])", one, maxsplit=1)[0]
    created = kind + new_id("").removeprefix("_")
    return created[: len(one)].ljust(len(one), "0")


def blurred(reported: tuple[int, Any, bytes], one: str) -> tuple[int, Any, bytes]:
    status, headers, body = reported
    return status, headers, body.replace(one.encode(), b"ID")


async def same(
    deployment: Deployment, method: str, path: str, foreign: str, body: Any = None
) -> None:
    """The stranger asks with the foreign id, and with one that never was."""
    missing = like(foreign)
    text = json.dumps(body)
    answer = await deployment.send_request(method, path, deployment.stranger, body)
    about = await deployment.send_request(
        method,
        path.replace(foreign, missing),
        deployment.stranger,
        json.loads(text.replace(foreign, missing)),
    )
    assert blurred(answer, foreign) == blurred(about, missing), (method, path)
    assert answer[0] in (400, 404), (method, path, answer)


def endpoints(deployment: Deployment) -> set[str]:
    return {
        f"{method} {path}"
        for path, methods in routes_of(deployment.server)
        for method in methods - {"WEBSOCKET"}
    }


@pytest.mark.wide
async def test_a_foreign_id_in_a_path_is_as_one_that_never_was(
    deployment: Deployment, backend: ReplayBackend
) -> None:
    owned = await own(deployment, backend)
    theirs = json.loads(
        (await deployment.send_request("POST", "/v1/conversations", deployment.stranger, {}))[2]
    )["id"]
    around = {"conversation_id": {theirs, owned.conversation}}
    around["vector_store_id"] = {
        await store_of(deployment, deployment.stranger),
        owned.vector_store,
    }
    around["container_id"] = {await container_of(deployment, deployment.stranger), owned.container}
    elsewhere = IN_A_BODY | IN_A_QUERY
    with_ids = endpoints(deployment) - WITHOUT_IDS - elsewhere - OF_ADMINISTRATORS
    requested = set()
    for endpoint in sorted(with_ids):
        method, path = endpoint.split(" ")
        for (name, foreign), query in itertools.product(
            owned.kinds(), QUERIES.get(endpoint, ("",))
        ):
            if name not in path.split("/"):
                continue
            filled = path.replace(name, foreign)
            outer = next((kind for kind in around if kind in filled.split("/")), "")
            for one in around.get(outer, {""}):
                await same(
                    deployment,
                    method,
                    filled.replace(outer or "\0", one) + query,
                    foreign,
                    BODIES.get(endpoint),
                )
            requested.add(endpoint)

    assert requested == with_ids, (
        "list a new route in WITHOUT_IDS or IN_A_BODY, or add its id to Owned"
    )
    for endpoint, (_, foreign) in itertools.product(sorted(IN_A_QUERY), owned.kinds()):
        method, path = endpoint.split(" ")
        query = f"{path}?id={foreign}"
        status, _, body = await deployment.send_request(method, query, deployment.stranger)
        assert (status, json.loads(body)["data"]) == (200, []), query
    await all_is_there(deployment, owned)


async def test_ids_in_administrators_actions_are_visible_to_administrators_only(
    deployment: Deployment,
) -> None:
    key, stored_key = await issued(deployment.server.parts.store, "owner")
    reader = await issued(deployment.server.parts.store, "stranger", role=Role.READ)
    for endpoint in sorted(OF_ADMINISTRATORS):
        method, path = endpoint.split(" ")
        for caller in (deployment.stranger, bearing(reader[0])):
            reported = [
                await deployment.send_request(
                    method, re.sub("key_id|delivery_id", one, path), caller, {}
                )
                for one in (stored_key.id, "key_no")
            ]
            assert reported[0] == reported[1]
            assert reported[0][0] == 403
    assert (await deployment.send_request("GET", "/v1/models", bearing(key)))[0] == 200


async def test_no_list_begins_behind_a_foreign_completion(
    deployment: Deployment, backend: ReplayBackend
) -> None:
    foreign = (await deployment.created("/v1/chat/completions", CHAT))["id"]
    await same(deployment, "GET", f"/v1/chat/completions?after={foreign}", foreign)


async def test_no_list_begins_behind_a_foreign_response(
    deployment: Deployment, backend: ReplayBackend
) -> None:
    foreign = (await deployment.created("/v1/responses", HI))["id"]
    await same(deployment, "GET", f"/v1/responses?after={foreign}", foreign)
    await same(deployment, "GET", f"/v1/responses?before={foreign}", foreign)


async def test_no_list_begins_behind_a_foreign_file_and_none_is_listed(
    deployment: Deployment, backend: ReplayBackend
) -> None:
    foreign = await file_of(deployment)
    await same(deployment, "GET", f"/v1/files?after={foreign}", foreign)
    assert (
        json.loads((await deployment.send_request("GET", "/v1/files", deployment.stranger))[2])[
            "data"
        ]
        == []
    )


async def test_no_list_begins_behind_a_foreign_vector_store_and_none_is_listed(
    deployment: Deployment,
) -> None:
    foreign = await store_of(deployment, deployment.owner)
    await same(deployment, "GET", f"/v1/vector_stores?after={foreign}", foreign)
    await same(deployment, "GET", f"/v1/vector_stores?before={foreign}", foreign)
    assert (
        json.loads(
            (await deployment.send_request("GET", "/v1/vector_stores", deployment.stranger))[2]
        )["data"]
        == []
    )


async def test_no_list_begins_behind_a_foreign_prompt_and_none_is_listed(
    deployment: Deployment,
) -> None:
    foreign = (await deployment.created("/v1/prompts", {"instructions": "A secret of mine"}))["id"]
    await same(deployment, "GET", f"/v1/prompts?after={foreign}", foreign)
    assert (
        json.loads((await deployment.send_request("GET", "/v1/prompts", deployment.stranger))[2])[
            "data"
        ]
        == []
    )


async def test_a_foreign_file_cannot_be_attached(deployment: Deployment) -> None:
    foreign = await file_of(deployment)
    store = await store_of(deployment, deployment.stranger)
    await same(deployment, "POST", "/v1/vector_stores", foreign, {"file_ids": [foreign]})
    await same(
        deployment, "POST", f"/v1/vector_stores/{store}/files", foreign, {"file_id": foreign}
    )
    for body in ({"file_ids": [foreign]}, {"files": [{"file_id": foreign}]}):
        await same(deployment, "POST", f"/v1/vector_stores/{store}/file_batches", foreign, body)
    assert (
        json.loads(
            (
                await deployment.send_request(
                    "GET", f"/v1/vector_stores/{store}/files", deployment.stranger
                )
            )[2]
        )["data"]
        == []
    )


async def test_no_list_begins_behind_a_foreign_container_and_none_is_listed(
    deployment: Deployment,
) -> None:
    foreign = await container_of(deployment, deployment.owner)
    await same(deployment, "GET", f"/v1/containers?after={foreign}", foreign)
    assert (
        json.loads(
            (await deployment.send_request("GET", "/v1/containers", deployment.stranger))[2]
        )["data"]
        == []
    )


async def test_a_foreign_file_cannot_be_copied_into_a_container(deployment: Deployment) -> None:
    foreign = await file_of(deployment)
    container = await container_of(deployment, deployment.stranger)
    await same(deployment, "POST", "/v1/containers", foreign, {"name": "n", "file_ids": [foreign]})
    await same(
        deployment, "POST", f"/v1/containers/{container}/files", foreign, {"file_id": foreign}
    )
    assert (
        json.loads(
            (
                await deployment.send_request(
                    "GET", f"/v1/containers/{container}/files", deployment.stranger
                )
            )[2]
        )["data"]
        == []
    )


async def all_is_there(deployment: Deployment, owned: Owned) -> None:
    """What the stranger tried has changed nothing."""
    for one in owned.responses.values():
        assert (await deployment.send_request("GET", f"/v1/responses/{one}", deployment.owner))[
            0
        ] == 200
    working = json.loads(
        (
            await deployment.send_request(
                "GET", f"/v1/responses/{owned.responses['being made']}", deployment.owner
            )
        )[2]
    )
    assert working["status"] in ("queued", "in_progress")
    status, _, body = await deployment.send_request(
        "GET", f"/v1/conversations/{owned.conversation}/items", deployment.owner
    )
    assert (status, len(json.loads(body)["data"])) == (200, 3)
    status, _, body = await deployment.send_request(
        "GET", f"/v1/chat/completions/{owned.completion}", deployment.owner
    )
    assert (status, json.loads(body)["metadata"]) == (200, {})
    status, _, body = await deployment.send_request(
        "GET", f"/v1/webhook_endpoints/{owned.endpoint}", deployment.owner
    )
    assert (status, json.loads(body)["name"]) == (200, "n")
    assert (
        await deployment.send_request("GET", f"/v1/files/{owned.file}/content", deployment.owner)
    )[2] == b"secret"
    status, _, body = await deployment.send_request(
        "GET", f"/v1/vector_stores/{owned.vector_store}", deployment.owner
    )
    assert (status, json.loads(body)["name"], json.loads(body)["file_counts"]["total"]) == (
        200,
        "mine",
        1,
    )
    status, _, body = await deployment.send_request(
        "GET", f"/v1/prompts/{owned.prompt}", deployment.owner
    )
    assert (status, json.loads(body)["version"], json.loads(body)["instructions"]) == (
        200,
        1,
        "A secret of mine",
    )
    content = f"/v1/containers/{owned.container}/files/{owned.container_file}/content"
    assert (await deployment.send_request("GET", content, deployment.owner))[2] == b"secret"
    status, _, body = await deployment.send_request(
        "POST", f"/v1/uploads/{owned.upload}/cancel", deployment.owner
    )
    assert (status, json.loads(body)["status"]) == (200, "cancelled")


def bodies(owned: Owned) -> Iterator[tuple[str, str, Any]]:
    """Every endpoint that takes ids in its body, with each kind of id in each place and each way of
    asking.
    """
    refer = [{"type": "item_reference"}, {"role": "user", "content": "What was it?"}]
    places = [({"previous_response_id": one}, one) for one in owned.responses.values()]
    places += [({"conversation": owned.conversation}, owned.conversation)]
    places += [({"prompt": {"id": owned.prompt}}, owned.prompt)]
    places += [
        ({"input": [{**refer[0], "id": one}, refer[1]]}, one) for one in owned.items.values()
    ]
    for provided, foreign in places:
        for way in (
            {},
            {"stream": True},
            {"background": True},
            {"background": True, "stream": True},
            {"store": False},
        ):
            yield "/v1/responses", foreign, {**HI, **way, **provided}
        yield "/v1/responses/input_tokens", foreign, {**HI, **provided}
        if not provided.keys() & {"conversation", "prompt"}:
            yield "/v1/responses/compact", foreign, {**HI, **provided}


@pytest.mark.wide("postgres")
async def test_a_foreign_file_in_an_input_is_as_one_that_never_was(
    deployment: Deployment, backend: ReplayBackend
) -> None:
    owned = await own(deployment, backend)
    requests_before = len(backend.requests)
    part = {"type": "input_file", "file_id": owned.file}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    message = {"role": "user", "content": [part]}
    for provided in (
        [message],
        [call, {"type": "function_call_output", "call_id": "c", "output": [part]}],
    ):
        for way in ({}, {"stream": True}, {"store": False}):
            await same(
                deployment, "POST", "/v1/responses", owned.file, {**HI, **way, "input": provided}
            )
    assert len(backend.requests) == requests_before


@pytest.mark.wide
async def test_a_foreign_id_in_a_body_is_as_one_that_never_was(
    deployment: Deployment, backend: ReplayBackend
) -> None:
    owned = await own(deployment, backend)
    requests_before = len(backend.requests)
    for path, foreign, body in bodies(owned):
        await same(deployment, "POST", path, foreign, body)
    for one in owned.items.values():
        again = {"items": [{"type": "item_reference", "id": one}]}
        await same(deployment, "POST", "/v1/conversations", one, again)

    assert len(backend.requests) == requests_before
    await all_is_there(deployment, owned)


@pytest.mark.wide("postgres")
async def test_a_foreign_id_on_a_websocket_is_as_one_that_never_was(
    deployment: Deployment, backend: ReplayBackend
) -> None:
    owned = await own(deployment, backend)
    requests_before = len(backend.requests)
    url = f"{deployment.server.url}/responses"
    async with deployment.server.http.ws_connect(url, headers=deployment.stranger) as socket:
        for path, foreign, body in bodies(owned):
            if path == "/v1/responses" and not body.keys() & {"stream", "background"}:
                missing = like(foreign)
                reported = await stated(socket, {"type": "response.create", **body})
                about = await stated(
                    socket,
                    json.loads(
                        json.dumps({"type": "response.create", **body}).replace(foreign, missing)
                    ),
                )
                assert reported.replace(foreign, "ID") == about.replace(missing, "ID")
                assert json.loads(reported)["type"] == "error"

    assert len(backend.requests) == requests_before


async def stated(socket: "aiohttp.ClientWebSocketResponse", message: Any) -> str:
    await socket.send_json(message)
    return await socket.receive_str()


async def test_what_one_connection_remembers_another_tenants_does_not_know(
    deployment: Deployment,
) -> None:
    url = f"{deployment.server.url}/responses"
    async with deployment.server.http.ws_connect(url, headers=deployment.owner) as mine:
        await mine.send_json({"type": "response.create", **HI, "store": False})
        while (reported := await mine.receive_json())["type"] != "response.completed":
            pass
        async with deployment.server.http.ws_connect(url, headers=deployment.stranger) as theirs:
            follow = {
                "type": "response.create",
                **HI,
                "previous_response_id": reported["response"]["id"],
            }
            assert (
                json.loads(await stated(theirs, follow))["error"]["code"]
                == "previous_response_not_found"
            )


async def test_the_same_idempotency_key_is_two_keys(
    deployment: Deployment, backend: ReplayBackend
) -> None:
    key = {"idempotency-key": "everybody's"}
    for path, body in (
        ("/v1/responses", HI),
        ("/v1/responses", {**HI, "stream": True}),
        ("/v1/conversations", {}),
    ):
        key = {"idempotency-key": f"{path}{len(body)}"}
        mine, theirs, again = [
            re.findall(
                rb'"id":"((?:resp|conv)_\w+)"',
                (await deployment.send_request("POST", path, {**caller, **key}, body))[2],
            )[0]
            for caller in (deployment.owner, deployment.stranger, deployment.owner)
        ]
        assert mine == again != theirs
        other = (
            {"metadata": {"a": "b"}} if path == "/v1/conversations" else {**body, "input": "Else"}
        )
        assert (await deployment.send_request("POST", path, {**deployment.owner, **key}, other))[
            0
        ] == 422


async def test_an_answer_cached_for_one_caller_is_requested_again_for_another(
    deployment: Deployment, backend: ReplayBackend
) -> None:
    stated = []
    for caller in (deployment.owner, deployment.stranger, deployment.owner, deployment.stranger):
        url = f"{deployment.server.url}/responses"
        body = {**HI, "antiphon": {"cache": True}}
        async with deployment.server.http.post(url, headers=caller, json=body) as response:
            stated.append(response.headers["antiphon-cache"])

    assert (stated, len(backend.requests)) == (["miss", "miss", "hit", "hit"], 2)


@pytest.mark.wide("postgres")
async def test_lists_hold_what_is_ones_own(deployment: Deployment, backend: ReplayBackend) -> None:
    await own(deployment, backend)
    await deployment.server.parts.jobs.meter.settle()
    for path in ("/v1/webhook_endpoints", "/v1/usage", "/v1/chat/completions"):
        mine, theirs = [
            json.loads((await deployment.send_request("GET", path, caller))[2])["data"]
            for caller in (deployment.owner, deployment.stranger)
        ]
        assert (len(mine), theirs) == (1, [])
    mine, theirs = [
        json.loads((await deployment.send_request("GET", "/v1/responses", caller))[2])["data"]
        for caller in (deployment.owner, deployment.stranger)
    ]
    assert (len(mine), theirs) == (5, [])


@pytest.mark.wide("postgres")
async def test_lists_of_the_console_hold_what_is_of_the_keys_tenant(
    deployment: Deployment, backend: ReplayBackend
) -> None:
    await own(deployment, backend)
    store = deployment.server.parts.store
    mine, theirs = [
        bearing((await issued(store, tenant, role=Role.READ))[0])
        for tenant in ("owner", "stranger")
    ]
    for path, counts in (
        ("keys", (2, 2)),
        ("conversations", (1, 0)),
        ("webhook_deliveries", (0, 0)),
    ):
        lists = [
            json.loads((await deployment.send_request("GET", f"/admin/v1/{path}", caller))[2])[
                "data"
            ]
            for caller in (mine, theirs)
        ]
        assert tuple(map(len, lists)) == counts, path
        assert {one["tenant"] for one in lists[1]} <= {"stranger"}
        for caller in (mine, theirs):
            status, _, body = await deployment.send_request(
                "GET", f"/admin/v1/{path}?tenant=other", caller
            )
            assert (status, json.loads(body)["error"]["param"]) == (403, "tenant")


async def test_two_keys_of_one_tenant_see_the_same(deployment: Deployment) -> None:
    other = bearing(await issue(deployment.server.parts.store, "owner"))
    created = await deployment.created("/v1/responses", HI)

    assert (await deployment.send_request("GET", f"/v1/responses/{created['id']}", other))[0] == 200
