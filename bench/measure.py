"""One measurement: a load on a server, and what the server's process took of the machine
meanwhile.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from bench.load import Count, Load
from bench.process import Program, cpu, line, running
from bench.server import RunningServer

RESPONSES = ("/v1/responses", "event: response.output_text.delta\n", "event: response.completed\n")
CHAT = ("/v1/chat/completions", '"delta":{"content"', "[DONE]")
PLAIN_RESPONSES = ("/v1/responses", '"status":"completed","background"', '"output_text":"Hello')
PLAIN_CHAT = ("/v1/chat/completions", '"content":"Hello', '"total_tokens"')


@dataclass(slots=True)
class Measured:
    """What was counted, and the seconds of processor time that the server took."""

    count: Count
    cpu: float

    @property
    def answers_a_second(self) -> float:
        """Whole answers, by the clock on the wall."""
        return self.count.answers / self.count.seconds

    @property
    def cpu_an_answer(self) -> float:
        """Microseconds of processor time."""
        return self.cpu / self.count.answers * 1e6

    @property
    def cpu_a_delta(self) -> float:
        """Microseconds of processor time."""
        return self.cpu / self.count.deltas * 1e6


def responses(
    port: int,
    model: str,
    connections: int,
    seconds: float,
    *,
    stream: bool,
    store: bool = False,
    **fields: object,
) -> Load:
    """Return the load of requests to `/v1/responses`, with `fields` of their body besides."""
    body = {"model": model, "input": "Hello!", "stream": stream, "store": store, **fields}
    path, delta, end = RESPONSES if stream else PLAIN_RESPONSES
    return Load(port, path, _compact(body), connections, seconds, delta, end)


def chat(port: int, model: str, connections: int, seconds: float, *, stream: bool) -> Load:
    """Return the load of requests to `/v1/chat/completions`, which the backend answers itself."""
    body = {"model": model, "messages": [{"role": "user", "content": "Hello!"}], "stream": stream}
    path, delta, end = CHAT if stream else PLAIN_CHAT
    return Load(port, path, _compact(body), connections, seconds, delta, end)


@contextmanager
def under(load: Load) -> Iterator[Program]:
    """Put the load on; inside, it counts. It holds its connections open until the end."""
    with running([sys.executable, "-m", "bench.load"]) as program:
        assert program.stdin is not None
        program.stdin.write(msgspec.json.encode(load).decode() + "\n")
        program.stdin.flush()
        line(program)
        yield program


def measure(load: Load, server: RunningServer) -> Measured:
    """Put the load on and take it off again.

    Raises `RuntimeError` where answers came that were not whole.
    """
    with under(load) as program:
        before = cpu(server.pid)
        count = msgspec.json.decode(line(program), type=Count)
        measured = Measured(count, cpu(server.pid) - before)
    # Proxies cut where they like, so a mark or two may be cut in two.
    if count.ends < 0.95 * count.answers - 1:
        raise RuntimeError(f"Of {count.answers} answers only {count.ends} were whole.")
    return measured


def _compact(body: object) -> str:
    return json.dumps(body, separators=(",", ":"))
