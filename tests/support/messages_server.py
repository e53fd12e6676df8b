"""A server asked in the Messages API: what comes back, and what a stream adds up to."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.support.messages_stream import events_in, fold, violations
from tests.support.server import RunningServer

HI: Mapping[str, Any] = {
    "model": "m",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hi"}],
}


class Answered(NamedTuple):
    """A reply with a JSON object."""

    status: int
    body: dict[str, Any]
    headers: Mapping[str, str]

    @property
    def error(self) -> dict[str, Any]:
        """The error in the envelope of this API, which has the id of the request."""
        assert self.body["type"] == "error"
        assert self.body["request_id"] == self.headers["request-id"]
        error: dict[str, Any] = self.body["error"]
        return error


async def post(
    server: RunningServer,
    path: str = "/messages",
    headers: Mapping[str, str] | None = None,
    **fields: Any,
) -> Answered:
    """POST a request that says hello, with these fields."""
    body = {name: value for name, value in {**HI, **fields}.items() if value is not None}
    async with server.http.post(server.url + path, json=body, headers=headers) as response:
        return Answered(response.status, await response.json(), response.headers)


async def stream(server: RunningServer, **fields: Any) -> bytes:
    """POST that request for a stream; return a stream without violation of the grammar."""
    body = {**HI, "stream": True, **fields}
    async with server.http.post(f"{server.url}/messages", json=body) as response:
        assert response.status == 200, await response.text()
        assert response.headers["request-id"] == response.headers["x-request-id"]
        received = await response.read()
    assert violations(received) == []
    return received


async def both(server: RunningServer, **fields: Any) -> dict[str, Any]:
    """The message that a plain request and a streamed one agree on."""
    plain = (await post(server, **fields)).body
    streamed = fold(await stream(server, **fields))
    for message in (plain, streamed):
        del message["id"], message["usage"]
        for block in message["content"]:
            if block["type"] == "thinking":
                assert block.pop("signature")
    assert plain == streamed
    return plain


def names(received: bytes) -> list[str]:
    """The names of the events of a stream."""
    return [name for name, _ in events_in(received)]
