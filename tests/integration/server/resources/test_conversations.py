"""Conversations over HTTP and with the official SDK, on both stores."""

import asyncio
from typing import Any

import openai
import pytest

from tests.support.replay import Answer, ReplayBackend, delta, sse
from tests.support.server import RunningServer
from tests.support.waiting import ended, eventually, until

HELLO = {"type": "message", "role": "user", "content": "Hello"}


async def test_the_sdk_makes_reads_changes_and_deletes_one(stateful: RunningServer) -> None:
    created = await stateful.sdk.conversations.create(metadata={"topic": "stars"}, items=[HELLO])  # type: ignore[list-item]
    assert created.id.startswith("conv_")
    assert (await stateful.sdk.conversations.retrieve(created.id)).metadata == {"topic": "stars"}
    changed = await stateful.sdk.conversations.update(created.id, metadata={"topic": "moons"})
    assert changed.metadata == {"topic": "moons"}
    deleted = await stateful.sdk.conversations.delete(created.id)
    assert (deleted.id, deleted.deleted, deleted.object) == (
        created.id,
        True,
        "conversation.deleted",
    )

    for act in (stateful.sdk.conversations.retrieve, stateful.sdk.conversations.delete):
        with pytest.raises(
            openai.NotFoundError, match=f"Conversation with id '{created.id}' not found"
        ):
            await act(created.id)


async def test_the_sdk_adds_lists_reads_and_deletes_items(stateful: RunningServer) -> None:
    items = stateful.sdk.conversations.items
    created = await stateful.sdk.conversations.create()
    added = await items.create(created.id, items=[{**HELLO, "content": f"{i}"} for i in range(5)])  # type: ignore[typeddict-item]
    assert [item.content[0].text for item in added.data] == ["0", "1", "2", "3", "4"]  # type: ignore[union-attr]
    listed = [item.id async for item in items.list(created.id, limit=2)]
    assert listed == [item.id for item in reversed(added.data)]
    assert [item.id async for item in items.list(created.id, order="asc", limit=2)] == listed[::-1]
    assert (await items.retrieve(listed[1], conversation_id=created.id)).id == listed[1]
    assert (await items.delete(listed[1], conversation_id=created.id)).id == created.id

    with pytest.raises(openai.NotFoundError):
        await items.retrieve(listed[1], conversation_id=created.id)
    assert [item.id async for item in items.list(created.id)] == [listed[0], *listed[2:]]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
async def test_turns_in_it_follow_each_other(
    stateful: RunningServer, backend: ReplayBackend, stream: bool, background: bool
) -> None:
    conversation = await stateful.sdk.conversations.create(items=[{**HELLO, "role": "system"}])  # type: ignore[typeddict-item]
    for name in ("one", "two"):
        await answered(
            stateful,
            conversation={"id": conversation.id},
            input=name,
            stream=stream,
            background=background,
        )

    content = [message["content"] for message in backend.requests[-1]["messages"]]
    assert content == ["Hello", "one", "You said: one", "two"] or content == [
        "Hello",
        "one",
        "You said: one ",
        "two",
    ]
    listed = [
        item async for item in stateful.sdk.conversations.items.list(conversation.id, order="asc")
    ]
    assert [item.role for item in listed] == ["system", "user", "assistant", "user", "assistant"]  # type: ignore[union-attr]


async def answered(server: RunningServer, **body: Any) -> dict[str, Any]:
    """Ask, and wait for the end of what was asked for; its events may not come later than its
    effects.
    """
    if body.get("stream"):
        last: Any = None
        async for event in await server.sdk.responses.create(model="m", **body):
            last = event
        response: dict[str, Any] = last.response.model_dump()
    else:
        created = await server.sdk.responses.create(model="m", **body)
        response = (
            await ended(server.sdk, created.id) if created.status == "queued" else created
        ).model_dump()
    assert response["status"] == "completed"
    assert response["conversation"]["id"]
    return response


