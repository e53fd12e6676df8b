"""Clients that ask all the time, of any server that lives, and write down what they were told."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from simulation.promises import ENDS, Reading, event_of

from tests.system.faults.cluster import Node
from tests.system.faults.record import Record

OPEN = ("queued", "in_progress")
TROUBLE = (aiohttp.ClientError, TimeoutError, ConnectionError)
PATIENCE = aiohttp.ClientTimeout(total=20)


class Clients:
    """`run` asks until `end` is called; what has begun by then is followed to its end while servers
    come back.
    """

    def __init__(self, http: aiohttp.ClientSession, nodes: list[Node], dice: random.Random) -> None:
        self.http = http
        self._nodes = nodes
        self._dice = dice
        self.record = Record()
        self._questions = 0
        self._is_over = False
        self.last = ""
        """What the client was doing that ended last."""

    def end(self) -> None:
        self._is_over = True

    async def run(self, each: int) -> None:
        """Run so many clients of each kind."""
        kinds: list[Callable[[], Awaitable[None]]] = [
            self._stream,
            self._poll,
            self._cancel,
            self._send_request,
            self._keyed,
        ]
        talks = [self._talk() for _ in range(each)]
        await asyncio.gather(*talks, *(self._again(kind) for kind in kinds for _ in range(each)))

    async def _again(self, act: Callable[[], Awaitable[None]]) -> None:
        while not self._is_over:
            try:
                await act()
            except TROUBLE:
                await asyncio.sleep(0.1)
        self.last = act.__name__.strip("_")

    def _question(self) -> str:
        self._questions += 1
        return f"q{self._questions}"

    def url(self, path: str) -> str:
        return self._dice.choice(self._nodes).url + path

    async def request(self, method: str, path: str, **how: Any) -> tuple[int, Any]:
        """One request to any node; status and JSON."""
        async with self.http.request(method, self.url(path), timeout=PATIENCE, **how) as response:
            return response.status, await response.json()

    async def get(self, path: str) -> tuple[int, Any]:
        """GET from whichever node answers, however long that takes."""
        while True:
            try:
                status, body = await self.request("GET", path)
                if status < 500:
                    return status, body
            except (*TROUBLE, ValueError):
                pass
            await asyncio.sleep(0.1)

    async def _stream(self) -> None:
        """A streamed background response, taken up again and again until it is whole."""
        question = self._question()
        reading = Reading()
        body = {"model": "m", "input": question, "background": True, "stream": True}
        try:
            async with self.http.post(
                self.url("/responses"), json=body, timeout=PATIENCE
            ) as response:
                await self._read(response, reading, question)
        except TROUBLE:
            pass
        if not reading.response_id:
            return
        self.record.readings.append(reading)
        while not reading.is_whole:
            path = f"/responses/{reading.response_id}?stream=true&starting_after={reading.last}"
            try:
                async with self.http.get(self.url(path), timeout=PATIENCE) as response:
                    await self._read(response, reading, question)
            except TROUBLE:
                await asyncio.sleep(0.1)

    async def _read(
        self, response: aiohttp.ClientResponse, reading: Reading, question: str
    ) -> None:
        if response.status != 200:
            raise aiohttp.ClientPayloadError(f"{response.status}")
        rest = b""
        async for part in response.content.iter_any():
            *whole, rest = (rest + part).split(b"\n\n")
            for frame in whole:
                if not frame.startswith(b":"):
                    self._see(frame, reading, question)
        reading.is_whole = True

    def _see(self, frame: bytes, reading: Reading, question: str) -> None:
        event = event_of(frame)
        reading.frames.append((event["sequence_number"], frame))
        if not reading.response_id:
            reading.response_id = event["response"]["id"]
            self.record.jobs[reading.response_id] = question
        if event["type"] in ENDS:
            self.record.ends[reading.response_id].add(event["response"]["status"])

    async def _poll(self) -> None:
        """A background response, polled to its end."""
        question = self._question()
        status, created = await self.request(
            "POST", "/responses", json={"model": "m", "input": question, "background": True}
        )
        if status == 200:
            self.record.jobs[created["id"]] = question
            await self._ended(created["id"])

    async def _ended(self, response_id: str) -> None:
        while (response := (await self.get(f"/responses/{response_id}"))[1]).get("status") in OPEN:
            await asyncio.sleep(0.05)
        if "status" in response:
            self.record.ends[response_id].add(response["status"])

    async def _cancel(self) -> None:
        """A background response that is cancelled somewhere in the middle."""
        question = self._question()
        status, created = await self.request(
            "POST", "/responses", json={"model": "m", "input": question, "background": True}
        )
        if status != 200:
            return
        self.record.jobs[created["id"]] = question
        self.record.cancels.add(created["id"])
        await asyncio.sleep(self._dice.random())
        status, reported = await self.request("POST", f"/responses/{created['id']}/cancel")
        if status == 200:
            self.record.ends[created["id"]].add(reported["status"])
        await self._ended(created["id"])

    async def _send_request(self) -> None:
        """A stored response, plain."""
        question = self._question()
        status, created = await self.request(
            "POST", "/responses", json={"model": "m", "input": question}
        )
        if status == 200:
            self.record.answers[created["id"]] = question

    async def _keyed(self) -> None:
        """The same request with one key, until it was answered twice."""
        question = self._question()
        answered = 0
        headers = {"idempotency-key": question}
        body = {"model": "m", "input": question, "background": self._dice.random() < 0.5}
        while answered < 2:
            try:
                status, created = await self.request(
                    "POST", "/responses", json=body, headers=headers
                )
            except TROUBLE:
                status = 0
            if status == 200:
                answered += 1
                self.record.keyed[question].add(created["id"])
                (self.record.jobs if body["background"] else self.record.answers)[created["id"]] = (
                    question
                )
            else:
                await asyncio.sleep(0.1)

    async def _talk(self) -> None:
        """A conversation, turn after turn; what was not acknowledged may or may not be in it."""
        conversation_id = ""
        while not self._is_over:
            try:
                if not conversation_id:
                    status, created = await self.request("POST", "/conversations")
                    conversation_id = created["id"] if status == 200 else ""
                    continue
                question = self._question()
                body = {"model": "m", "input": question, "conversation": conversation_id}
                status, created = await self.request("POST", "/responses", json=body)
                if status == 200:
                    self.record.turns[conversation_id].append(question)
                    self.record.answers[created["id"]] = question
                else:
                    await asyncio.sleep(0.1)
            except TROUBLE:
                await asyncio.sleep(0.1)
