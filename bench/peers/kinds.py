"""What the servers are asked for, and what is measured of each kind of request."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from bench.agents.measure import measured, of_chat
from bench.agents.scenarios import SCENARIOS, encoded, of_conversation
from bench.load import Count, Load
from bench.measure import under
from bench.peers.servers import RESPONSES, Peer
from bench.process import cpu_of_all, line
from bench.server import RunningServer
from bench.trace.loopback import Client
from bench.wire import request

CONNECTIONS = 32
BURST = "burst"
CHUNKS = "chunks"
WORD = "word"

TEXT = {BURST: "Hello there", WORD: " token0"}
"""What a plain answer holds once. A gateway that asks the backend for a stream even then gets one
delta of `word`.
"""

ENDS = {RESPONSES: '"response.completed"'}
DELTAS = {RESPONSES: '"response.output_text.delta"'}
DONE, DELTA = "[DONE]", '"delta":{"content"'
"""What each stream and each of its deltas hold once: of the Responses API, and of Chat
Completions.
"""

Row = dict[str, float]
"""By figure: `CPU, µs` of a request; `requests/s` under load; `first byte, ms`, later than the
backend's own.
"""

CPU = "CPU, µs"
RATE = "requests/s"
FIRST = "first byte, ms"

Question = Callable[[Peer, RunningServer, RunningServer, float], Row]
"""Measures one kind of request at a peer, before a backend, for so many seconds. Raises
`RuntimeError` if answers are not whole.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request: its name, and whether the response is stored."""

    name: str
    send_request: Question
    store: bool = False


def _load(
    peer: Peer,
    server: RunningServer,
    _: RunningServer,
    seconds: float,
    *,
    stream: bool,
    store: bool,
) -> Row:
    """Small requests from 32 connections, each as soon as the last was answered."""
    model = BURST if stream else peer.plain_model
    body: dict[str, object] = {"model": peer.prefix + model, "stream": stream}
    if peer.path == RESPONSES:
        body |= {"input": "Hello!", "store": store}
    else:
        body["messages"] = [{"role": "user", "content": "Hello!"}]
    marks = (
        (DELTAS.get(peer.path, DELTA), ENDS.get(peer.path, DONE))
        if stream
        else (TEXT[model], TEXT[model])
    )
    content = msgspec.json.encode(body).decode()
    load = Load(server.port, peer.path, content, CONNECTIONS, seconds, *marks)
    with under(load) as program:
        before = cpu_of_all(server.pid)
        count = msgspec.json.decode(line(program), type=Count)
        spent = cpu_of_all(server.pid) - before
    if count.ends < 0.95 * count.answers - 1 or not count.answers:
        raise RuntimeError(f"of {count.answers} answers only {count.ends} were whole")
    return {RATE: count.answers / count.seconds, CPU: spent / count.answers * 1e6}


PORTABLE = ("message", "function_call", "function_call_output")
"""Items that every gateway accepts. Codex also sends reasoning, and tools and calls of other
types.
"""


def _agent(
    peer: Peer,
    server: RunningServer,
    backend: RunningServer,
    seconds: float,
    *,
    scenario: str,
    is_portable: bool = True,
) -> Row:
    """What an agent sends, on one connection, streamed and not stored."""
    body = SCENARIOS[scenario]().body
    if is_portable and isinstance(body["input"], list):
        body = {
            "input": [item for item in body["input"] if item["type"] in PORTABLE],
            "tools": [tool for tool in body["tools"] if tool["type"] == "function"],
        }
    content = encoded(body, model=peer.prefix + CHUNKS, stream=True, store=False)
    if peer.path == RESPONSES:
        taken = measured(server, partial(Streamed, content=content), seconds)
    else:
        taken = of_chat(server, len(content), seconds, stream=True)
    direct = of_chat(backend, len(content), seconds / 2, stream=True)
    return {CPU: taken.cpu * 1e6, FIRST: (taken.first - direct.first) * 1e3}


class Streamed:
    """Sends a body as another conversation each time. See `bench.agents.measure.Sender`."""

    has_before = False

    def __init__(self, client: Client, content: bytes) -> None:
        self._client = client
        self._content = content
        self._numbers = itertools.count(1)
        self._request = b""

    async def begin(self) -> None:
        """Prepare the next request."""
        self._request = request(
            "POST", RESPONSES, of_conversation(self._content, next(self._numbers))
        )

    async def send(self) -> None:
        """Send it. Raises `RuntimeError` if the answer is no whole stream."""
        answer = await self._client.send(self._request, lambda: None)
        if ENDS[RESPONSES].encode() not in answer:
            raise RuntimeError(answer[-300:].decode(errors="replace"))


KINDS = (
    Kind("plain", partial(_load, stream=False, store=False)),
    Kind("plain, stored", partial(_load, stream=False, store=True), store=True),
    Kind("stream of 256 deltas", partial(_load, stream=True, store=False)),
    Kind("stream of 256 deltas, stored", partial(_load, stream=True, store=True), store=True),
    Kind("stream, one tool", partial(_agent, scenario="one tool")),
    Kind("stream, 7 functions, 36 kB", partial(_agent, scenario="codex")),
    Kind("stream, 236 items, 825 kB", partial(_agent, scenario="long")),
    Kind(
        "stream, Codex's first request, 39 kB", partial(_agent, scenario="codex", is_portable=False)
    ),
    Kind("stream, Codex, 400 items, 1 MB", partial(_agent, scenario="long", is_portable=False)),
)
