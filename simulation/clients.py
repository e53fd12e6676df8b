"""What clients do, and what servers acknowledged to them."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from simulation.agents import AGENT
from simulation.backend import MODEL
from simulation.caller import AGAIN, MOST_ATTEMPTS, Caller
from simulation.client import Wires
from simulation.plan import ACT, Event
from simulation.promises import Reading
from simulation.record import Record
from simulation.server import SimulatedServer

TURNS = 3


class Clients:
    """The clients of a simulation."""

    def __init__(self, wires: Wires, servers: list[SimulatedServer], seed: int) -> None:
        self.record = Record()
        self.secrets: Sequence[str] = ("",)
        """The API keys of clients in turn; an empty one is none."""
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
            "stop": Client.stop,
            ACT: Client.act,
            "keyed": Client.keyed,
            "chain": Client.chain,
            "talk": Client.talk,
            "crowd": Client.crowd,
        }
        dice = random.Random(f"client {self._seed} {event.number}")
        client = Client(self._wires, self._servers, self.record, event, dice)
        client.secret = self.secrets[event.number % len(self.secrets)]
        await kinds[event.kind](client)


class Client(Caller):
    """One client, by what it does."""

    async def plain(self) -> None:
        """A response."""
        question = self._question()
        body = {"model": MODEL, "input": question}
        status, reply = await self.request("POST", "/v1/responses", body)
        if status == 200:
            self._acknowledge(question, reply)
        elif status >= 500:
            self._record.failed.append(question)

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

    async def act(self) -> None:
        """A background response of the agent, polled to its end."""
        question = self._question()
        body = {"model": AGENT, "input": question, "background": True}
        status, reply = await self.request("POST", "/v1/responses", body)
        if status == 200:
            self._record.acts[reply["id"]] = question
            self._acknowledge(question, reply, is_background=True)
            await self._end(reply["id"])

    async def resume(self) -> None:
        """A streamed background response, resumed until it is whole."""
        question = self._question()
        body = {"model": MODEL, "input": question, "stream": True, "background": True}
        reading = Reading()
        await self._read(reading, question, "POST", "/v1/responses", body)
        await self._resume(reading, question)

    async def stop(self) -> None:
        """A streamed background response that is cancelled while it is read, and read to its
        end.
        """
        question = self._question()
        body = {"model": MODEL, "input": question, "stream": True, "background": True}
        reading = Reading()
        reads = asyncio.ensure_future(self._read(reading, question, "POST", "/v1/responses", body))
        await asyncio.wait({reads}, timeout=2 + self._event.size * 6)
        if reading.response_id:
            self._record.cancelled.add(reading.response_id)
            path = f"/v1/responses/{reading.response_id}/cancel"
            status, reply = await self.request("POST", path)
            if status == 200:
                self._record.ends[reading.response_id].add(reply["status"])
        await reads
        await self._resume(reading, question)

    async def _resume(self, reading: Reading, question: str) -> None:
        """Read a stream again until it is whole."""
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
        questions: list[str] = []
        self._record.chains.append(questions)
        for _ in range(TURNS):
            question = self._question()
            questions.append(question)
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
        self._record.turns[reply["id"]] = []
        await asyncio.gather(*(self._turn(reply["id"]) for _ in range(TURNS)))

    async def _turn(self, conversation_id: str) -> None:
        is_background = self._dice.random() < 0.3
        body = {"model": MODEL, "conversation": conversation_id, "background": is_background}
        await asyncio.sleep(self._dice.random() * 0.5)
        for _ in range(MOST_ATTEMPTS):
            # An attempt that was not acknowledged can be in the conversation, so each has its own.
            question = self._question()
            status, reply = await self.request("POST", "/v1/responses", {**body, "input": question})
            if status == 200:
                self._acknowledge(question, reply, is_background=is_background)
                return
            await asyncio.sleep(AGAIN * (1 + self._dice.random()))
