"""Nothing blocks the event loop for long, whatever a client sends or has stored.

What is measured is the CPU time between two beats of the server's loop
(`tests/support/watched.py`): a wall clock alone would count what other programs of the machine do.
A step that is too long is too long each time, so the best try counts.
"""

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from websockets.asyncio.client import connect

from tests.support import watched as heart
from tests.support.attacks import LARGEST, TINY, Attack, attacks, create, inputs
from tests.support.command import serving
from tests.support.replay import JSON, Answer, ReplayBackend, completion, echo, text

STEP = 0.040
"""Seconds that one step may take, on a machine as fast as the one on which `CALIBRATED` was
measured.

The target is half of it, on an idle machine; here other tests run beside, and caches are cold.
"""

CALIBRATED = 0.012
"""Seconds of CPU time that `work` takes there."""

STATED = (
    "many calls",
    "many images",
    "a large image",
    "large texts",
    "far too many items",
    "long decimals",
)
"""What is sent on a WebSocket, too: the steps behind the message are those of HTTP."""

TRIES = 15
"""The best of so many counts: nothing but the server makes a step long each time, beside any other
work.
"""

IDLE = (" wait", " _worker", " _take")
"""Functions in which threads wait."""

DISPLAYED = 4
"""Frames that a failure shows of each thread."""

LONG = "a long answer"
"""What the backend answers with `MEGABYTES` of text."""

MEGABYTES = 8

FRAME = 8 * 1024 * 1024
"""Bytes of a WebSocket's frame."""

FOLLOWING = b'[{"role":"user","content":"Go on."}]'


def work() -> None:
    for _ in range(20):
        json.loads(json.dumps([{"a": i} for i in range(1_000)]))


def bound() -> float:
    """Return how long a step may take on this machine."""
    begun = time.process_time()
    work()
    return STEP * max(1.0, (time.process_time() - begun) / CALIBRATED)


def answer(request: dict[str, Any]) -> Answer:
    if "input" in request:  # embeddings
        return echo(request)
    if "prompt" in request:  # images
        return Answer([b'{"created":1,"data":[]}'], JSON)
    if request["messages"][-1]["content"] == LONG:
        return Answer([text(*["a" * 1024 * 1024] * MEGABYTES)])
    return Answer([text("Yes")]) if request.get("stream") else Answer([completion("Yes")], JSON)


class Watched:
    """A server whose loop is measured."""

    def __init__(
        self, url: str, http: aiohttp.ClientSession, beats: Path, backend: ReplayBackend
    ) -> None:
        self.url = url
        self.http = http
        self._beats = beats
        self._backend = backend
        self._seen = 0

    async def send(self, attack: Attack) -> tuple[int, bytes]:
        headers = {"content-type": "application/json", **(attack.headers or {})}
        async with self.http.post(
            self.url + attack.path, data=BytesIO(attack.body), headers=headers
        ) as reply:
            return reply.status, await reply.read()

    async def post(self, path: str, value: bytes, **more: Any) -> dict[str, Any]:
        """Return what a good request is answered."""
        status, body = await self.send(Attack("", path, create(value, **more)))
        assert status == 200, body[:500]
        answered: dict[str, Any] = json.loads(body)
        return answered

    async def get(self, path: str) -> bytes:
        return await self.poll_once(self.url + path)

    async def poll_once(self, url: str) -> bytes:
        async with self.http.get(url) as reply:
            body = await reply.read()
            assert reply.status == 200, body[:500]
            return body

    async def longest(self, act: Callable[[], Awaitable[Any]]) -> dict[str, Any]:
        """Return the longest step while something is done."""
        await act()
        async with self.http.get(self.url + "/models") as reply:  # a step after all of it
            await reply.read()
        self._backend.requests.clear()
        self._backend.bodies.clear()
        lines = self._beats.read_text().splitlines()
        new = lines[self._seen :]
        self._seen = len(lines)
        return max(map(json.loads, new), key=lambda one: float(one["cpu"]), default={"cpu": 0.0})

    async def check(self, name: str, act: Callable[[], Awaitable[Any]], most: float) -> list[str]:
        """Return what was wrong, nothing where no step was too long."""
        tries: list[dict[str, Any]] = []
        while len(tries) < TRIES:
            tries.append(await self.longest(act))
            if (
                tries[-1]["cpu"] <= most or tries[-1]["cpu"] <= bound()
            ):  # the machine can have become slower
                return []
        best = min(tries, key=lambda one: float(one["cpu"]))
        times = ", ".join(f"{float(one['cpu']) * 1000:.0f}" for one in tries)
        stacks = [stack[-DISPLAYED:] for stack in best["stacks"] if not stack[-1].endswith(IDLE)]
        return [f"{name}: {times} ms; the best in {stacks}"]


