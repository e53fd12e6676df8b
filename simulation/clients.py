"""What clients do, and what servers acknowledged to them."""

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from simulation.backend import MODEL
from simulation.client import Broken, Wires
from simulation.plan import Event
from simulation.promises import Reading, event_of
from simulation.server import SimulatedServer

OPEN = ("queued", "in_progress")

AGAIN = 0.5
"""Seconds until a client repeats what failed."""

TURNS = 3

MOST_ATTEMPTS = 6
"""How often a client sends a request until it is answered."""


@dataclass(slots=True)
class Record:
    """What was acknowledged."""

    questions: dict[str, str] = field(default_factory=dict)
    """The question of each response, by its id."""
    background: set[str] = field(default_factory=set)
    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The responses that were returned after their end."""
    ends: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The final states that were returned."""
    cancelled: set[str] = field(default_factory=set)
    readings: list[Reading] = field(default_factory=list)
    keyed: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    turns: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    refused: list[str] = field(default_factory=list)
    """Replies that no fault explains."""


class Clients:
    """The clients of a simulation."""

    def __init__(self, wires: Wires, servers: list[SimulatedServer], seed: int) -> None:
        self.record = Record()
        self._wires = wires
        self._servers = servers
        self._seed = seed

    async def run(self, event: Event) -> None:
        """Do what the plan says."""
        kinds: dict[str, Callable[[Client], Awaitable[None]]] = {
            "plain": Client.plain,
            "stream": Client.stream,
            "poll": Client.poll,
            "resume": Client.resume,
            "cancel": Client.cancel,
            "keyed": Client.keyed,
            "chain": Client.chain,
            "talk": Client.talk,
            "crowd": Client.crowd,
        }
        dice = random.Random(f"client {self._seed} {event.number}")
        await kinds[event.kind](Client(self._wires, self._servers, self.record, event, dice))