@pytest.mark.wide
async def test_it_is_up_to_date_when_the_last_event_comes(stateful: RunningServer) -> None:
    conversation = await stateful.sdk.conversations.create()
    for number in range(30):
        await answered(stateful, conversation=conversation.id, input=f"{number}", stream=True)
        _, listed = await stateful.get(f"/conversations/{conversation.id}/items?limit=1")
        assert listed["data"][0]["content"][0]["text"].strip() == f"You said: {number}"  # type: ignore[index]


async def test_one_response_at_a_time_runs_in_it(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    go = asyncio.Event()
    backend.script = lambda request: Answer(
        [sse(delta(content="Once"), done=False)], wait=go, rest=[sse(delta("stop"))]
    )
    _, conversation = await stateful.post("/conversations")
    body = {"model": "m", "input": "Hi", "conversation": conversation["id"]}
    first = asyncio.create_task(
        stateful.post("/responses", json=body | {"stream": True, "background": True})
    )
    await until(lambda: backend.requests)
    url = f"/conversations/{conversation['id']}"
    busy = [
        await stateful.post("/responses", json=body),
        await stateful.post("/responses", json=body | {"background": True}),
        await stateful.post(f"{url}/items", json={"items": [HELLO]}),
    ]
    for status, reply in busy:
        assert (status, reply["error"]["code"], reply["error"]["param"]) == (
            400,
            "conversation_locked",
            "conversation",
        )  # type: ignore[index]
    go.set()
    with pytest.raises(Exception, match="unexpected mimetype"):
        await first

    backend.script = lambda request: Answer([sse(delta(content="Twice"), delta("stop"))])
    _, reply = await eventually(
        lambda: stateful.post("/responses", json=body), lambda one: one[0] != 400
    )
    assert reply["status"] == "completed"


async def test_a_response_that_fails_leaves_it_as_it_was_and_free(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    _, conversation = await stateful.post("/conversations")
    body = {"model": "m", "input": "Hi", "conversation": conversation["id"]}
    backend.script = lambda request: Answer([b"{}"], status=500)
    assert (await stateful.post("/responses", json=body))[0] == 502
    async with stateful.http.post(
        f"{stateful.url}/responses", json=body | {"stream": True}
    ) as response:
        assert response.status == 502
    backend.script = lambda request: Answer([sse(delta(content="Once"), done=False)], cut=True)
    async with stateful.http.post(
        f"{stateful.url}/responses", json=body | {"stream": True}
    ) as response:
        assert b"response.failed" in await response.read()
    backend.script = lambda request: Answer(
        [sse(delta(content="Once"), done=False)], wait=asyncio.Event()
    )
    async with stateful.http.post(
        f"{stateful.url}/responses", json=body | {"stream": True}
    ) as response:
        await response.content.readuntil(b"output_text.delta")  # and leave
    await eventually(
        lambda: stateful.post(
            f"/conversations/{conversation['id']}/items", json={"items": [HELLO]}
        ),
        lambda one: one[0] != 400,
    )

    _, listed = await stateful.get(f"/conversations/{conversation['id']}/items")
    assert len(listed["data"]) == 1  # type: ignore[arg-type]


async def test_an_unstored_response_in_it_leaves_its_items_there_and_nothing_else(
    stateful: RunningServer,
) -> None:
    _, conversation = await stateful.post("/conversations")
    body = {"model": "m", "input": "Hi", "conversation": conversation["id"], "store": False}
    _, created = await stateful.post("/responses", json=body)

    assert (await stateful.get(f"/responses/{created['id']}"))[0] == 404
    _, listed = await stateful.get(f"/conversations/{conversation['id']}/items")
    assert len(listed["data"]) == 2  # type: ignore[arg-type]


async def test_a_chain_that_began_in_it_keeps_what_stood_there(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    _, conversation = await stateful.post(
        "/conversations", json={"items": [{**HELLO, "content": "before"}]}
    )
    _, created = await stateful.post(
        "/responses", json={"model": "m", "input": "in", "conversation": conversation["id"]}
    )
    await stateful.post(
        "/responses", json={"model": "m", "input": "after", "previous_response_id": created["id"]}
    )

    content = [message["content"] for message in backend.requests[-1]["messages"]]
    assert content == ["before", "in", "You said: in", "after"]
    _, items = await stateful.get(f"/responses/{created['id']}/input_items?order=asc")
    assert [item["content"][0]["text"] for item in items["data"]] == ["before", "in"]  # type: ignore[union-attr,index]


async def test_an_item_of_it_can_be_referred_to(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    _, conversation = await stateful.post("/conversations", json={"items": [HELLO]})
    _, listed = await stateful.get(f"/conversations/{conversation['id']}/items")
    reference = {"type": "item_reference", "id": listed["data"][0]["id"]}  # type: ignore[index]
    await stateful.post("/responses", json={"model": "m", "input": [reference]})

    assert backend.requests[-1]["messages"][-1]["content"] == "Hello"


WRONG: list[tuple[str, str, Any, int, str | None, str | None]] = [
    ("POST", "", {"items": [HELLO] * 21}, 400, "array_above_max_length", "items"),
    ("POST", "", {"items": [{"type": "bogus"}]}, 400, "invalid_value", "items[0].type"),
    ("POST", "", {"metadata": {"k": 1}}, 400, "invalid_type", "metadata.k"),
    ("POST", "", {"bogus": 1}, 400, "unknown_parameter", "bogus"),
    ("POST", "/{id}", {}, 400, "missing_required_parameter", "metadata"),
    ("POST", "/{id}/items", {"items": []}, 400, "empty_array", "items"),
    ("POST", "/{id}/items", {"items": [HELLO] * 21}, 400, "array_above_max_length", "items"),
    ("POST", "/{id}/items", {}, 400, "missing_required_parameter", "items"),
    (
        "POST",
        "/{id}/items",
        {"items": [{"id": "msg_gone"}]},
        400,
        "unsupported_value",
        "items[0].type",
    ),
    ("GET", "/{id}/items?limit=0", None, 400, "integer_below_min_value", "limit"),
    ("GET", "/{id}/items?limit=101", None, 400, "integer_above_max_value", "limit"),
    ("GET", "/{id}/items?order=up", None, 400, "invalid_value", "order"),
    ("GET", "/{id}/items?after=msg_none", None, 400, "invalid_value", "after"),
    ("GET", "/{id}/items/msg_none", None, 404, None, None),
    ("DELETE", "/{id}/items/msg_none", None, 404, None, None),
    ("GET", "/conv_none", None, 404, None, None),
    ("POST", "/conv_none", {"metadata": {}}, 404, None, None),
    ("GET", "/conv_none/items", None, 404, None, None),
    ("POST", "/conv_none/items", {"items": [HELLO]}, 404, None, None),
    ("GET", "/conv_%00/items/%00", None, 404, None, None),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "code", "param"), WRONG)
async def test_what_is_wrong_is_refused(
    server: RunningServer,
    method: str,
    path: str,
    body: Any,
    status: int,
    code: str | None,
    param: str | None,
) -> None:
    _, conversation = await server.post("/conversations")
    url = f"{server.url}/conversations{path.replace('{id}', str(conversation['id']))}"
    async with server.http.request(method, url, json=body) as response:
        error = (await response.json())["error"]

    assert (response.status, error["code"], error["param"]) == (status, code, param)


async def test_an_unknown_one_makes_no_response(server: RunningServer) -> None:
    for body in ({"background": False}, {"background": True}):
        status, reply = await server.post(
            "/responses", json={"model": "m", "input": "x", "conversation": "conv_x"} | body
        )
        assert (status, reply["error"]["code"], reply["error"]["param"]) == (
            404,
            None,
            "conversation",
        )  # type: ignore[index]


async def test_the_same_item_twice_is_refused(server: RunningServer) -> None:
    item = {**HELLO, "id": "msg_mine"}
    _, conversation = await server.post("/conversations", json={"items": [item]})
    status, reply = await server.post(
        f"/conversations/{conversation['id']}/items", json={"items": [item]}
    )
    assert (status, reply["error"]["param"]) == (400, "items")  # type: ignore[index]
    body = {"model": "m", "input": [item], "conversation": conversation["id"]}
    status, reply = await server.post("/responses", json=body)
    assert (status, reply["error"]["param"]) == (400, "input")  # type: ignore[index]