@asynccontextmanager
async def watched(folder: Path, backend: ReplayBackend, store: str) -> AsyncIterator[Watched]:
    beats = folder / "beats"
    beats.touch()
    backend.script = answer
    arguments = ("--port", "0", "--backend", backend.url, "--store", store)
    async with (
        serving(
            folder, *arguments, program=Path(heart.__file__), PYTHONSAFEPATH="1", BEATS=str(beats)
        ) as server,
        aiohttp.ClientSession() as http,
    ):
        yield Watched(server.url, http, beats, backend)


async def test_no_body_blocks_the_loop(tmp_path: Path, backend: ReplayBackend) -> None:
    most = bound()
    wrong = list[str]()
    async with watched(tmp_path, backend, f"sqlite://{tmp_path}/antiphon.db") as server:
        # The first mistake of a process loads what names it.
        await server.send(Attack("", "/responses", create(b"1")))
        for attack in attacks():
            wrong += await server.check(attack.name, partial(server.send, attack), most)

    assert not wrong, "\n".join(wrong)


@pytest.mark.rotating
@pytest.mark.parametrize("compression", [None, "deflate"])
async def test_no_message_of_a_websocket_blocks_the_loop(
    tmp_path: Path, backend: ReplayBackend, compression: str | None
) -> None:
    most = bound()
    wrong = list[str]()
    async with watched(tmp_path, backend, "sqlite://") as server:
        url = server.url.replace("http", "ws", 1) + "/responses"
        async with connect(
            url, max_size=None, compression=compression, ping_interval=None
        ) as socket:

            async def request(value: bytes) -> None:
                body = create(value, store=False).replace(b"{", b'{"type":"response.create",', 1)
                await socket.send(
                    [body[at : at + FRAME].decode() for at in range(0, len(body), FRAME)]
                )
                while json.loads(await socket.recv())["type"] not in (
                    "response.completed",
                    "error",
                ):
                    pass

            await request(b"1")
            stated = inputs()
            for name in STATED:
                wrong += await server.check(name, partial(request, stated[name]), most)

    assert not wrong, "\n".join(wrong)


@pytest.mark.rotating
async def test_no_stored_data_block_the_loop(
    tmp_path: Path, backend: ReplayBackend, store_url: str
) -> None:
    most = bound()
    wrong = list[str]()
    stated = inputs()
    async with watched(tmp_path, backend, store_url) as server:
        for name in ("an image", "large texts", "a large text", "many items"):
            response = await server.post("/responses", stated[name])
            one = f"/responses/{response['id']}"
            reads = (
                f"{one}/input_items?limit=100",
                f"{one}/input_items?include=message.input_image.image_url",
                one,
            )
            for path in reads:
                wrong += await server.check(
                    f"GET {path} of {name}", partial(server.get, path), most
                )
            follow = {"previous_response_id": response["id"]}
            for path in ("/responses", "/responses/input_tokens", "/responses/compact"):
                act = partial(server.post, path, FOLLOWING, **follow)
                wrong += await server.check(f"{path} after {name}", act, most)

    assert not wrong, "\n".join(wrong)


