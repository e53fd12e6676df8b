"""How a client calls servers, and notes what they acknowledged."""

import asyncio
import json
import random
from typing import Any

from simulation.client import Broken, Wires
from simulation.plan import Event
from simulation.promises import Reading, event_of
from simulation.record import OPEN, Record
from simulation.server import SimulatedServer

AGAIN = 0.5
"""Seconds until a client repeats what failed."""

MOST_ATTEMPTS = 6
"""How often a client sends a request until it is answered."""


class Caller:
    """A client, whatever it does."""

    accepts_all = False
    """Whether any reply can be correct."""
    secret = ""
    """Its API key."""

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

    @property
    def _authorization(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.secret}"} if self.secret else {}

    async def request(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, Any]:
        """Send a request to any server; status 0 if the connection broke."""
        server = self._dice.choice(self._servers)
        headers = {**headers, **self._authorization}
        try:
            status, reply = await self._wires.request(server, method, path, body, headers)
        except Broken:
            self._wires.network.loop.note(f"{self._event.number} {method} {path} broke")
            return 0, None
        returned = (
            reply.get("status") or reply.get("error") or "" if isinstance(reply, dict) else ""
        )
        name = reply.get("id") if isinstance(reply, dict) else ""
        if status == 200 and method == "POST" and name:
            self._record.secrets[name] = self.secret
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
            if 0 < status < 500 and status != 429:
                return status, reply
            await asyncio.sleep(AGAIN)

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
            async for message in self._wires.messages(
                server, method, path, body, self._authorization
            ):
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
            self._record.secrets[response["id"]] = self.secret
            if response["background"]:
                self._record.questions[response["id"]] = question
        if response["status"] not in OPEN:
            self._record.questions[response["id"]] = question
            self._record.ends[response["id"]].add(response["status"])
            self._record.ended_at[response["id"]] = self._wires.network.loop.time()


def _is_expected(status: int, reply: Any) -> bool:
    """Whether a request can be refused with this although it is correct."""
    return status in (409, 429) or reply["error"]["code"] == "conversation_locked"