class Client:
    """One client."""

    accepts_all = False
    """Whether any reply can be correct."""

    def __init__(
        self,
        wires: Wires,
        servers: list[SimulatedServer],
        record: Record,
        event: Event,
        dice: random.Random,
    ) -> None:
        self._wires = wires
        self._servers = servers
        self._record = record
        self._event = event
        self._dice = dice
        self._requested = 0

    def _question(self) -> str:
        self._requested += 1
        return f"q{self._event.number}.{self._requested}"

    async def request(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, Any]:
        """Send a request to any server; status 0 if the connection broke."""
        server = self._dice.choice(self._servers)
        try:
            status, reply = await self._wires.request(server, method, path, body, headers)
        except Broken:
            self._wires.network.loop.note(f"{self._event.number} {method} {path} broke")
            return 0, None
        returned = (
            reply.get("status") or reply.get("error") or "" if isinstance(reply, dict) else ""
        )
        name = reply.get("id") if isinstance(reply, dict) else ""
        self._wires.network.loop.note(
            f"{self._event.number} {method} {path}: "
            f"{server.name} returned {status} {name} {returned}"
        )
        is_refused = 400 <= status < 500
        if is_refused and not (self.accepts_all or _is_expected(status, reply)):
            self._record.refused.append(f"{method} {path}: {status} {json.dumps(reply)}")
        return status, reply

    async def get(self, path: str) -> tuple[int, Any]:
        """GET from whichever server replies, however long that takes."""
        while True:
            status, reply = await self.request("GET", path)
            if 0 < status < 500:
                return status, reply
            await asyncio.sleep(AGAIN)

    async def plain(self) -> None:
        """A response."""
        question = self._question()
        body = {"model": MODEL, "input": question}
        status, reply = await self.request("POST", "/v1/responses", body)
        if status == 200:
            self._acknowledge(question, reply)

    async def stream(self) -> None:
        """A streamed response."""
        question = self._question()
        body = {"model": MODEL, "input": question, "stream": True}
        await self._read(Reading(), question, "POST", "/v1/responses", body)

    async def poll(self) -> None:
        """A background response, polled to its end."""
        question = self._question()
        body = {"model": MODEL, "input": question, "background": True}
        status, reply = await self.request("POST", "/v1/responses", body)
        if status == 200:
            self._acknowledge(question, reply, is_background=True)
            await self._end(reply["id"])

    async def cancel(self) -> None:
        """A background response that is cancelled."""
        question = self._question()
        body = {"model": MODEL, "input": question, "background": True}
        status, reply = await self.request("POST", "/v1/responses", body)
        if status != 200:
            return
        response_id = reply["id"]
        self._acknowledge(question, reply, is_background=True)
        self._record.cancelled.add(response_id)
        await asyncio.sleep(self._event.size * 4)
        status, reply = await self.request("POST", f"/v1/responses/{response_id}/cancel")
        if status == 200:
            self._record.ends[response_id].add(reply["status"])
        await self._end(response_id)

    async def resume(self) -> None:
        """A streamed background response, resumed until it is whole."""
        question = self._question()
        body = {"model": MODEL, "input": question, "stream": True, "background": True}
        reading = Reading()
        await self._read(reading, question, "POST", "/v1/responses", body)
        if not reading.response_id:
            return
        self._record.background.add(reading.response_id)
        self._record.readings.append(reading)
        while not reading.is_whole:
            await asyncio.sleep(AGAIN)
            path = f"/v1/responses/{reading.response_id}?stream=true&starting_after={reading.last}"
            await self._read(reading, question, "GET", path, None)

    async def keyed(self) -> None:
        """The same request with one key, until it was answered twice."""
        question = self._question()
        body = {
            "model": MODEL,
            "input": question,
            "background": self._event.size < 0.5,
        }
        await asyncio.gather(*(self._keyed(question, body) for _ in range(2)))

    async def _keyed(self, question: str, body: dict[str, Any]) -> None:
        reply = await self._repeat(body, jitters=True, idempotency_key=question)
        if reply is not None:
            self._record.keyed[question].add(reply["id"])
            self._acknowledge(question, reply, is_background=bool(body["background"]))

    async def chain(self) -> None:
        """Responses that continue each other."""
        previous = None
        for _ in range(TURNS):
            question = self._question()
            body = {"model": MODEL, "input": question, "previous_response_id": previous}
            reply = await self._repeat(body)
            if reply is None:
                return
            self._acknowledge(question, reply)
            if reply["status"] != "completed":
                return
            previous = reply["id"]

    async def talk(self) -> None:
        """Turns of a conversation; one that was not acknowledged may or may not be in it."""
        status, reply = await self.request("POST", "/v1/conversations", {})
        if status != 200:
            return
        conversation_id = reply["id"]
        self._record.turns[conversation_id] = []
        for _ in range(TURNS):
            for _ in range(MOST_ATTEMPTS):
                question = self._question()
                body = {"model": MODEL, "input": question, "conversation": conversation_id}
                status, reply = await self.request("POST", "/v1/responses", body)
                if status == 200:
                    break
                await asyncio.sleep(AGAIN)
            else:
                return
            self._acknowledge(question, reply)
            if reply["status"] == "completed":
                self._record.turns[conversation_id].append(question)

    async def crowd(self) -> None:
        """Turns of one conversation at the same time."""
        status, reply = await self.request("POST", "/v1/conversations", {})
        if status != 200:
            return
        await asyncio.gather(*(self._turn(reply["id"]) for _ in range(TURNS)))

    async def _turn(self, conversation_id: str) -> None:
        question = self._question()
        body = {
            "model": MODEL,
            "input": question,
            "conversation": conversation_id,
            "background": self._dice.random() < 0.3,
        }
        await asyncio.sleep(self._dice.random() * 0.5)
        reply = await self._repeat(body, jitters=True)
        if reply is not None:
            self._acknowledge(question, reply, is_background=bool(body["background"]))

    async def _repeat(
        self, body: dict[str, Any], *, jitters: bool = False, **headers: str
    ) -> dict[str, Any] | None:
        """Request a response until a server returns it; None after `MOST_ATTEMPTS`."""
        for _ in range(MOST_ATTEMPTS):
            status, reply = await self.request("POST", "/v1/responses", body, **headers)
            if status == 200:
                found: dict[str, Any] = reply
                return found
            await asyncio.sleep(AGAIN * (1 + self._dice.random()) if jitters else AGAIN)
        return None

    def _acknowledge(
        self, question: str, reply: dict[str, Any], *, is_background: bool = False
    ) -> None:
        response_id = reply["id"]
        self._record.questions[response_id] = question
        if is_background:
            self._record.background.add(response_id)
        if reply["status"] not in OPEN:
            self._record.ends[response_id].add(reply["status"])
            self._record.bodies[response_id] = reply

    async def _end(self, response_id: str) -> None:
        while True:
            status, reply = await self.get(f"/v1/responses/{response_id}")
            if status != 200 or reply["status"] not in OPEN:
                break
            await asyncio.sleep(AGAIN)
        if status == 200:
            self._record.ends[response_id].add(reply["status"])

    async def _read(
        self, reading: Reading, question: str, method: str, path: str, body: Any
    ) -> None:
        """Read a stream until it ends or breaks."""
        server = self._dice.choice(self._servers)
        rest = b""
        status = 0
        try:
            async for message in self._wires.messages(server, method, path, body, {}):
                status = message.get("status", status)
                *frames, rest = (rest + message.get("body", b"")).split(b"\n\n")
                if status != 200:
                    continue
                for frame in frames:
                    if frame and not frame.startswith(b":"):
                        self._see(frame, reading, question)
        except Broken:
            return
        if status == 200:
            reading.is_whole = True
        elif 400 <= status < 500 and status != 429:
            self._record.refused.append(f"{method} {path}: {status} {rest.decode()}")

    def _see(self, frame: bytes, reading: Reading, question: str) -> None:
        event = event_of(frame)
        self._wires.network.loop.note(
            f"{self._event.number} receives {event.get('sequence_number')} {event.get('type')} "
            f"of {reading.response_id}"
        )
        if "sequence_number" not in event:
            return
        if event["sequence_number"] <= reading.last:
            self._record.refused.append(
                f"{reading.response_id} sent event {event['sequence_number']} after {reading.last}"
            )
        reading.frames.append((event["sequence_number"], frame))
        response = event.get("response")
        if response is None:
            return
        if not reading.response_id:
            reading.response_id = response["id"]
            if response["background"]:
                self._record.questions[response["id"]] = question
        if response["status"] not in OPEN:
            self._record.questions[response["id"]] = question
            self._record.ends[response["id"]].add(response["status"])


def _is_expected(status: int, reply: Any) -> bool:
    """Whether a request can be refused with this although it is correct."""
    return status in (409, 429) or reply["error"]["code"] == "conversation_locked"