@pytest.mark.rotating
async def test_no_query_of_the_console_blocks_the_loop(
    tmp_path: Path, backend: ReplayBackend, store_url: str
) -> None:
    most = bound()
    wrong = list[str]()
    stated = inputs()
    async with watched(tmp_path, backend, store_url) as server:
        root = server.url.removesuffix("/v1")
        for name in ("an image", "large texts", "a large text", "many items"):
            created = await server.post("/responses", stated[name])
            for part in ("", "/body", "/input_items", "/request", "/calls"):
                act = partial(server.poll_once, f"{root}/admin/v1/responses/{created['id']}{part}")
                wrong += await server.check(f"GET {part} of {name}", act, most)

    assert not wrong, "\n".join(wrong)


@pytest.mark.rotating
async def test_no_long_chain_blocks_the_loop(
    tmp_path: Path, backend: ReplayBackend, store_url: str
) -> None:
    most = bound()
    wrong = list[str]()
    half = b"[" + b",".join([TINY] * 9_900) + b"]"
    async with watched(tmp_path, backend, store_url) as server:

        async def follow() -> None:
            """Follow a chain that was never followed, in two ways that it can be shown to the
            model.
            """
            first = await server.post("/responses", half)
            second = await server.post("/responses", half, previous_response_id=first["id"])
            for context in ("auto", "all_turns", "current_turn"):
                more = {"previous_response_id": second["id"], "reasoning": {"context": context}}
                await server.post("/responses", FOLLOWING, **more)
                await server.post("/responses/input_tokens", FOLLOWING, **more)
            await server.post("/responses/compact", FOLLOWING, previous_response_id=second["id"])

        wrong += await server.check("a chain", follow, most)

    assert not wrong, "\n".join(wrong)


@pytest.mark.rotating
async def test_no_conversation_blocks_the_loop(
    tmp_path: Path, backend: ReplayBackend, store_url: str
) -> None:
    most = bound()
    wrong = list[str]()
    stated = inputs()
    async with watched(tmp_path, backend, store_url) as server:
        for name in ("an image", "a large text", "large texts"):
            items = (
                stated[name]
                if stated[name].startswith(b"[")
                else b'[{"role":"user","content":%b}]' % stated[name]
            )
            status, body = await server.send(
                Attack("", "/conversations", b'{"items":%b}' % items[: LARGEST - 1024])
            )
            if status != 200:  # it has too many items
                continue
            conversation = json.loads(body)["id"]
            listed = f"/conversations/{conversation}/items"
            item = json.loads(await server.get(listed))["data"][0]["id"]
            include = "include=message.input_image.image_url"
            for path in (
                listed,
                f"{listed}?{include}",
                f"{listed}/{item}",
                f"{listed}/{item}?{include}",
            ):
                wrong += await server.check(
                    f"GET {path} of {name}", partial(server.get, path), most
                )
            act = partial(server.post, "/responses", FOLLOWING, conversation=conversation)
            wrong += await server.check(f"a response in a conversation of {name}", act, most)

    assert not wrong, "\n".join(wrong)


@pytest.mark.rotating
async def test_no_long_answer_blocks_the_loop(
    tmp_path: Path, backend: ReplayBackend, store_url: str
) -> None:
    most = bound()
    wrong = list[str]()
    requested = json.dumps(LONG).encode()
    async with watched(tmp_path, backend, store_url) as server:
        response = await server.post("/responses", requested)
        one = f"/responses/{response['id']}"
        wrong += await server.check("GET a long answer", partial(server.get, one), most)
        queued = await server.post("/responses", requested, background=True)
        await server.get(f"/responses/{queued['id']}")
        status, stream = await server.send(
            Attack("", "/responses", create(requested, background=True, stream=True, store=True))
        )
        assert status == 200
        streamed = json.loads(stream.split(b"data: ")[1].partition(b"\n")[0])["response"]["id"]
        for query in (
            "stream=true",
            "stream=true&starting_after=5",
            "stream=true&include_obfuscation=false",
        ):
            path = f"/responses/{streamed}?{query}"
            wrong += await server.check(f"GET {path}", partial(server.get, path), most)
        follow = partial(server.post, "/responses", FOLLOWING, previous_response_id=response["id"])
        wrong += await server.check("a response after a long answer", follow, most)

    assert not wrong, "\n".join(wrong)
