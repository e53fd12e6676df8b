"""Backends that fail, and one that is killed: what clients see of it. In `make test-faults` with
20,000 requests.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from typing import Any

import aiohttp
import pytest

from antiphon.upstream.backend_state import LoadReport
from antiphon.upstream.http import HttpBackend
from tests.support.chance import SEED
from tests.support.pair import BODY, KEY, Script, cut_before_the_first_token, error, pair, stating
from tests.support.replay import Answer, ReplayBackend
from tests.support.server import RunningServer, serve

IS_LONG = "ANTIPHON_NEMESIS_SECONDS" in os.environ
REQUESTS = 20_000 if IS_LONG else 1_000

ONE_IN = 200
AT_ONCE = 24
SEEN = 0.9999

STREAMS = 200

WAYS: list[Script] = [
    error(500),
    error(503),
    lambda _: Answer([], cut=True),
    cut_before_the_first_token,
    lambda _: Answer([b'data: {"error": {"message": "CUDA"}}\n\n']),
]
"""How a backend fails before its first token."""


def failing(dice: random.Random, word: str, count: Counter[str]) -> Script:
    answer = stating(word)

    def script(request: dict[str, Any]) -> Answer:
        fails = dice.randrange(ONE_IN) == 0
        count["failed" if fails else "answered"] += 1
        return (dice.choice(WAYS) if fails else answer)(request)

    return script


@pytest.mark.timeout(600)
async def test_of_two_backends_that_fail_now_and_then_the_client_sees_next_to_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    dice = random.Random(SEED)
    backends = Counter[str]()
    clients = Counter[str]()
    left = iter(range(REQUESTS))

    async def client(server: RunningServer) -> None:
        for number in left:
            body = {**BODY, "stream": number % 2 == 0, "store": False}
            try:
                async with server.http.post(server.url + "/responses", json=body) as response:
                    status = response.status
                    text = await response.text()
            except aiohttp.ClientError as trouble:
                status = 0
                text = repr(trouble)
            is_whole = status == 200 and '"status":"completed"' in text and "Hello" in text
            clients["answered" if is_whole else f"{status} {text[-200:]}"] += 1

    async with pair(failing(dice, "Hello", backends), failing(dice, "Hello", backends)) as two:
        for replay in (two.a, two.b):
            replay.requests, replay.bodies, replay.heads = _Nothing(), _Nothing(), _Nothing()
        await asyncio.gather(*(client(two.server) for _ in range(AT_ONCE)))
    with capsys.disabled():
        print(
            f"\n{REQUESTS} requests, seed {SEED}: "
            f"backends {dict(backends)}, clients {dict(clients)}"
        )

    assert backends["failed"] > 0
    assert clients["answered"] >= SEEN * REQUESTS, clients


class _Nothing(list[Any]):
    """Remembers nothing but what came last: 20,000 requests would be remembered by the process that
    is measured.
    """

    def append(self, value: Any) -> None:
        self[:] = [value]


VICTIM = """
import asyncio, json, sys
from tests.support.replay import Answer, ReplayBackend, text

async def main():
    def script(request):
        begun = [text("Half ", "of it")[:170]] if request["messages"][-1]["content"] == "speak" else []
        return Answer(begun, wait=asyncio.Event())
    async with ReplayBackend(script).serve() as backend:
        print(backend.url, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""  # noqa: E501 - the lines of a text
"""A backend that never ends an answer, and begins only some."""


@pytest.mark.timeout(120)
async def test_of_a_backend_killed_under_200_streams_those_before_their_first_token_are_answered_by_another() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", VICTIM, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        async with ReplayBackend(stating("Hello")).serve() as other:
            backends = HttpBackend("victim", url, KEY), HttpBackend("other", other.url, KEY)
            async with serve(*backends) as backend:
                await backend.parts.models.refresh()
                victim, heir = backend.parts.models.backends
                heir.load = LoadReport(free=0)  # so that it is asked only where the other cannot be
                await _kill_under_streams(backend, process)

                assert victim.health.is_ejected
                assert victim.slots.in_use == heir.slots.in_use == 0
                assert not backend.parts.process.runs
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _kill_under_streams(server: RunningServer, process: asyncio.subprocess.Process) -> None:
    spoken = asyncio.Semaphore(0)
    opened = asyncio.Semaphore(0)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as http, asyncio.timeout(60):
        pending = [
            asyncio.create_task(
                _ends(http, server.url, "speak" if number % 2 else "wait", spoken, opened)
            )
            for number in range(STREAMS)
        ]
        for _ in range(STREAMS // 2):
            await spoken.acquire()
            await opened.acquire()
        process.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        ends = Counter(await asyncio.gather(*pending))

    assert ends == {
        "speak response.failed Half": STREAMS // 2,
        "wait response.completed Hello": STREAMS // 2,
    }
    assert time.monotonic() - killed < 10


async def _ends(
    http: aiohttp.ClientSession,
    url: str,
    question: str,
    spoken: asyncio.Semaphore,
    opened: asyncio.Semaphore,
) -> str:
    """Ask for a stream; return the question, how the stream ended, and what it said."""
    text = ""
    last = ""
    body = {**BODY, "input": question, "stream": True}
    async with http.post(url + "/responses", json=body) as response:
        async for line in response.content:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            last = event["type"]
            if last == "response.created" and question != "speak":
                opened.release()
            if last == "response.output_text.delta":
                if not text:
                    spoken.release()
                text += event["delta"]
    return f"{question} {last} {text.split()[0] if text else 'nothing'}"
