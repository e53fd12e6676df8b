"""A Chat Completions server that answers what it is told, byte for byte, over real TCP on
loopback.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.waiting import let_others_run

STREAM = "text/event-stream"
JSON = "application/json"


@dataclass
class Answer:
    """One answer: `parts` are written one by one, with the loop given a turn between them.

    With `wait`, the answer stops after its parts until the event is set or the client leaves. `cut`
    breaks the connection off instead of ending the body.
    """

    parts: Sequence[bytes]
    content_type: str = STREAM
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: asyncio.Event | None = None
    rest: Sequence[bytes] = ()
    cut: bool = False


def sse(*chunks: dict[str, Any], done: bool = True) -> bytes:
    """Chunks as a backend streams them."""
    data = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    return data + (b"data: [DONE]\n\n" if done else b"")


def delta(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """One chunk."""
    return {
        "id": "chatcmpl-1",
        "choices": [{"index": 0, "delta": fields, "finish_reason": finish_reason}],
    }


def text(*words: str) -> bytes:
    """A whole streamed answer of these words."""
    usage = {"prompt_tokens": 5, "completion_tokens": len(words), "total_tokens": 5 + len(words)}
    return sse(
        *(delta(content=word) for word in words), delta("stop"), {"choices": [], "usage": usage}
    )


def completion(content: str | None = "Hello", **message: Any) -> bytes:
    """A whole plain answer."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
    return json.dumps(
        {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": usage}
    ).encode()


Script = Callable[[dict[str, Any]], Answer]


def echo(request: dict[str, Any]) -> Answer:
    """Answer with the last user message, streamed or plain as asked; embeddings with a vector."""
    if "input" in request:
        data = [{"object": "embedding", "index": 0, "embedding": [1.0, 0.0]}]
        return Answer([json.dumps({"object": "list", "data": data, "model": "m"}).encode()], JSON)
    content = [message["content"] for message in request["messages"] if message["role"] == "user"][
        -1
    ]
    words = f"You said: {content}"
    if request.get("stream"):
        return Answer([text(*(f"{word} " for word in words.split()))])
    return Answer([completion(words)], JSON)


class ReplayBackend:
    """`script` makes an answer of each request; `requests` are those seen; `left` is set when a
    client breaks off.

    Unless it `speaks_responses`, it answers those that come in the Responses API like most servers:
    with a 404. Where the script fails, the connection ends, and so does what serves, with that
    error.
    """

    def __init__(self, script: Script, *, speaks_responses: bool = False) -> None:
        self.script = script
        self.speaks_responses = speaks_responses
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.heads: list[bytes] = []
        self.left = asyncio.Event()
        self.models: list[dict[str, Any]] = [
            {"id": "m", "object": "model", "created": 1, "owned_by": "test"}
        ]
        self.listings = 0
        """How often it listed its models."""
        self.url = ""
        self._connections: set[asyncio.Task[None]] = set()
        self._failures: list[Exception] = []

    @asynccontextmanager
    async def serve(self) -> AsyncIterator["ReplayBackend"]:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=512)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            yield self
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
        if self._failures:
            raise ExceptionGroup("The script of the backend failed.", self._failures)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        int(line[15:])
                        for line in head.lower().split(b"\r\n")
                        if line[:15] == b"content-length:"
                    ),
                    0,
                )
                await self._answer(head, await reader.readexactly(length), reader, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        except Exception as error:
            self._failures.append(error)
        finally:
            writer.close()

    async def _answer(
        self, head: bytes, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if head.startswith(b"GET"):
            self.listings += 1
            answer = Answer([json.dumps({"object": "list", "data": self.models}).encode()], JSON)
        elif b"/responses " in head.split(b"\r\n")[0] and not self.speaks_responses:
            answer = Answer([b'{"error": {"message": "Not found."}}'], JSON, 404)
        else:
            self.heads.append(head)
            self.bodies.append(body)
            self.requests.append(json.loads(body))
            answer = self.script(self.requests[-1])
        headers = {
            "content-type": answer.content_type,
            "transfer-encoding": "chunked",
            **answer.headers,
        }
        lines = [
            f"HTTP/1.1 {answer.status} X",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        await self._write(answer.parts, writer)
        if answer.wait is not None:
            await self._pause(answer.wait, reader)
        await self._write(answer.rest, writer)
        if answer.cut:
            writer.transport.abort()
            raise ConnectionResetError
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _write(self, parts: Sequence[bytes], writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            await writer.drain()
            await let_others_run()

    async def _pause(self, wait: asyncio.Event, reader: asyncio.StreamReader) -> None:
        """Wait for the event, or for the client to leave."""
        go = asyncio.ensure_future(wait.wait())
        removed = asyncio.ensure_future(reader.read(1))
        await asyncio.wait({go, removed}, return_when=asyncio.FIRST_COMPLETED)
        if not go.done():
            go.cancel()
            self.left.set()
            raise ConnectionResetError
        removed.cancel()
        await asyncio.wait({removed})  # else the next request finds a reader that is still waiting
