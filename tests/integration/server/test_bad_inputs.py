"""Bad inputs over HTTP: the same exact answers as in-process, in the envelope, plain or
streamed.
"""

import io
from typing import Any

import pytest
from yarl import URL

from tests.support.replay import JSON, Answer, ReplayBackend, completion
from tests.support.server import RunningServer
from tests.unit.protocol.validation.test_validate import (
    ACCEPTED,
    CHAT_REFUSED,
    NOT_JSON,
    PAGES,
    PARSE,
    REFUSED,
    encode,
)

TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}
CALL = {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "a star"}


async def answer(server: RunningServer, path: str, body: bytes) -> tuple[Any, ...]:
    """Status, type, code, param and message of a refusal that has every header and key."""
    headers = {"content-type": "application/json"}
    async with server.http.post(
        server.url + path, data=io.BytesIO(body), headers=headers
    ) as response:
        reply = await response.json()
        assert response.headers["content-type"] == "application/json"
        assert response.headers["x-request-id"].startswith("req_")
    assert list(reply) == ["error"]
    error = reply["error"]
    assert list(error) == ["message", "type", "param", "code"]
    return response.status, error["type"], error["code"], error["param"], error["message"]


async def wrong_answers(
    server: RunningServer, path: str, table: dict[str, tuple[Any, Any]]
) -> dict[str, Any]:
    """The rows that were not answered as they should be."""
    wrong = {}
    for row, (body, expected) in table.items():
        got = await answer(server, path, encode(body))
        if got != (400, "invalid_request_error", *expected):
            wrong[row] = got
    return wrong


@pytest.mark.wide
async def test_every_bad_request_is_refused_exactly(
    server: RunningServer, backend: ReplayBackend
) -> None:
    assert await wrong_answers(server, "/responses", REFUSED) == {}
    assert backend.requests == []


@pytest.mark.wide
async def test_a_bad_request_for_a_stream_is_refused_as_plain_http(server: RunningServer) -> None:
    requested = {
        row: (body | {"stream": True}, expected)
        for row, (body, expected) in REFUSED.items()
        if isinstance(body, dict) and not body.keys() & {"stream", "stream_options"}
    }
    assert await wrong_answers(server, "/responses", requested) == {}


@pytest.mark.parametrize("path", ["/responses", "/chat/completions", "/embeddings"])
async def test_what_is_not_json_is_refused_with_the_reason(
    server: RunningServer, path: str
) -> None:
    table = {
        row: (body, (None, None, f"{PARSE}{reason}.")) for row, (body, reason) in NOT_JSON.items()
    }
    assert await wrong_answers(server, path, table) == {}


async def test_every_bad_chat_request_is_refused_exactly(
    server: RunningServer, backend: ReplayBackend
) -> None:
    assert await wrong_answers(server, "/chat/completions", CHAT_REFUSED) == {}
    assert backend.requests == []


@pytest.mark.parametrize("row", PAGES)
async def test_a_bad_page_is_refused_exactly(server: RunningServer, row: str) -> None:
    query, (code, param, message) = PAGES[row]
    params = [(name, value) for name, values in query.items() for value in values]
    async with server.http.get(
        f"{server.url}/responses/resp_1/input_items", params=params
    ) as response:
        error = (await response.json())["error"]

    assert (response.status, error["code"], error["param"], error["message"]) == (
        400,
        code,
        param,
        message,
    )


async def test_good_requests_are_answered(server: RunningServer, backend: ReplayBackend) -> None:
    backend.script = lambda request: Answer([completion("fine")], JSON)
    refused = {}
    for row, body in ACCEPTED.items():
        if "previous_response_id" not in body and body.get("model") == "m":
            status, reply = await server.post("/responses", json=body)
            if status != 200:
                refused[row] = reply

    assert refused == {}


