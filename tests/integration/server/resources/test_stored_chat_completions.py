"""Chat completions with `store: true`: stored before their end is sent, and served again as OpenAI
does.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import aiohttp
import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletion

from antiphon.errors import StoreError
from antiphon.storage.operations import chat_completions
from antiphon.storage.records.chat_completions import StoredCompletion
from antiphon.upstream.http import HttpBackend
from tests.support.changed_stores import replace_operation
from tests.support.replay import (
    JSON,
    STREAM,
    Answer,
    ReplayBackend,
    completion,
    delta,
    echo,
    sse,
    text,
)
from tests.support.server import RunningServer, serve

T = TypeVar("T")

MESSAGES: list[Any] = [
    {"role": "system", "content": "Be brief.", "name": "boss"},
    {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
]
CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "Hi"}],
    "store": True,
}


async def run(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


async def request(server: RunningServer, path: str, body: Any = None) -> tuple[int, Any]:
    """POST the body, or GET where there is none; return status and JSON."""
    return await (server.get(path) if body is None else server.post(path, json=body))


async def create(server: RunningServer, **value: Any) -> dict[str, Any]:
    status, body = await request(server, "/chat/completions", {**CHAT, **value})
    assert status == 200, body
    created: dict[str, Any] = body
    return created


async def test_the_sdk_creates_retrieves_updates_lists_and_deletes(client: OpenAI) -> None:
    def story() -> None:
        completions = client.chat.completions
        created = completions.create(
            model="m",
            messages=[{"role": "user", "content": "Hi"}],
            store=True,
            metadata={"a": "b"},
            temperature=0.5,
        )
        found = completions.retrieve(created.id)
        assert (found.id, found.object, found.choices) == (
            created.id,
            "chat.completion",
            created.choices,
        )
        assert (found.metadata, found.model_extra["temperature"]) == ({"a": "b"}, 0.5)  # type: ignore[index]
        changed = completions.update(created.id, metadata={"c": "d"})
        assert (changed.id, changed.metadata) == (created.id, {"c": "d"})
        assert completions.update(created.id, metadata=None).metadata == {}
        assert [one.id for one in completions.list()] == [created.id]
        deleted = completions.delete(created.id)
        assert (deleted.id, deleted.object, deleted.deleted) == (
            created.id,
            "chat.completion.deleted",
            True,
        )
        assert list(completions.list()) == []
        for request in (completions.retrieve, completions.delete, completions.messages.list):
            with pytest.raises(
                openai.NotFoundError, match=f"Chat completion with id '{created.id}' not found"
            ):
                request(created.id)

    await run(story)


async def test_the_sdk_pages_through_completions_and_messages(client: OpenAI) -> None:
    def story() -> None:
        completions = client.chat.completions
        created = [
            completions.create(model="m", messages=MESSAGES[1:], store=True).id for _ in range(5)
        ]
        assert [one.id for one in completions.list(limit=2)] == created
        assert [one.id for one in completions.list(limit=3, order="desc")] == created[::-1]
        assert [one.id for one in completions.list(after=created[3])] == created[4:]
        one = completions.create(model="m", messages=MESSAGES, store=True).id
        listed = list(completions.messages.list(one, limit=1))
        assert [message.to_dict() for message in listed] == [
            {
                "id": f"{one}-0",
                "content": "Be brief.",
                "content_parts": None,
                "name": "boss",
                "role": "system",
            },
            {
                "id": f"{one}-1",
                "content": None,
                "content_parts": [{"type": "text", "text": "Hi"}],
                "name": None,
            }
            | {"role": "user"},
        ]
        assert [message.id for message in completions.messages.list(one, order="desc")] == [
            f"{one}-1",
            f"{one}-0",
        ]
        page = completions.messages.list(one, after=f"{one}-0")
        assert [message.id for message in page.data] == [f"{one}-1"]

    await run(story)


async def test_the_sdk_filters_by_metadata_and_model(client: OpenAI) -> None:
    def story() -> None:
        completions = client.chat.completions
        for metadata in ({"team": "a", "k[0]": "ü&"}, {"team": "a"}, {"team": "b"}):
            completions.create(model="m", messages=MESSAGES[1:], store=True, metadata=metadata)

        def found(**wanted: Any) -> list[Any]:
            return [one.metadata for one in completions.list(**wanted)]

        assert found(metadata={"team": "a"}) == [{"team": "a", "k[0]": "ü&"}, {"team": "a"}]
        assert found(metadata={"team": "a", "k[0]": "ü&"}) == [{"team": "a", "k[0]": "ü&"}]
        assert found(metadata={"team": "c"}) == []
        assert len(found(model="m")) == 3
        assert found(model="another") == []

    await run(story)


async def test_a_streamed_completion_is_stored_as_a_plain_one_would_be(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    calls = [
        {
            "index": 0,
            "id": "call_1",
            "type": "function",
            "function": {"name": "f", "arguments": '{"a"'},
        },
        {"index": 0, "function": {"arguments": ":1}"}},
    ]
    chunks = [
        {
            "id": "1",
            "model": "m-1",
            "created": 7,
            "choices": [{"index": 0, "delta": {"role": "assistant"}}],
        },
        delta(content="Hel", reasoning_content="think"),
        delta(content="lo", reasoning_content="ing"),
        *(delta(tool_calls=[call]) for call in calls),
        delta("tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
    ]
    backend.script = lambda request: Answer([sse(*chunks)])
    stream = await stateful.sdk.chat.completions.create(**CHAT, stream=True)
    ids = {chunk.id async for chunk in stream}
    assert len(ids) == 1
    _, found = await request(stateful, f"/chat/completions/{ids.pop()}")
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "Hello",
        "refusal": None,
        "reasoning_content": "thinking",
    }
    message["tool_calls"] = [
        {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    ]

    ChatCompletion.model_validate(found)
    assert found["choices"] == [
        {"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": None}
    ]
    assert (found["model"], found["created"], found["usage"]) == ("m-1", 7, chunks[-1]["usage"])


async def test_a_stream_is_stored_before_its_end_is_sent(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer([text("a", "b")])
    seen = []
    async with server.http.post(
        f"{server.url}/chat/completions", json={**CHAT, "stream": True}
    ) as response:
        async for line in response.content:
            if line == b"data: [DONE]\n":
                _, listed = await request(server, "/chat/completions")
                seen = [one["choices"][0]["message"]["content"] for one in listed["data"]]

    assert seen == ["ab"]


async def test_each_stored_completion_has_its_own_id_whatever_the_backend_sends(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = echo
    ids = [(await create(server))["id"] for _ in range(2)]
    _, listed = await request(server, "/chat/completions")

    assert [one["id"] for one in listed["data"]] == ids
    assert len(set(ids)) == 2
    assert all(one.startswith("chatcmpl-") for one in ids)
    assert (listed["first_id"], listed["last_id"], listed["has_more"]) == (*ids, False)


async def test_the_backend_receives_neither_store_nor_metadata(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = echo
    await create(server, metadata={"a": "b"}, min_p=0.1)

    assert backend.requests == [{"model": "m", "messages": CHAT["messages"], "min_p": 0.1}]


@pytest.mark.parametrize("store", [False, None])
async def test_without_store_everything_passes_and_nothing_is_stored(
    server: RunningServer, backend: ReplayBackend, store: bool | None
) -> None:
    backend.script = echo
    request_body = {**CHAT, "store": store, "metadata": {"trace": {"id": 1}}}
    status, body = await request(server, "/chat/completions", request_body)
    _, listed = await request(server, "/chat/completions")

    assert (status, body["id"], backend.requests) == (200, "chatcmpl-1", [request_body])
    assert listed == {
        "object": "list",
        "data": [],
        "first_id": None,
        "last_id": None,
        "has_more": False,
    }


@pytest.mark.parametrize(
    "answer",
    [
        Answer([sse(delta(content="half"), done=False)]),
        Answer([sse(delta(content="half"), {"error": {"message": "out of memory"}})]),
        Answer([sse(delta("error", content="half"))]),
        Answer([b"data: {broken\n\n" + text("a")]),
        Answer([b'{"choices": []}'], JSON),
        Answer([b"<html>"], "text/html"),
    ],
)
async def test_an_answer_that_is_not_complete_passes_and_is_not_stored(
    server: RunningServer, backend: ReplayBackend, answer: Answer
) -> None:
    backend.script = lambda request: answer
    async with server.http.post(
        f"{server.url}/chat/completions", json={**CHAT, "stream": True}
    ) as response:
        assert (response.status, response.headers["content-type"]) == (200, answer.content_type)
        passed = await response.read()
    _, listed = await request(server, "/chat/completions")

    assert passed.count(b"data: ") == b"".join(answer.parts).count(b"data: ")
    assert listed["data"] == []


async def test_a_stream_that_breaks_off_is_not_stored(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = lambda request: Answer([sse(delta(content="a"), done=False)], STREAM, cut=True)
    with pytest.raises(aiohttp.ClientPayloadError):
        async with server.http.post(
            f"{server.url}/chat/completions", json={**CHAT, "stream": True}
        ) as response:
            await response.read()
    _, listed = await request(server, "/chat/completions")

    assert listed["data"] == []


async def test_a_backends_comments_and_cut_characters_pass(
    server: RunningServer, backend: ReplayBackend
) -> None:
    halves = [b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}\n\n']
    halves += [
        b'data: {"choices":[{"index":0,"delta":{"content":"\\ude00"},"finish_reason":"stop"}]}\n\n'
    ]
    backend.script = lambda request: Answer([b": working\n\n", *halves, b"data: [DONE]\n\n"])
    async with server.http.post(
        f"{server.url}/chat/completions", json={**CHAT, "stream": True}
    ) as response:
        passed = await response.read()
    _, listed = await request(server, "/chat/completions")

    assert passed.startswith(b":")
    assert b"\\ud83d" in passed
    assert listed["data"][0]["choices"][0]["message"]["content"] == "😀"


async def test_a_large_completion_is_stored_whole(
    server: RunningServer, backend: ReplayBackend
) -> None:
    text = "ab" * 200_000
    requested = "cd" * 100_000
    backend.script = lambda request: Answer([completion(text)], JSON)
    created = await create(server, messages=[{"role": "user", "content": requested}])
    _, found = await request(server, f"/chat/completions/{created['id']}")
    _, messages = await request(server, f"/chat/completions/{created['id']}/messages")

    assert found["choices"][0]["message"]["content"] == text
    assert messages["data"][0]["content"] == requested


def failing(server: RunningServer) -> None:
    async def fail(completion: StoredCompletion) -> None:
        raise StoreError("The disk is full.")

    replace_operation(server.parts.store, chat_completions.save, fail)


async def test_a_plain_completion_that_cannot_be_stored_is_an_error(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = echo
    failing(server)
    status, body = await request(server, "/chat/completions", CHAT)

    assert (status, body["error"]["type"]) == (503, "server_error")


async def test_a_stream_that_cannot_be_stored_has_no_end(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = echo
    failing(server)
    with pytest.raises(aiohttp.ClientPayloadError):
        async with server.http.post(
            f"{server.url}/chat/completions", json={**CHAT, "stream": True}
        ) as response:
            await response.read()


async def test_a_tenant_at_its_quota_stores_no_more(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = echo
    stateful.parts.run.quota.bounds.stored_bytes = 100
    status, _ = await request(stateful, "/chat/completions", CHAT)
    refused, body = await request(stateful, "/chat/completions", CHAT)
    unstored, _ = await request(stateful, "/chat/completions", {**CHAT, "store": False})

    assert (status, refused, body["error"]["code"], unstored) == (
        200,
        429,
        "storage_quota_exceeded",
        200,
    )


async def test_it_expires_as_a_response_does(backend: ReplayBackend) -> None:
    backend.script = echo
    async with serve(HttpBackend("replay", backend.url), retention=-1) as server:
        created = await create(server)

        assert (await request(server, f"/chat/completions/{created['id']}"))[0] == 404


@pytest.mark.parametrize(
    ("value", "param", "code"),
    [
        ({"store": "yes"}, "store", "invalid_type"),
        ({"metadata": {"a": 1}}, "metadata.a", "invalid_type"),
        ({"metadata": ["a"]}, "metadata", "invalid_type"),
        ({"metadata": {str(n): "" for n in range(17)}}, "metadata", "object_above_max_properties"),
    ],
)
async def test_a_wrong_parameter_is_refused_before_the_backend_is_called(
    server: RunningServer, backend: ReplayBackend, value: Any, param: str, code: str
) -> None:
    status, body = await request(server, "/chat/completions", {**CHAT, **value})

    assert (status, body["error"]["param"], body["error"]["code"]) == (400, param, code)
    assert backend.requests == []


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ("limit=0", "limit", "integer_below_min_value"),
        ("limit=101", "limit", "integer_above_max_value"),
        ("limit=ten", "limit", "invalid_type"),
        ("order=up", "order", "invalid_value"),
        ("after=chatcmpl-none", "after", "invalid_value"),
        ("metadata=a", "metadata", "invalid_type"),
        (f"metadata[{'a' * 65}]=b", "metadata", "string_above_max_length"),
    ],
)
async def test_a_wrong_query_is_refused(
    server: RunningServer, query: str, param: str, code: str
) -> None:
    status, body = await request(server, f"/chat/completions?{query}")

    assert (status, body["error"]["param"], body["error"]["code"]) == (400, param, code)


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({}, "metadata", "missing_required_parameter"),
        ({"metadata": {"a": None}}, "metadata.a", "invalid_type"),
        ({"metadata": {}, "model": "x"}, "model", "unknown_parameter"),
    ],
)
async def test_a_wrong_update_is_refused(
    server: RunningServer, backend: ReplayBackend, body: Any, param: str, code: str
) -> None:
    backend.script = echo
    created = await create(server)
    status, refused = await request(server, f"/chat/completions/{created['id']}", body)

    assert (status, refused["error"]["param"], refused["error"]["code"]) == (400, param, code)


async def test_messages_have_wrong_queries_and_wrong_methods_refused(
    server: RunningServer, backend: ReplayBackend
) -> None:
    backend.script = echo
    path = f"/chat/completions/{(await create(server))['id']}"
    errors = {}
    for method, target in (
        ("GET", f"{path}/messages?after={path.rpartition('/')[2]}-7"),
        ("GET", f"{path}/messages?order=x"),
        ("POST", f"{path}/messages"),
        ("PUT", "/chat/completions"),
        ("PATCH", path),
    ):
        async with server.http.request(method, server.url + target, json={}) as response:
            error = (await response.json())["error"]
            errors[method, target.partition("?")[2][:5]] = (
                response.status,
                error["param"],
                error["code"],
            )

    assert errors == {
        ("GET", "after"): (400, "after", "invalid_value"),
        ("GET", "order"): (400, "order", "invalid_value"),
        ("POST", ""): (405, None, "method_not_supported"),
        ("PUT", ""): (405, None, "method_not_supported"),
        ("PATCH", ""): (405, None, "method_not_supported"),
    }
