"""What is measured: each function measures once, and gives its readings."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop

from bench import chain, counting, jobs, keys, long_chain, readers, routing, translator
from bench import durable as agents
from bench.agents.tools import functions
from bench.backend import EVENTS
from bench.latency import RATE, percentiles
from bench.load import Load
from bench.measure import Measured, chat, measure, responses, under
from bench.process import cpu, line, memory, running
from bench.report import NGINX, OURS, TARGET, Reading
from bench.server import RunningServer, antiphon

PLAIN_CONNECTIONS = 64
BURST_CONNECTIONS = 32
DRIP_STREAMS = 200
OPEN_STREAMS = 500
JOBS = 500
NAMES = 4
READERS = 1000

COUNTING = 5.0
"""Microseconds that the counting may take of a response."""

ROUTING = 50.0
"""Microseconds that the choice of one of four backends may take."""

ROUTED_TIMES = 1.1
"""A request that was routed may take so many times the processor time of one before a single
backend.
"""

NOTING = 5.0
"""Microseconds that knowing whose work it is may take."""

KEY = 20.0
"""Microseconds that the check of a key may take."""

SLOT, SLOT_CALLS = 3.0, 5
"""Microseconds and Python calls that a slot among running responses may take."""

NGINX_TIMES = 2.5
"""A delta that comes alone may take so many times what it takes nginx, and the event loop's part
besides.
"""


TURN_TIMES = 2
"""A turn may take so many times what the first takes, its text apart; letting go of the text is
still in it.
"""

WINDOW_TIMES = 1.5
"""A turn far beyond what a turn may load may take so many times a turn whose history is just as
long.
"""

FIRST_ITEM = 5.0
"""Milliseconds in which one item of a very large response is listed."""

SIZE_TIMES = 1.25
"""A late turn may take so many times the bytes on disk of an early one: disks are filled by the
page.
"""


@dataclass(slots=True)
class MeasuredServer:
    """A store: its name, what makes a new one and returns its URL, and a server that has one."""

    name: str
    new: Callable[[], str]
    server: RunningServer


@dataclass(slots=True)
class Servers:
    """Who is measured; all before the same backend. `nginx` is None where it is not installed.

    `stores` has SQLite first, whose server is `antiphon` too. `routed` takes the backend for
    several.
    """

    backend: RunningServer
    antiphon: RunningServer
    routed: RunningServer
    relay: RunningServer
    nginx: RunningServer | None
    stores: Sequence[MeasuredServer]


def translation() -> Iterator[Reading]:
    """The translator alone, the counting, and the door."""
    yield "translation of a delta in a burst, µs", OURS, translator.microseconds(translator.BURST)
    yield "translation of a delta alone, µs", OURS, translator.microseconds(EVENTS)
    yield "counting a response for /metrics, µs", OURS, counting.counting()
    yield "counting a response for /metrics, µs", TARGET, COUNTING
    yield "noting a response for the log, µs", OURS, counting.noting()
    yield "noting a response for the log, µs", TARGET, NOTING
    keyed, free = keys.check()
    yield "check of a key, µs", OURS, keyed
    yield "check of a key, µs", TARGET, KEY
    sharing, calls = keys.slot()
    yield "fair sharing of running responses, µs", OURS, sharing
    yield "fair sharing of running responses, µs", TARGET, SLOT
    yield "fair sharing of running responses, Python calls", OURS, calls
    yield "fair sharing of running responses, Python calls", TARGET, SLOT_CALLS
    yield "check where nobody needs a key, µs", OURS, free


def rates(servers: Servers, seconds: float) -> Iterator[Reading]:
    """Whole answers, as fast as they are given."""
    for name, model, connections, stream in (
        ("plain requests", "burst", PLAIN_CONNECTIONS, False),
        ("streams of 256 deltas in one burst", "burst", BURST_CONNECTIONS, True),
        ("streams of 256 deltas in one burst of chunks", "chunks", BURST_CONNECTIONS, True),
    ):
        load = responses(servers.antiphon.port, model, connections, seconds, stream=stream)
        yield from _rate(name, OURS, measure(load, servers.antiphon))
        for store in servers.stores[:1] if stream else servers.stores:
            load = responses(
                store.server.port, model, connections, seconds, stream=stream, store=True
            )
            yield from _rate(f"{name}, stored in {store.name}", OURS, measure(load, store.server))
        if servers.nginx:
            load = chat(servers.nginx.port, model, connections, seconds, stream=stream)
            yield from _rate(name, NGINX, measure(load, servers.nginx))


def hits(measured: MeasuredServer, seconds: float) -> Iterator[Reading]:
    """Answers from the cache: the backend is asked once."""
    for name, stream in (("plain", False), ("streamed", True)):
        load = responses(
            measured.server.port,
            "burst",
            PLAIN_CONNECTIONS,
            seconds,
            stream=stream,
            antiphon={"cache": True},
        )
        yield from _rate(
            f"cache hits, {name}, {measured.name}", OURS, measure(load, measured.server)
        )


def _rate(name: str, side: str, measured: Measured) -> Iterator[Reading]:
    yield f"{name}, 1/s", side, measured.answers_a_second
    yield f"{name}, CPU µs", side, measured.cpu_an_answer


def routed(servers: Servers, seconds: float) -> Iterator[Reading]:
    """Requests before four backends with slots, health and chains, against those before one that is
    merely asked.
    """
    chosen = f"choosing one of {NAMES} backends, µs"
    yield "choosing the only backend, µs", OURS, routing.microseconds(1)
    yield chosen, OURS, routing.microseconds(NAMES, 64)
    yield chosen, TARGET, ROUTING
    costs = [
        measure(
            responses(one.port, "burst", PLAIN_CONNECTIONS, seconds, stream=False), one
        ).cpu_an_answer
        for one in (servers.antiphon, servers.routed)
    ]
    name = f"plain requests before {NAMES} backends, CPU µs"
    yield name, OURS, costs[1]
    yield name, TARGET, ROUTED_TIMES * costs[0]


def drip(servers: Servers, seconds: float) -> Iterator[Reading]:
    """Deltas that come one by one, in many streams at once.

    Its target is a matter of this machine's nginx.
    """
    name = f"delta alone, {DRIP_STREAMS} streams, CPU µs"
    load = responses(servers.antiphon.port, "drip", DRIP_STREAMS, seconds, stream=True)
    yield name, OURS, measure(load, servers.antiphon).cpu_a_delta
    load = responses(
        servers.antiphon.port, "drip", DRIP_STREAMS, seconds, stream=True, tools=functions(1)
    )
    yield f"{name}, one tool", OURS, measure(load, servers.antiphon).cpu_a_delta
    if servers.nginx:
        relay = _passed_on(servers.relay, seconds)
        nginx = _passed_on(servers.nginx, seconds)
        yield name, NGINX, nginx
        yield name, TARGET, NGINX_TIMES * nginx + relay


def _passed_on(server: RunningServer, seconds: float) -> float:
    return measure(
        chat(server.port, "drip", DRIP_STREAMS, seconds, stream=True), server
    ).cpu_a_delta


def first_delta(servers: Servers, seconds: float) -> Iterator[Reading]:
    """How much later than from the backend itself the first delta comes, one stream at a time."""
    name = "first delta later by, ms"
    direct = _first(chat(servers.backend.port, "word", 1, seconds, stream=True), servers.backend)
    ours = responses(servers.antiphon.port, "word", 1, seconds, stream=True)
    yield name, OURS, _first(ours, servers.antiphon) - direct
    if servers.nginx:
        yield (
            name,
            NGINX,
            _first(chat(servers.nginx.port, "word", 1, seconds, stream=True), servers.nginx)
            - direct,
        )


def _first(load: Load, server: RunningServer) -> float:
    return measure(load, server).count.first * 1e3


def latency(servers: Servers, seconds: float) -> Iterator[Reading]:
    """How much longer than at the backend itself a plain request takes, at a steady rate that keeps
    nobody busy.
    """
    ours = responses(servers.antiphon.port, "burst", 1, seconds, stream=False)
    theirs = chat(servers.backend.port, "burst", 1, seconds, stream=False)
    streams = responses(servers.antiphon.port, "burst", 1, seconds, stream=True)
    direct_streams = chat(servers.backend.port, "burst", 1, seconds, stream=True)
    for kind, alongside, alongside_direct in (
        ("", None, None),
        (" beside streams", streams, direct_streams),
    ):
        taken = uvloop.run(percentiles(ours, seconds, alongside))
        direct = uvloop.run(percentiles(theirs, seconds, alongside_direct))
        for name, one, other in zip(("p50", "p99"), taken, direct, strict=True):
            yield f"added latency at {RATE} requests/s{kind}, {name}, ms", OURS, (one - other) * 1e3


def blocking() -> Iterator[Reading]:
    """How long the largest requests keep the loop from anything else."""
    with running([sys.executable, "-m", "bench.blocking"]) as program:
        measured: dict[str, float] = json.loads(line(program))
    for name, milliseconds in measured.items():
        yield name, OURS, milliseconds


def turns(measured: MeasuredServer) -> Iterator[Reading]:
    """One more turn of chains of some lengths; what is not their text is to cost the same in
    each.
    """
    costs = chain.costs(measured.new())
    first, *_, last = chain.LENGTHS
    for length in chain.LENGTHS:
        name = f"turn {length:,} of a chain, {measured.name}"
        yield f"{name}: its text, ms", OURS, costs.text[length] * 1e3
        yield f"{name}: all else, ms", OURS, costs.rest[length] * 1e3
        if length != first:
            yield f"{name}: all else, ms", TARGET, TURN_TIMES * costs.rest[first] * 1e3
    whole = {length: costs.text[length] + costs.rest[length] for length in (10, last)}
    yield f"turn {last:,} of a chain, times turn 10, {measured.name}", OURS, whole[last] / whole[10]
    short, long = chain.SIZED
    for length in chain.SIZED:
        yield (
            f"turn {length:,} of a chain, {measured.name}: bytes on disk",
            OURS,
            costs.size[length],
        )
    yield (
        f"turn {long:,} of a chain, {measured.name}: bytes on disk",
        TARGET,
        SIZE_TIMES * costs.size[short],
    )
    yield f"history of {last:,} turns, {measured.name}, ms", OURS, costs.history * 1e3


def large_state(
    measured: MeasuredServer, backend: RunningServer, folder: Path
) -> Iterator[Reading]:
    """A chain of 10,000 turns and a response of 100,000 items."""
    costs = long_chain.costs(measured.new())
    for length in (long_chain.SHORT, long_chain.LONG):
        name = f"turn {length:,} of {long_chain.ITEMS} items, all of them loaded, {measured.name}"
        yield f"{name}: its text, ms", OURS, costs.text[length] * 1e3
        yield f"{name}: all else, ms", OURS, costs.rest[length] * 1e3
    name = (
        f"turn {long_chain.LONG:,} where a turn may load {long_chain.SHORT:,}: rejected, "
        f"{measured.name}, ms"
    )
    yield name, OURS, costs.rejected * 1e3
    yield name, TARGET, WINDOW_TIMES * costs.loaded * 1e3
    store = measured.new()
    response = long_chain.large_response(store)
    with antiphon(backend.port, folder, store) as server:
        name = f"one of {long_chain.MANY:,} input items listed, {measured.name}, ms"
        yield name, OURS, long_chain.first_item(server.port, response) * 1e3
        yield name, TARGET, FIRST_ITEM


def background(measured: MeasuredServer) -> Iterator[Reading]:
    """Background responses of a backend that needs no time, from the first request until all are
    completed.
    """
    before = cpu(measured.server.pid)
    seconds = uvloop.run(jobs.run(measured.server.port, JOBS))
    yield f"background jobs, {measured.name}, 1/s", OURS, JOBS / seconds
    yield (
        f"background jobs, {measured.name}, CPU µs",
        OURS,
        (cpu(measured.server.pid) - before) / JOBS * 1e6,
    )


def durable(measured: MeasuredServer, backend: RunningServer, folder: Path) -> Iterator[Reading]:
    """Steps of agents beside bare writes of the same store, and the first event of an agent."""
    store = measured.new()
    alone, together = agents.STEPS, agents.AT_ONCE * agents.SHARED_STEPS
    with antiphon(backend.port, folder, store) as server, agents.worker(store) as worker:
        uvloop.run(agents.listed(server.port))
        idle = memory(worker.pid)
        seconds = uvloop.run(agents.run(server.port, 1, agents.STEPS))
        commits = uvloop.run(agents.bare_commits(store))
        name = f"steps of an agent, {measured.name}"
        yield f"{name}: one response, 1/s", OURS, alone / seconds
        yield f"{name}: one response, times bare writes", OURS, alone / seconds / commits
        before = cpu(worker.pid)
        seconds = uvloop.run(agents.run(server.port, agents.AT_ONCE, agents.SHARED_STEPS))
        spent = cpu(worker.pid) - before
        yield f"{name}: {agents.AT_ONCE} responses, 1/s", OURS, together / seconds
        yield f"{name}: {agents.AT_ONCE} responses, CPU µs", OURS, spent / together * 1e6
        name = f"first event of an agent, {measured.name}, p50, ms"
        yield name, OURS, uvloop.run(agents.first_event(server.port)) * 1e3
        yield f"memory of an idle worker, {measured.name}, MB", OURS, idle / 1e6


def resumed(measured: MeasuredServer) -> Iterator[Reading]:
    """Readers of background streams that all come back at once."""
    name = f"{READERS:,} readers at once, {measured.name}"
    port = measured.server.port
    finished = uvloop.run(readers.finished(port, READERS))
    running = uvloop.run(readers.running(port, READERS))
    yield f"{name}: finished streams resumed, 1/s", OURS, READERS / finished.seconds
    yield f"{name}: running streams resumed, 1/s", OURS, READERS / running.seconds
    yield f"{name}: an end told to all, s", OURS, running.reported
    yield f"{name}: served without a cut", OURS, READERS - max(finished.lost, running.lost)


def start(backend: RunningServer, folder: Path, store: str) -> Iterator[Reading]:
    """A new server: how soon it answers, and what it holds in memory, idle and for each stream that
    stays open.
    """
    with antiphon(backend.port, folder, store) as server:
        idle = memory(server.pid)
        # Each stream gets its first delta, and then its backend says nothing more.
        with under(responses(server.port, "silent", OPEN_STREAMS, 0.0, stream=True)) as program:
            line(program)
            open_streams = memory(server.pid) - idle
    yield "start to first answer, s", OURS, server.started_in
    yield "memory idle, MB", OURS, idle / 1e6
    yield "memory of an open stream, kB", OURS, open_streams / OPEN_STREAMS / 1e3
