"""What is measured: each function measures once, and gives its readings."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import translator
from bench.backend import EVENTS
from bench.load import Load
from bench.measure import Measured, chat, measure, responses, under
from bench.process import line, memory
from bench.report import NGINX, OURS, TARGET, Reading
from bench.server import Served, antiphon

PLAIN_CONNECTIONS = 64
BURST_CONNECTIONS = 32
DRIP_STREAMS = 200
OPEN_STREAMS = 500

NGINX_TIMES = 2.5
"""A delta that comes alone may take so many times what it takes nginx, and the event loop's part besides."""


@dataclass(slots=True)
class Servers:
    """Who is measured; all before the same backend. `nginx` is None where it is not installed."""

    backend: Served
    antiphon: Served
    relay: Served
    nginx: Served | None


def translation() -> Iterator[Reading]:
    """The translator alone."""
    yield "translation of a delta in a burst, µs", OURS, translator.microseconds(translator.BURST)
    yield "translation of a delta alone, µs", OURS, translator.microseconds(EVENTS)


def rates(servers: Servers, seconds: float) -> Iterator[Reading]:
    """Whole answers, as fast as they are given."""
    for name, model, connections, stream in (
        ("plain requests", "burst", PLAIN_CONNECTIONS, False),
        ("streams of 256 deltas in one burst", "burst", BURST_CONNECTIONS, True),
        ("streams of 256 deltas in one burst of chunks", "chunks", BURST_CONNECTIONS, True),
    ):
        for store in (False, True):
            load = responses(servers.antiphon.port, model, connections, seconds, stream=stream, store=store)
            yield from _rate(name + (", stored" if store else ""), OURS, measure(load, servers.antiphon))
        if servers.nginx:
            load = chat(servers.nginx.port, model, connections, seconds, stream=stream)
            yield from _rate(name, NGINX, measure(load, servers.nginx))


def _rate(name: str, side: str, measured: Measured) -> Iterator[Reading]:
    yield f"{name}, 1/s", side, measured.answers_a_second
    yield f"{name}, CPU µs", side, measured.cpu_an_answer


def drip(servers: Servers, seconds: float) -> Iterator[Reading]:
    """Deltas that come one by one, in many streams at once. Its target is a matter of this machine's nginx."""
    name = f"delta alone, {DRIP_STREAMS} streams, CPU µs"
    load = responses(servers.antiphon.port, "drip", DRIP_STREAMS, seconds, stream=True)
    yield name, OURS, measure(load, servers.antiphon).cpu_a_delta
    if servers.nginx:
        relay = _passed_on(servers.relay, seconds)
        nginx = _passed_on(servers.nginx, seconds)
        yield name, NGINX, nginx
        yield name, TARGET, NGINX_TIMES * nginx + relay


def _passed_on(served: Served, seconds: float) -> float:
    return measure(chat(served.port, "drip", DRIP_STREAMS, seconds, stream=True), served).cpu_a_delta


def first_delta(servers: Servers, seconds: float) -> Iterator[Reading]:
    """How much later than from the backend itself the first delta comes, one stream at a time."""
    name = "first delta later by, ms"
    direct = _first(chat(servers.backend.port, "word", 1, seconds, stream=True), servers.backend)
    ours = responses(servers.antiphon.port, "word", 1, seconds, stream=True)
    yield name, OURS, _first(ours, servers.antiphon) - direct
    if servers.nginx:
        yield name, NGINX, _first(chat(servers.nginx.port, "word", 1, seconds, stream=True), servers.nginx) - direct


def _first(load: Load, served: Served) -> float:
    return measure(load, served).count.first * 1e3


def start(backend: Served, folder: Path) -> Iterator[Reading]:
    """A new server: how soon it answers, and what it holds in memory, idle and for each stream that stays open."""
    with antiphon(backend.port, folder) as served:
        idle = memory(served.pid)
        # Each stream gets its first delta, and then its backend says nothing more.
        with under(responses(served.port, "silent", OPEN_STREAMS, 0.0, stream=True)) as program:
            line(program)
            open_streams = memory(served.pid) - idle
    yield "start to first answer, s", OURS, served.started_in
    yield "memory idle, MB", OURS, idle / 1e6
    yield "memory of an open stream, kB", OURS, open_streams / OPEN_STREAMS / 1e3