@pytest.mark.parametrize("stated", ["a\x00b", "\x1b[31m\u202e\r\n", "{{7*7}} ${jndi:x} <script>"])
async def test_odd_text_goes_through_unharmed(server: RunningServer, stated: str) -> None:
    metadata = {"__proto__": "x", "$ref": "#", "lc": "1", "__class__": stated[:100]}
    status, response = await server.post(
        "/responses", json={"model": "m", "input": stated, "metadata": metadata}
    )
    _, listed = await server.get(f"/responses/{response['id']}/input_items")
    _, stored = await server.get(f"/responses/{response['id']}")

    assert status == 200
    assert stored["metadata"] == response["metadata"] == metadata
    assert listed["data"][0]["content"][0]["text"] == stated


@pytest.mark.parametrize("model", ["unknown", "../x", ""])
async def test_a_model_without_a_backend_is_refused(server: RunningServer, model: str) -> None:
    error = await answer(server, "/responses", encode({"model": model, "input": "x"}))

    *kind, message = error
    assert kind == [400, "invalid_request_error", "model_not_found", "model"]
    assert f"'{model}'" in message
    assert message.endswith(": 'm'.")


async def test_a_misspelt_model_is_suggested(server: RunningServer) -> None:
    *_, message = await answer(server, "/responses", encode({"model": "mm", "input": "x"}))

    assert "'mm'" in message
    assert "Did you mean 'm'?" in message


STATE = {
    "75": ([OUTPUT], (400, None, "input")),
    "76": ([CALL], (400, None, "input")),
    "77": ([{"type": "item_reference", "id": "msg_gone"}], (404, None, "input")),
    "79": ([CALL, OUTPUT, OUTPUT], (400, "invalid_value", "input")),
}


@pytest.mark.parametrize(("items", "expected"), STATE.values(), ids=STATE)
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
async def test_items_that_do_not_belong_together_are_refused(
    server: RunningServer, items: list[Any], expected: tuple[Any, ...], stream: bool
) -> None:
    body = {"model": "m", "input": items, "tools": [TOOL], "stream": stream}
    status, _, code, param, _ = await answer(server, "/responses", encode(body))

    assert (status, code, param) == expected


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/responses/resp_none", 404, None),
        ("DELETE", "/responses/resp_none", 404, None),
        ("GET", "/responses/resp_none/input_items", 404, None),
        ("GET", "/responses/..%2f..%2fadmin", 404, "unknown_url"),
        ("GET", "/responses/%00", 404, None),
        ("GET", "/responses/'", 404, None),
        ("GET", "/responses/" + "x" * 10_000, 404, None),
        ("GET", "/responses/a/b/c", 404, "unknown_url"),
        ("GET", "/responses/", 404, "unknown_url"),
        ("GET", "/models/none", 404, "model_not_found"),
        ("DELETE", "/models/none", 404, "model_not_found"),
        ("GET", "/" + "y" * 10_000, 404, "unknown_url"),
        ("PUT", "/responses", 405, "method_not_supported"),
        ("POST", "/models", 405, "method_not_supported"),
        ("PUT", "/chat/completions", 405, "method_not_supported"),
        ("GET", "/chat/completions/none", 404, None),
        ("GET", "/chat/completions/%00/messages", 404, None),
        ("DELETE", "/chat/completions/none", 404, None),
        ("DELETE", "/models/m", 403, "insufficient_permissions"),
    ],
)
async def test_a_missing_object_is_reported_in_the_error_envelope(
    server: RunningServer, method: str, path: str, status: int, code: str | None
) -> None:
    async with server.http.request(method, URL(server.url + path, encoded=True)) as response:
        error = (await response.json())["error"]

    assert (response.status, error["code"], error["type"]) == (
        status,
        code,
        "invalid_request_error",
    )
    assert len(error["message"]) < 400


async def test_a_completed_response_is_not_streamed_again(server: RunningServer) -> None:
    _, created = await server.post("/responses", json={"model": "m", "input": "x"})
    status, body = await server.get(f"/responses/{created['id']}?stream=true")

    assert (status, body["error"]["param"], body["error"]["code"]) == (400, "stream", None)
