"""`/responses/compact` and left-out tools, over HTTP and as the SDK sees them (specification
sections 6, 11).
"""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from antiphon.access.keyring import Keyring
from antiphon.upstream.http import HttpBackend
from tests.support.replay import JSON, Answer, ReplayBackend, completion, text
from tests.support.server import RunningServer, serve


@pytest_asyncio.fixture
async def backend() -> AsyncIterator[ReplayBackend]:
    def script(request: dict[str, object]) -> Answer:
        return (
            Answer([text("In ", "short.")])
            if request.get("stream")
            else Answer([completion("In short.")], JSON)
        )

    async with ReplayBackend(script).serve() as backend:
        yield backend


@pytest_asyncio.fixture
async def server(backend: ReplayBackend) -> AsyncIterator[RunningServer]:
    async with serve(HttpBackend("b", backend.url)) as server:
        yield server


TURNS = [
    {"role": "developer", "content": "Be kind."},
    {"role": "user", "content": "My name is Ada."},
    {"role": "assistant", "content": "Hello Ada."},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"role": "user", "content": [{"type": "input_text", "text": "I live in Paris."}]},
]


async def test_users_and_systems_messages_stay_and_the_rest_becomes_one_item(
    server: RunningServer,
) -> None:
    compacted = await server.sdk.responses.compact(model="m", input=TURNS)  # type: ignore[arg-type]
    dumped = [item.model_dump(warnings=False) for item in compacted.output]
    again, _ = await server.post("/responses", json={"model": "m", "input": dumped})
    assert again == 200
    *stored, compaction = compacted.to_dict(warnings=False)["output"]  # type: ignore[misc]

    assert (compacted.object, compacted.id[:5]) == ("response.compaction", "resp_")
    assert [(item["role"], item["content"][0]["text"]) for item in stored] == [
        ("developer", "Be kind."),
        ("user", "My name is Ada."),
        ("user", "I live in Paris."),
    ]
    assert {item["status"] for item in stored} == {"completed"}
    assert (compaction["type"], compaction["id"][:4]) == ("compaction", "cmp_")
    assert compacted.usage.total_tokens == 6


async def test_what_comes_out_goes_in_again(server: RunningServer, backend: ReplayBackend) -> None:
    _, compacted = await server.post("/responses/compact", json={"model": "m", "input": TURNS})
    output = compacted["output"]
    assert isinstance(output, list)
    await server.post(
        "/responses", json={"model": "m", "input": [*output, {"role": "user", "content": "Well?"}]}
    )
    content = [message["content"] for message in backend.requests[-1]["messages"]]

    assert content[:3] == ["Be kind.", "My name is Ada.", "I live in Paris."]
    assert (content[3].endswith("In short."), content[4]) == (True, "Well?")


async def test_a_stored_chain_is_compacted_by_its_id_and_the_result_is_not_a_chain(
    server: RunningServer,
) -> None:
    first = await server.sdk.responses.create(model="m", input="My name is Ada.")
    status, compacted = await server.post(
        "/responses/compact", json={"model": "m", "previous_response_id": first.id, "input": None}
    )
    removed, _ = await server.get(f"/responses/{compacted['id']}")

    assert (status, removed) == (200, 404)
    assert [item["type"] for item in compacted["output"]] == ["message", "compaction"]  # type: ignore[attr-defined, index]


async def test_another_servers_compaction_does_not_end_a_session(
    server: RunningServer, backend: ReplayBackend
) -> None:
    _, compacted = await server.post("/responses/compact", json={"model": "m", "input": "Hi"})
    server.parts.run.keyring = Keyring()
    status, _ = await server.post("/responses", json={"model": "m", "input": compacted["output"]})

    assert status == 200
    assert "cannot be read here" in backend.requests[-1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"input": "x"}, "model", "missing_required_parameter"),
        ({"model": "m", "input": 7}, "input", "invalid_type"),
        ({"model": "m", "input": "x", "tools": []}, "tools", "unknown_parameter"),
        (
            {"model": "m", "previous_response_id": "resp_x"},
            "previous_response_id",
            "previous_response_not_found",
        ),
    ],
)
async def test_what_is_wrong_is_named(
    server: RunningServer, body: dict[str, object], param: str, code: str
) -> None:
    status, answer = await server.post("/responses/compact", json=body)

    assert status == 400
    assert (answer["error"]["param"], answer["error"]["code"]) == (param, code)  # type: ignore[index]


@pytest.mark.parametrize(
    "body",
    [{}, {"stream": True}, {"background": True}, {"background": True, "stream": True}],
    ids=json.dumps,
)
async def test_a_header_names_the_tools_that_were_left_out(
    server: RunningServer, body: dict[str, object]
) -> None:
    tools = [{"type": "web_search"}, {"type": "image_generation"}, {"type": "web_search_preview"}]
    request_body = {"model": "m", "input": "x", "tools": tools, **body}
    async with server.http.post(f"{server.url}/responses", json=request_body) as reply:
        assert reply.status == 200
        assert (
            reply.headers["antiphon-ignored-tools"]
            == "web_search, image_generation, web_search_preview"
        )
        await reply.read()


async def test_without_such_tools_there_is_no_such_header(server: RunningServer) -> None:
    async with server.http.post(
        f"{server.url}/responses", json={"model": "m", "input": "x"}
    ) as reply:
        assert "antiphon-ignored-tools" not in reply.headers
