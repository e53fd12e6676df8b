"""`Idempotency-Key`: the same request again gets the same answer and no more work is done, on both
stores.
"""

import asyncio
import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from aiohttp import FormData

from antiphon.storage.operations import idempotency
from antiphon.testing import assert_event_stream
from tests.support.replay import Answer, ReplayBackend, delta, sse, text
from tests.support.server import RunningServer, serve
from tests.support.waiting import until

BODY = {"model": "m", "input": "Hi"}


async def post(
    server: RunningServer, body: Any, key: str, path: str = "/responses"
) -> tuple[int, bytes]:
    headers = {"idempotency-key": key, "content-type": "application/json"}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with server.http.post(server.url + path, data=data, headers=headers) as response:
        return response.status, await response.read()


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"stream": True},
        {"store": False},
        {"store": False, "stream": True},
        {"background": True},
        {"background": True, "stream": True},
    ],
    ids=lambda extra: "-".join(extra) or "plain",
)
async def test_the_same_request_gets_the_same_answer(
    stateful: RunningServer, backend: ReplayBackend, extra: dict[str, Any]
) -> None:
    backend.script = lambda request: Answer([text("Once ", "upon")])
    first = await post(stateful, BODY | extra, "key")
    later = [
        await post(
            stateful, json.dumps(dict(reversed((BODY | extra).items())), indent=1).encode(), "key"
        )
        for _ in range(3)
    ]

    assert first[0] == 200
    assert later == [first] * 3
    if "stream" in extra:
        assert_event_stream(
            [json.loads(line[6:]) for line in first[1].split(b"\n") if line.startswith(b"data: ")]
        )
    await until(lambda: backend.requests != [])
    assert len(backend.requests) == 1


@pytest.mark.wide("postgres")
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_fifty_at_once_make_one_call(
    stateful: RunningServer, backend: ReplayBackend, stream: bool
) -> None:
    backend.script = lambda request: Answer([text("Once ", "upon")])
    answers = await asyncio.gather(
        *(post(stateful, BODY | {"stream": stream}, "key") for _ in range(50))
    )

    assert {status for status, _ in answers} == {200}
    assert len({body for _, body in answers}) == 1
    assert len(backend.requests) == 1


async def test_another_request_with_the_key_is_refused(stateful: RunningServer) -> None:
    await post(stateful, BODY, "key")
    status, body = await post(stateful, BODY | {"input": "Ho"}, "key")
    error = json.loads(body)["error"]

    assert (status, error["code"], error["param"]) == (
        422,
        "idempotency_key_reused",
        "Idempotency-Key",
    )
    assert (await post(stateful, {}, "key", "/conversations"))[0] == 422


@pytest.mark.parametrize("key", ["", "x" * 256, "caf\u00e9"])
async def test_an_invalid_key_is_rejected(server: RunningServer, key: str) -> None:
    status, body = await post(server, BODY, key)
    error = json.loads(body)["error"]

    assert (status, error["code"], error["param"]) == (
        400,
        "invalid_idempotency_key",
        "Idempotency-Key",
    )


async def test_a_failed_request_is_retried_under_its_idempotency_key(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer([b"{}"], status=500)
    assert (await post(stateful, BODY, "key"))[0] == 502
    backend.script = lambda request: Answer([sse(delta(content="Once"), done=False)], cut=True)
    status, body = await post(stateful, BODY | {"stream": True}, "other")
    assert (status, b"response.failed" in body) == (200, True)
    backend.script = lambda request: Answer([text("Well")])

    assert (await post(stateful, BODY, "key"))[0] == 200
    assert b"response.completed" in (await post(stateful, BODY | {"stream": True}, "other"))[1]


@pytest.mark.wide("postgres")
async def test_a_client_that_leaves_frees_its_key(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer(
        [sse(delta(content="Once"), done=False)], wait=asyncio.Event()
    )
    headers = {"idempotency-key": "key"}
    body = BODY | {"stream": True}
    async with stateful.http.post(
        f"{stateful.url}/responses", json=body, headers=headers
    ) as response:
        await response.content.readuntil(b"output_text.delta")
    backend.script = lambda request: Answer([text("Well")])

    assert b"response.completed" in (await post(stateful, body, "key"))[1]


async def test_a_conversation_is_created_once(stateful: RunningServer) -> None:
    answers = await asyncio.gather(
        *(post(stateful, {"metadata": {"a": "b"}}, "key", "/conversations") for _ in range(8))
    )

    assert {status for status, _ in answers} == {200}
    assert len({body for _, body in answers}) == 1
    assert (await stateful.parts.store.inspect())["conversations"] == 1


async def test_keys_of_tenants_are_apart(server: RunningServer) -> None:
    first = await server.parts.store.write(idempotency.reserve, "a", "key", b"1", "resp_1", "w")
    other = await server.parts.store.write(idempotency.reserve, "b", "key", b"2", "resp_2", "w")

    assert (first.response_id, other.response_id) == ("resp_1", "resp_2")


def _file(**fields: str) -> FormData:
    """A form with a small file."""
    created = FormData()
    created.add_field("file", BytesIO(b"text"), filename="a.txt", content_type="text/plain")
    for name, value in fields.items():
        created.add_field(name, value)
    return created


async def test_each_key_creates_an_object_with_an_id_of_its_own() -> None:
    upload = {"filename": "a.txt", "purpose": "user_data", "bytes": 4, "mime_type": "text/plain"}
    async with serve() as server:
        _, container = await server.post("/containers", json={"name": "work"})
        bodies: dict[str, Callable[[], dict[str, Any]]] = {
            "/conversations": lambda: {"json": {}},
            "/containers": lambda: {"json": {"name": "work"}},
            f"/containers/{container['id']}/files": lambda: {"data": _file()},
            "/files": lambda: {"data": _file(purpose="user_data")},
            "/uploads": lambda: {"json": upload},
        }
        for path, body in bodies.items():
            answers = [
                await server.post(path, headers={"Idempotency-Key": f"{path} {key}"}, **body())
                for key in ("one", "two", "two")
            ]
            assert [status for status, _ in answers] == [200] * 3, (path, answers)
            ids = [answer["id"] for _, answer in answers]
            assert ids[0] != ids[1] == ids[2], path
