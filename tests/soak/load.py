"""The mixed load: one use after the other, of kinds chosen by chance."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

OPEN = ("queued", "in_progress")

TURNS = 4
"""Requests of a chain and of a conversation before the next one begins."""

POLL_EVERY = 0.2
"""Seconds."""


class Load:
    """Uses one server. `failed` has what went wrong, by the kind of use."""

    def __init__(self, http: aiohttp.ClientSession, url: str, rate: float, seed: int) -> None:
        self._http = http
        self._url = url
        self._rest = 1 / rate
        self._dice = random.Random(seed)
        self._store = ""
        self.latencies: list[float] = []
        """Seconds of requests since the last sample."""
        self.sent = 0
        self.failed: dict[str, str] = {}

    async def run(self) -> None:
        """Begin one use after the other, at the rate of the load, until cancelled."""
        uses: list[Callable[[], Awaitable[None]]] = [
            self._plain,
            self._streamed,
            self._chained,
            self._conversed,
            self._background,
            self._message,
            self._file,
            self._search,
            self._websocket,
        ]
        running: set[asyncio.Task[None]] = set()
        try:
            while True:
                use = self._dice.choice(uses)
                task = asyncio.create_task(self._counted(use))
                running.add(task)
                task.add_done_callback(running.discard)
                await asyncio.sleep(self._rest)
        finally:
            for task in running:
                task.cancel()

    async def _counted(self, use: Callable[[], Awaitable[None]]) -> None:
        try:
            await use()
        except (aiohttp.ClientError, OSError, AssertionError, KeyError, ValueError) as error:
            self.failed[use.__name__.strip("_")] = f"{type(error).__name__}: {error}"

    async def _send(self, method: str, path: str, **how: Any) -> Any:
        began = time.monotonic()
        async with self._http.request(method, f"{self._url}{path}", **how) as reply:
            data = await reply.json(content_type=None)
            assert reply.status < 300, f"{path}: {reply.status} {str(data)[:200]}"
        self.latencies.append(time.monotonic() - began)
        self.sent += 1
        return data

    async def _respond(self, text: str, **more: Any) -> Any:
        body = {"model": "demo", "input": text, **more}
        response = await self._send("POST", "/responses", json=body)
        assert response["status"] in ("completed", *OPEN), response
        return response

    async def _plain(self) -> None:
        await self._respond("Hello", store=self._dice.random() < 0.5)

    async def _streamed(self) -> None:
        body = {"model": "demo", "input": "Hello", "stream": True}
        async with self._http.post(f"{self._url}/responses", json=body) as reply:
            data = await reply.read()
        assert b"response.completed" in data, data[-200:]
        self.sent += 1

    async def _chained(self) -> None:
        last = None
        for turn in range(TURNS):
            response = await self._respond(f"Turn {turn}", previous_response_id=last)
            last = response["id"]
        await self._send("DELETE", f"/responses/{last}")

    async def _conversed(self) -> None:
        conversation = await self._send("POST", "/conversations", json={})
        for turn in range(TURNS):
            await self._respond(f"Turn {turn}", conversation=conversation["id"])
        await self._send("GET", f"/conversations/{conversation['id']}/items")

    async def _background(self) -> None:
        response = await self._respond("Hello", background=True)
        while response["status"] in OPEN:
            await asyncio.sleep(POLL_EVERY)
            response = await self._send("GET", f"/responses/{response['id']}")
        assert response["status"] == "completed", response

    async def _message(self) -> None:
        body = {
            "model": "demo",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": "Hello"}],
        }
        await self._send("POST", "/messages", json=body)

    async def _file(self) -> None:
        file = await self._upload()
        await self._send("GET", f"/files/{file}")
        await self._send("DELETE", f"/files/{file}")

    async def _upload(self) -> str:
        form = aiohttp.FormData({"purpose": "assistants"})
        text = f"The tide of day {self._dice.random()} is high at noon. " * 50
        form.add_field("file", text.encode(), filename="tide.txt")
        created = await self._send("POST", "/files", data=form)
        return str(created["id"])

    async def _search(self) -> None:
        if not self._store:
            self._store = (await self._send("POST", "/vector_stores", json={}))["id"]
            files = f"/vector_stores/{self._store}/files"
            await self._send("POST", files, json={"file_id": await self._upload()})
        tool = {"type": "file_search", "vector_store_ids": [self._store]}
        await self._respond("When is the tide high?", tools=[tool])

    async def _websocket(self) -> None:
        async with self._http.ws_connect(f"{self._url}/responses") as socket:
            for turn in range(2):
                body = {"type": "response.create", "model": "demo", "input": f"Turn {turn}"}
                await socket.send_json(body)
                while (event := await socket.receive_json())["type"] != "response.completed":
                    assert event["type"] not in ("error", "response.failed"), event
        self.sent += 1
