"""A client in WebSocket mode, over the real `websockets`."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.support.server import RunningServer

ENDS = {"response.completed", "response.incomplete", "response.failed", "error"}
SECONDS = 30


class Talk:
    """One connection. `model` is `m` unless a message names another."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send_text(self, message: Any) -> None:
        """Send a message: JSON, or text and bytes as they are."""
        await self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    async def send_request(self, input: Any = "Hi", **parameters: Any) -> None:
        """Send a `response.create`."""
        await self.send_text(
            {"type": "response.create", "model": "m", "input": input, **parameters}
        )

    async def steer(self, response_id: str, input: Any = "Wait") -> None:
        """Send a `response.steer`."""
        await self.send_text(
            {"type": "response.steer", "previous_response_id": response_id, "input": input}
        )

    async def receive_event(self) -> dict[str, Any]:
        """Return the next message."""
        async with asyncio.timeout(SECONDS):
            message = await self.socket.recv()
        assert isinstance(message, str)
        received: dict[str, Any] = json.loads(message)
        return received

    async def until(self, *types: str, **fields: Any) -> list[dict[str, Any]]:
        """Return the messages up to one of these types, and with these fields."""
        received: list[dict[str, Any]] = []
        while True:
            received.append(await self.receive_event())
            if received[-1]["type"] in types and all(
                received[-1].get(name) == value for name, value in fields.items()
            ):
                return received

    async def create(self, input: Any = "Hi", **parameters: Any) -> list[dict[str, Any]]:
        """Send a `response.create`; return what is heard, to its end."""
        await self.send_request(input, **parameters)
        return await self.until(*ENDS)

    async def created(self, input: Any = "Hi", **parameters: Any) -> dict[str, Any]:
        """Send a `response.create`; return the response."""
        response: dict[str, Any] = (await self.create(input, **parameters))[-1]["response"]
        return response

    async def refusal(self, input: Any = "Hi", **parameters: Any) -> dict[str, Any]:
        """Send a `response.create` that is refused; return the inner error."""
        (received,) = await self.create(input, **parameters)
        assert received["type"] == "error"
        error: dict[str, Any] = received["error"]
        return error

    async def closed(self) -> int:
        """Wait for the server's close; return its code. What is heard until then is lost."""
        try:
            while True:
                await self.receive_event()
        except ConnectionClosed as end:
            assert end.rcvd is not None
            return end.rcvd.code


@asynccontextmanager
async def talk(server: RunningServer, **options: Any) -> AsyncIterator[Talk]:
    """Open a connection."""
    url = server.url.replace("http://", "ws://") + "/responses"
    async with connect(url, **options) as socket:
        yield Talk(socket)


def text_of(response: dict[str, Any]) -> str:
    """The text of a response's messages."""
    return "".join(
        part["text"]
        for item in response["output"]
        if item["type"] == "message"
        for part in item["content"]
    )
