"""`python -m bench.attacks.attackers NAME PORT KEY BACKEND`: attacks a server until it is ended.

It prints a line when the attack has begun.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

MEGABYTE = 1024 * 1024


class Attacker:
    """A client with the key of tenant A. An attack returns when its load is on; what it began goes on."""

    def __init__(self, http: aiohttp.ClientSession, backend: str) -> None:
        self._http, self._backend = http, backend
        self._tasks: set[asyncio.Task[Any]] = set()

    async def sockets(self) -> None:
        """14 WebSockets, each with a running response and six messages of 4 MB that wait."""
        for _ in range(14):
            socket = await self._http.ws_connect("/v1/responses", compress=15, max_msg_size=0)
            await socket.send_str(_message("hang"))
            for _ in range(6):
                self._begin(socket.send_str(_message("hang" + " " * 4 * MEGABYTE)))
        await asyncio.sleep(1)

    async def conversation(self) -> None:
        """A conversation of 60 items of 1 MB, which two readers list again and again."""
        made = await self._ask("/v1/conversations", {})
        path = f"/v1/conversations/{made['id']}/items"
        for _ in range(12):
            item = {"type": "message", "role": "user", "content": "x" * MEGABYTE}
            await self._ask(path, {"items": [item] * 5})
        self._repeat(2, lambda: self._get(f"{path}?limit=100"))

    async def tiny_items(self) -> None:
        """One stored response with 100,000 tiny items, whose tokens two clients count again and again."""
        items = [{"role": "user", "content": "x"}] * 100_000
        made = await self._ask("/v1/responses", {"model": "m", "input": items})
        body = {"model": "m", "input": "x", "previous_response_id": made.get("id", "resp_none")}
        self._repeat(1, lambda: self._ask("/v1/responses/input_tokens", body))
        self._repeat(1, lambda: self._get(f"/v1/responses/{made.get('id', 'resp_none')}/input_items?limit=1"))

    async def webhooks(self) -> None:
        """300 endpoints whose receiver never answers, and background responses of which each is to know."""
        body = {"url": f"{self._backend}/hook", "event_types": ["response.completed"]}
        for number in range(300):
            await self._ask("/v1/webhook_endpoints", {**body, "name": f"n{number}"})
        self._repeat(2, lambda: self._ask("/v1/responses", {"model": "m", "input": "x", "background": True}))

    async def jobs(self) -> None:
        """Background responses that take 45 s, as many as are accepted."""
        body = {"model": "m", "input": "slow", "background": True}
        await asyncio.gather(*(self._ask("/v1/responses", body) for _ in range(40)))
        self._repeat(4, lambda: self._ask("/v1/responses", body))

    async def rejections(self) -> None:
        """Requests that the backend rejects with a 429 that is about each of them alone."""
        self._repeat(4, lambda: self._ask("/v1/responses", {"model": "m", "input": "reject"}))

    async def tools(self) -> None:
        """256 calls of an MCP server that never return."""
        tool = {"type": "mcp", "server_label": "silent", "require_approval": "never"}
        for number in range(256):
            url = f"{self._backend}/mcp?number={number}"
            body = {"model": "m", "input": "x", "tools": [{**tool, "server_url": url}]}
            self._begin(self._ask("/v1/responses", body))
        await asyncio.sleep(1)

    async def running(self) -> None:
        """400 streams that never end."""
        for _ in range(400):
            self._begin(self._ask("/v1/responses", {"model": "m", "input": "hang", "stream": True}))
        await asyncio.sleep(1)

    def _begin(self, work: Awaitable[Any]) -> None:
        self._tasks.add(asyncio.ensure_future(work))

    def _repeat(self, count: int, act: Callable[[], Awaitable[Any]]) -> None:
        async def again() -> None:
            while True:
                await act()
                await asyncio.sleep(0.01)

        for _ in range(count):
            self._begin(again())

    async def _ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST; return the reply, whatever it is."""
        async with self._http.post(path, json=body) as reply:
            return dict(await reply.json(content_type=None))

    async def _get(self, path: str) -> None:
        async with self._http.get(path) as reply:
            await reply.read()


def _message(text: str) -> str:
    return json.dumps({"type": "response.create", "model": "m", "input": text, "store": False})


ATTACKS = {
    "WebSockets with waiting messages": Attacker.sockets,
    "large conversations": Attacker.conversation,
    "100,000 tiny items": Attacker.tiny_items,
    "webhooks that hang": Attacker.webhooks,
    "slow background jobs": Attacker.jobs,
    "429s of the backend": Attacker.rejections,
    "MCP calls that never return": Attacker.tools,
    "streams that never end": Attacker.running,
}


async def main(name: str, port: str, key: str, backend: str) -> None:
    """Attack until the process is ended."""
    headers = {"authorization": f"Bearer {key}"}
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        f"http://127.0.0.1:{port}", headers=headers, connector=connector, timeout=timeout
    ) as http:
        attacker = Attacker(http, f"http://127.0.0.1:{backend}")
        await ATTACKS[name](attacker)
        print("begun", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
